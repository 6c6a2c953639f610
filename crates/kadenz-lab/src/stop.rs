//! The flag that ends a measurement early, with the data kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks every loop that holds a clone of it to end after its present cycle.
///
/// ```
/// let stop = kadenz_lab::stop::Stop::default();
/// assert!(!stop.requested());
/// stop.request();
/// assert!(stop.clone().requested());
/// ```
///
/// # Real-time safety
/// Reading and setting it is one atomic access.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the loops to end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for what is ended by a flag: setting it asks the loops to end.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether somebody asked.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
