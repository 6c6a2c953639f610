//! What a samples file says about itself, as metadata of its Arrow schema.

use std::collections::HashMap;

use super::wire::keys;

/// What a samples file says about itself, so that it can be understood without its run folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SamplesHeader {
    /// Name of the series.
    pub series: String,
    /// Unit of the values, `ns`.
    pub unit: String,
    /// Wall time of the run's start, RFC 3339; sample times count from here.
    pub started_at: String,
    /// Monotonic time of the run's start, in ns on the run's clock.
    pub start_monotonic_ns: u64,
}

impl SamplesHeader {
    /// The header as metadata of an Arrow schema.
    pub(super) fn to_metadata(&self) -> HashMap<String, String> {
        HashMap::from([
            (keys::FORMAT.to_owned(), keys::FORMAT_VERSION.to_owned()),
            (keys::SERIES.to_owned(), self.series.clone()),
            (keys::UNIT.to_owned(), self.unit.clone()),
            (keys::STARTED_AT.to_owned(), self.started_at.clone()),
            (
                keys::START_MONOTONIC.to_owned(),
                self.start_monotonic_ns.to_string(),
            ),
        ])
    }

    /// Takes one entry of a schema's metadata; entries of others are passed over.
    pub(super) fn take(&mut self, key: &str, value: &str) {
        match key {
            keys::SERIES => value.clone_into(&mut self.series),
            keys::UNIT => value.clone_into(&mut self.unit),
            keys::STARTED_AT => value.clone_into(&mut self.started_at),
            keys::START_MONOTONIC => self.start_monotonic_ns = value.parse().unwrap_or(0),
            _ => {}
        }
    }
}
