//! What depends on the rig alone is made once, when first asked for, and kept with it: graphs come and go, and every one
//! of them asks for the same.

use super::Rig;
use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Something that nothing but the rig decides.
pub(crate) trait OfRig: Send + Sync + Sized + 'static {
    /// Makes it.
    fn of(rig: &Rig) -> Self;
}

type Made = Arc<OnceLock<Arc<dyn Any + Send + Sync>>>;

/// Things by their type, so that the rig need not know who keeps what. Copies of a rig share them.
#[derive(Clone, Default)]
pub(super) struct Kept(Arc<Mutex<Vec<(TypeId, Made)>>>);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl Kept {
    fn slot(&self, of: TypeId) -> Made {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, made)) = all.iter().find(|(known, _)| *known == of) {
            return Arc::clone(made);
        }
        let made = Made::default();
        all.push((of, Arc::clone(&made)));
        made
    }
}

impl Rig {
    /// The thing of that type. Made outside the lock: one may ask for another, and only those who want the same wait.
    pub(crate) fn kept<T: OfRig>(&self) -> Arc<T> {
        let slot = self.kept.slot(TypeId::of::<T>());
        let made = slot.get_or_init(|| Arc::new(T::of(self)));
        Arc::clone(made).downcast().unwrap_or_else(|_| Arc::new(T::of(self)))
    }
}
