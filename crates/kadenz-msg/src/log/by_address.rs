//! Things that many messages share, told apart by where they lie in memory: comparing a long
//! description for every message of a log would take longer than reading it.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A shared thing, equal to itself alone.
#[derive(Debug)]
pub(crate) struct ByAddress<T>(Arc<T>);

impl<T> ByAddress<T> {
    pub(crate) fn new(of: &Arc<T>) -> Self {
        Self(Arc::clone(of))
    }
}

impl<T> PartialEq for ByAddress<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Eq for ByAddress<T> {}

impl<T> Hash for ByAddress<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        Arc::as_ptr(&self.0).hash(hasher);
    }
}

/// Notes something about something shared, and forgets all before where a hostile log has named very
/// many of them.
pub(crate) fn remember<K: Hash + Eq, V: Clone>(known: &mut HashMap<K, V>, key: K, value: V) -> V {
    const MAX_KNOWN: usize = 1 << 14;
    if known.len() >= MAX_KNOWN {
        known.clear();
    }
    known.insert(key, value.clone());
    value
}
