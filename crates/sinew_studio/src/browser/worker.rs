//! Jobs in a worker that runs this same module, so that the tab never waits. Messages are lists of plain data.
//!
//! To the worker: `["character", kind, name, bytes]`, `["task", number, text]`; from it: `["progress", number, what, done,
//! total]`, `["done", number, text, bytes]`. The character goes once, not with every task.

use super::tell_page;
use crate::character::{Character, Source};
use crate::jobs::{Done, Task};
use crate::wire::{done_from_text, done_to_text, named_source, source_name, task_from_text, task_to_text};
use js_sys::{Array, Uint8Array};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

type Tell = Box<dyn Fn(&str, usize, usize)>;
type End = Box<dyn FnOnce(Done)>;

/// The page's side.
#[derive(Default)]
struct Bench {
    worker: Option<web_sys::Worker>,
    /// Whom the worker has.
    character: Option<Arc<Character>>,
    waiting: BTreeMap<u32, (Tell, End)>,
    count: u32,
}

thread_local! {
    static BENCH: RefCell<Bench> = RefCell::default();
    /// Whom this worker has, or why not.
    static CHARACTER: RefCell<Result<Arc<Character>, String>> = const { RefCell::new(Err(String::new())) };
}

/// Has a task done by the worker, which is started when it is first needed.
pub fn elsewhere(task: Task, tell: impl Fn(&str, usize, usize) + 'static, end: impl FnOnce(Done) + 'static) {
    BENCH.with_borrow_mut(|bench| {
        if bench.worker.is_none() {
            bench.worker = start();
            bench.character = None;
        }
        let Some(worker) = &bench.worker else {
            return end(Done::Failed("this browser starts no workers; use the studio for the desktop".to_owned()));
        };
        bench.count += 1;
        let number = JsValue::from(bench.count);
        if bench.character.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &task.character)) {
            let (kind, name) = source_name(&task.character.source);
            let bytes = match &task.character.source {
                Source::Memory { bytes, .. } => Uint8Array::from(&**bytes),
                _ => Uint8Array::new_with_length(0),
            };
            send(worker, &Array::of4(&"character".into(), &kind.into(), &name.into(), &bytes));
            bench.character = Some(Arc::clone(&task.character));
        }
        send(worker, &Array::of3(&"task".into(), &number, &task_to_text(&task).into()));
        bench.waiting.insert(bench.count, (Box::new(tell), Box::new(end)));
    });
}

fn send(worker: &web_sys::Worker, message: &Array) {
    // A worker that is gone has told so by its error.
    let _ = worker.post_message(message);
}

fn start() -> Option<web_sys::Worker> {
    let worker: web_sys::Worker = tell_page("sinewWorker", &JsValue::UNDEFINED)?.dyn_into().ok()?;
    let heard = Closure::<dyn FnMut(web_sys::MessageEvent)>::new(|event: web_sys::MessageEvent| {
        hear(&Array::from(&event.data()));
    });
    worker.set_onmessage(Some(heard.into_js_value().unchecked_ref()));
    let broke = Closure::<dyn FnMut(JsValue)>::new(|_| {
        let waiting = BENCH.with_borrow_mut(|bench| {
            if let Some(worker) = bench.worker.take() {
                worker.terminate();
            }
            std::mem::take(&mut bench.waiting)
        });
        let why = "the browser stopped this job, probably for want of memory; try it on the desktop";
        waiting.into_values().for_each(|(_, end)| end(Done::Failed(why.to_owned())));
    });
    worker.set_onerror(Some(broke.into_js_value().unchecked_ref()));
    Some(worker)
}

fn hear(message: &Array) {
    let number = |index: u32| message.get(index).as_f64().unwrap_or(0.0);
    let text = |index: u32| message.get(index).as_string().unwrap_or_default();
    let of = number(1) as u32;
    match text(0).as_str() {
        "progress" => BENCH.with_borrow(|bench| {
            if let Some((tell, _)) = bench.waiting.get(&of) {
                tell(&text(2), number(3) as usize, number(4) as usize);
            }
        }),
        "done" => {
            let waiting = BENCH.with_borrow_mut(|bench| bench.waiting.remove(&of));
            if let Some((_, end)) = waiting {
                end(done_from_text(&text(2), Uint8Array::new(&message.get(3)).to_vec()));
            }
        }
        _ => {}
    }
}

/// The worker's side: waits for tasks, does them one after the other.
pub fn serve() {
    let Ok(scope) = js_sys::global().dyn_into::<web_sys::DedicatedWorkerGlobalScope>() else { return };
    let own = scope.clone();
    let work = Closure::<dyn FnMut(web_sys::MessageEvent)>::new(move |event: web_sys::MessageEvent| {
        let message = Array::from(&event.data());
        let text = |index: u32| message.get(index).as_string().unwrap_or_default();
        match text(0).as_str() {
            "character" => {
                let bytes = Uint8Array::new(&message.get(3)).to_vec();
                let source = named_source(&text(1), &text(2), bytes).ok_or("no such source".to_owned());
                let opened = source.and_then(|source| Character::reopen(&source).map_err(|error| error.to_string()));
                CHARACTER.set(opened);
            }
            "task" => {
                let number = message.get(1);
                let (text, bytes) = done_to_text(run(&number, &text(2)));
                post(&own, &Array::of4(&"done".into(), &number, &text.into(), &Uint8Array::from(bytes.as_slice())));
            }
            _ => {}
        }
    });
    scope.set_onmessage(Some(work.into_js_value().unchecked_ref()));
}

fn run(number: &JsValue, text: &str) -> Done {
    let task = CHARACTER.with_borrow(Clone::clone).and_then(|character| task_from_text(character, text));
    let of = number.as_f64().unwrap_or(0.0);
    let tell = move |what: &str, done: usize, total: usize| {
        let Ok(scope) = js_sys::global().dyn_into::<web_sys::DedicatedWorkerGlobalScope>() else { return };
        let numbers = [of, done as f64, total as f64].map(JsValue::from);
        post(&scope, &Array::of5(&"progress".into(), &numbers[0], &what.into(), &numbers[1], &numbers[2]));
    };
    task.map_or_else(Done::Failed, |task| task.run(&tell))
}

fn post(scope: &web_sys::DedicatedWorkerGlobalScope, message: &Array) {
    // Nobody may be listening any more.
    let _ = scope.post_message(message);
}
