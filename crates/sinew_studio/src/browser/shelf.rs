//! What outlives the tab: texts in the browser's storage of this site, bytes in its cache, which has room for them.

use super::tell_page;
use wasm_bindgen::JsValue;

fn storage() -> Option<web_sys::Storage> {
    web_sys::window()?.local_storage().ok()?
}

/// Keeps a text; false where the browser does not.
pub fn keep(key: &str, text: &str) -> bool {
    storage().is_some_and(|storage| storage.set_item(key, text).is_ok())
}

/// Forgets it.
pub fn forget(key: &str) {
    if let Some(storage) = storage() {
        // What cannot be forgotten is offered again, which does no harm.
        let _ = storage.remove_item(key);
    }
}

/// A text that was kept.
pub fn text(key: &str) -> Option<String> {
    storage()?.get_item(key).ok()?
}

/// Keys that begin so.
pub fn keys(prefix: &str) -> Vec<String> {
    let Some(storage) = storage() else { return Vec::new() };
    let count = storage.length().unwrap_or(0);
    let keys = (0..count).filter_map(|index| storage.key(index).ok()?);
    let mut keys: Vec<String> = keys.filter(|key| key.starts_with(prefix)).collect();
    keys.sort();
    keys.reverse();
    keys
}

/// Keeps the bytes of a file, by name.
pub fn keep_file(name: &str, bytes: &[u8]) {
    let both = js_sys::Array::of2(&name.into(), &js_sys::Uint8Array::from(bytes));
    // Where there is no room nothing is recovered, and nothing else is lost.
    let _ = tell_page("sinewKeep", &both);
}

/// The bytes that were kept by that name.
pub async fn file(name: &str) -> Option<Vec<u8>> {
    let promise = js_sys::Promise::from(tell_page("sinewRecall", &name.into())?);
    let bytes: JsValue = wasm_bindgen_futures::JsFuture::from(promise).await.ok()?;
    (!bytes.is_null() && !bytes.is_undefined()).then(|| js_sys::Uint8Array::new(&bytes).to_vec())
}
