//! Files of the people's own disk: chosen, dropped, and handed back as downloads.

use crate::handed::File;
use eframe::egui;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

/// Reads files, and hands them over together.
fn read(
    files: Vec<(String, impl Future<Output = Result<Vec<u8>, String>> + 'static)>,
    to: Sender<Result<Vec<File>, String>>,
    context: egui::Context,
) {
    wasm_bindgen_futures::spawn_local(async move {
        let mut read = Vec::with_capacity(files.len());
        let mut outcome = Ok(());
        for (name, bytes) in files {
            match bytes.await {
                Ok(bytes) => read.push((name, bytes)),
                Err(why) => outcome = Err(format!("{name}: {why}")),
            }
        }
        // A window that is gone waits for nothing.
        let _ = to.send(outcome.map(|()| read));
        context.request_repaint();
    });
}

/// Files that were dropped.
pub fn take(dropped: Vec<egui::DroppedFileHandle>, to: Sender<Result<Vec<File>, String>>, context: egui::Context) {
    let named = dropped.into_iter().map(|file| {
        let name = file.path().display().to_string();
        (name, async move { file.bytes_async().await })
    });
    read(named.collect(), to, context);
}

/// Lets people choose files.
pub fn choose(accepted: &str, to: Sender<Result<Vec<File>, String>>, context: egui::Context) {
    let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
    let Ok(Ok(input)) = document.create_element("input").map(JsCast::dyn_into::<web_sys::HtmlInputElement>) else {
        return;
    };
    input.set_type("file");
    input.set_multiple(true);
    input.set_accept(accepted);
    // The closure is held by itself until it has been called.
    let held: Rc<RefCell<Option<Closure<dyn FnMut()>>>> = Rc::default();
    let (field, own) = (input.clone(), Rc::clone(&held));
    let chosen = Closure::<dyn FnMut()>::new(move || {
        let list = field.files();
        let files = (0..list.as_ref().map_or(0, web_sys::FileList::length)).filter_map(|i| list.as_ref()?.get(i));
        let named = files.map(|file| {
            let name = file.name();
            let bytes = async move {
                let read =
                    wasm_bindgen_futures::JsFuture::from(js_sys::Promise::from(JsValue::from(file.array_buffer())));
                let buffer = read.await.map_err(|_| "cannot be read".to_owned())?;
                Ok(js_sys::Uint8Array::new(&buffer).to_vec())
            };
            (name, bytes)
        });
        read(named.collect(), to.clone(), context.clone());
        drop(own.borrow_mut().take());
    });
    input.set_onchange(Some(chosen.as_ref().unchecked_ref()));
    *held.borrow_mut() = Some(chosen);
    input.click();
}

/// Hands a file to the people: a download. Why not, where the browser refuses.
pub fn download(name: &str, bytes: &[u8]) -> Result<(), String> {
    let attempt = || {
        let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(bytes));
        let options = web_sys::BlobPropertyBag::new();
        options.set_type("application/octet-stream");
        let blob = web_sys::Blob::new_with_u8_array_sequence_and_options(&parts, &options)?;
        let url = web_sys::Url::create_object_url_with_blob(&blob)?;
        let document = web_sys::window().and_then(|window| window.document()).ok_or("this page has no document")?;
        let anchor = document.create_element("a")?.dyn_into::<web_sys::HtmlAnchorElement>()?;
        anchor.set_href(&url);
        anchor.set_download(name);
        anchor.click();
        web_sys::Url::revoke_object_url(&url)
    };
    attempt().map_err(|error: JsValue| format!("{name}: the browser does not take it as a download ({error:?})"))
}
