//! What a browser's tab has in place of a disk, threads and dialogs. Nothing leaves the tab.
//!
//! | module | what it holds |
//! |---|---|
//! | [`files`] | files chosen and dropped, downloads |
//! | [`shelf`] | what outlives the tab: recovery, the bytes of what was opened |
//! | [`worker`] | jobs in a worker that runs this same module |

pub mod files;
pub mod shelf;
pub mod worker;

use crate::shell::studio::Studio;
use wasm_bindgen::{JsCast, JsValue};

/// The entry of the module: in a page it opens the window, in a worker it waits for jobs.
pub fn run() {
    if js_sys::global().is_instance_of::<web_sys::DedicatedWorkerGlobalScope>() {
        worker::serve();
    } else {
        wasm_bindgen_futures::spawn_local(async {
            if let Err(error) = open_window().await {
                tell_page("sinewFailed", &error);
            }
        });
    }
}

async fn open_window() -> Result<(), JsValue> {
    let document = web_sys::window().and_then(|window| window.document()).ok_or("this page has no document")?;
    let canvas = document.get_element_by_id("picture").ok_or("this page has no canvas")?;
    let canvas = canvas.dyn_into::<web_sys::HtmlCanvasElement>()?;
    let named = web_sys::window().and_then(|window| window.location().hash().ok()).unwrap_or_default();
    let made = Box::new(move |context: &eframe::CreationContext<'_>| {
        let mut studio = Studio::new(None, context.wgpu_render_state.as_ref());
        if let Some(name) = named.strip_prefix('#').filter(|name| name.starts_with("zoo:")) {
            studio.open_argument(name.as_ref(), &context.egui_ctx);
        }
        Ok(Box::new(studio) as Box<dyn eframe::App>)
    });
    eframe::WebRunner::new().start(canvas, eframe::WebOptions::default(), made).await?;
    tell_page("sinewReady", &JsValue::UNDEFINED);
    Ok(())
}

/// Says in the tab's title what is open, and to those who cannot see it whether something is being done.
pub fn announce(title: &str, is_busy: bool) {
    thread_local! {
        static SAID: std::cell::RefCell<(String, bool)> = const { std::cell::RefCell::new((String::new(), false)) };
    }
    let new = (title.to_owned(), is_busy);
    if SAID.with_borrow(|said| *said == new) {
        return;
    }
    let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
    document.set_title(title);
    if let Some(canvas) = document.get_element_by_id("picture") {
        // Said again at the next change.
        let _ = canvas.set_attribute("aria-busy", if is_busy { "true" } else { "false" });
    }
    SAID.set(new);
}

/// Calls a function of the page's own script, where it has one.
fn tell_page(function: &str, value: &JsValue) -> Option<JsValue> {
    let held = js_sys::Reflect::get(&js_sys::global(), &function.into()).ok()?;
    held.dyn_ref::<js_sys::Function>()?.call1(&JsValue::NULL, value).ok()
}

/// Until the page has had its turn and its next picture, so that what is shown by now is seen.
pub async fn pause() {
    let wait = js_sys::Promise::new(&mut |resolve, _| {
        if let Some(window) = web_sys::window() {
            // Without a clock the work goes on at once.
            let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, 40);
        }
    });
    let _ = wasm_bindgen_futures::JsFuture::from(wait).await;
}
