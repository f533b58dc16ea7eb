//! What was run over a clip for others, kept with it: made once by whoever asks first, and found by what it was made from.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// How many are kept; the oldest goes.
const MOST: usize = 8;

/// Runs over one clip, each with the fingerprint of what it was made from.
#[derive(Default)]
pub(crate) struct Runs(Mutex<Vec<(u64, Arc<dyn Any + Send + Sync>)>>);

impl Runs {
    /// The run of that fingerprint. Whoever comes second waits for the first: a run is long.
    pub fn get_or_make<T: Any + Send + Sync>(&self, fingerprint: u64, make: impl FnOnce() -> T) -> Arc<T> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = runs.iter().find(|known| known.0 == fingerprint);
        if let Some(known) = known.and_then(|(_, run)| Arc::clone(run).downcast().ok()) {
            return known;
        }
        let made = Arc::new(make());
        if runs.len() == MOST {
            runs.remove(0);
        }
        runs.push((fingerprint, Arc::clone(&made) as Arc<dyn Any + Send + Sync>));
        made
    }
}

impl Clone for Runs {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Runs")
    }
}
