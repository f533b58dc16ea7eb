//! Working memory that is found by its type, so that whoever works in it knows its own and nobody knows all.

use std::any::Any;
use std::fmt;

/// Memory by its type. Contents mean nothing between frames: a copy begins without any, and any is equal to any other.
#[derive(Default)]
pub(crate) struct Memory(Vec<Box<dyn Any + Send + Sync>>);

impl Memory {
    /// Works in the memory of type `T`, made when first asked for.
    pub fn with<T: Default + Send + Sync + 'static, R>(&mut self, work: impl FnOnce(&mut T) -> R) -> R {
        let found = self.0.iter().position(|memory| memory.is::<T>());
        let own = found.and_then(|index| self.0.swap_remove(index).downcast::<T>().ok());
        let mut own = own.unwrap_or_default();
        let result = work(&mut own);
        self.0.push(own);
        result
    }
}

impl PartialEq for Memory {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Clone for Memory {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Memory").field(&self.0.len()).finish()
    }
}
