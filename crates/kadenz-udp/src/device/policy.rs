//! Whom a device answers.

use super::PerSecond;
use crate::wire::{Name, Token};

/// Whom a device answers, how often, and what it calls itself. By default: everyone, without limit.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Answers only who knows this token. Without one, only who asks without one: an answer could
    /// not be tagged.
    pub token: Option<Token>,
    /// How many answers a second, over all who ask.
    pub rate: Option<PerSecond>,
    /// What it tells who looks for devices.
    pub name: Name,
}
