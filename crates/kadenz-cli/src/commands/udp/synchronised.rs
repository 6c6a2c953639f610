//! What this machine says of its wall clock.

use kadenz_report::numbers;
use kadenz_rt::clock::{self, Synchronisation};

/// "this one's kernel says that it is true within 120 us".
pub(super) fn words() -> String {
    match clock::synchronisation() {
        Synchronisation::Kept { within_ns } => format!(
            "this one's kernel says that it is true within {}",
            numbers::span(within_ns as f64)
        ),
        Synchronisation::Free => "this one's kernel knows of nobody who keeps it".to_owned(),
        Synchronisation::Unknown => "this system does not say how true its own is".to_owned(),
    }
}
