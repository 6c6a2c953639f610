use std::fmt;
use std::sync::Arc;

use super::asker::FoundType;
use crate::message::{Fingerprint, Message};
use crate::types::Types;
use crate::types::change::{TypeChange, changes_of};

/// How a type that is sent differs from the one that is expected.
#[derive(Debug, Clone)]
pub struct Mismatch {
    /// The name of the type that is expected.
    pub expected_name: &'static str,
    /// Its fingerprint.
    pub expected: Fingerprint,
    /// What is sent.
    pub sent: Arc<FoundType>,
    /// What is to be changed in what is sent so that it becomes what is expected, the type itself
    /// first. Empty where the names differ, as two types, or where the expected type knows no text of
    /// its own.
    pub changes: Vec<TypeChange>,
}

impl Mismatch {
    pub(super) fn between<M: Message>(sent: Arc<FoundType>) -> Self {
        let expected = Types::from_text(M::DESCRIPTION).unwrap_or_default();
        let is_known = sent.name == M::NAME && expected.get(M::NAME).is_some();
        let changes = match is_known {
            true => changes_of(M::NAME, &sent.types, &expected),
            false => Vec::new(),
        };
        Self {
            expected_name: M::NAME,
            expected: M::FINGERPRINT,
            sent,
            changes,
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, expected) = (self.expected_name, self.expected);
        let (sent_name, sent) = (&self.sent.name, self.sent.fingerprint);
        if sent_name != name {
            return write!(
                out,
                "{sent_name} ({sent}) is sent, and {name} ({expected}) is expected: two types, one channel"
            );
        }
        write!(
            out,
            "{name} is sent as {sent} and expected as {expected}; from the one sent to the one expected"
        )?;
        for (index, change) in self.changes.iter().enumerate() {
            out.write_str(if index == 0 { ": " } else { "; " })?;
            if change.name.to_string() != name {
                write!(out, "in {}: ", change.name)?;
            }
            let mut said: Vec<String> = change.changes.iter().map(ToString::to_string).collect();
            said.extend(change.through.iter().map(|it| format!("{it} changed")));
            out.write_str(&said.join(", "))?;
        }
        Ok(())
    }
}
