//! Which types a bus publishes, so that others can be told what they look like.

use std::borrow::Cow;

use crate::message::{Fingerprint, Message};
use crate::sync::Lock;

/// Types that are kept; a program has tens.
const MAX: usize = 1000;

/// What is known of a type that is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) name: Cow<'static, str>,
    pub(crate) text: Cow<'static, str>,
}

/// The types of a bus's publishers, as long as the bus lives.
#[derive(Debug)]
pub(crate) struct PublishedTypes {
    types: Lock<Vec<Told>>,
}

impl Default for PublishedTypes {
    fn default() -> Self {
        let types = Lock::new(Vec::new());
        Self { types }
    }
}

impl PublishedTypes {
    /// Adds a type, once. One without a text, as raw bytes are, is left out: there is nothing to tell.
    pub(crate) fn add<M: Message>(&self) {
        if !M::DESCRIPTION.is_empty() {
            self.add_told(Told {
                fingerprint: M::FINGERPRINT,
                name: Cow::Borrowed(M::NAME),
                text: Cow::Borrowed(M::DESCRIPTION),
            });
        }
    }

    /// Adds a type that is known at run time alone, once.
    pub(crate) fn add_told(&self, told: Told) {
        self.types.with(|types| {
            if types.len() < MAX && !types.contains(&told) {
                types.push(told);
            }
        });
    }

    /// What is known of a fingerprint.
    pub(crate) fn find(&self, fingerprint: Fingerprint) -> Option<Told> {
        self.types.with(|types| {
            let mut types = types.iter();
            types.find(|it| it.fingerprint == fingerprint).cloned()
        })
    }
}
