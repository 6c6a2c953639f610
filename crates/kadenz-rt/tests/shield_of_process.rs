//! The end of all shields of a process. A test program of its own: it would lower the shields of other tests.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::sync::Arc;

use kadenz_rt::shield::sim::SimKernel;
use kadenz_rt::shield::{self, raise_on};

#[test]
fn a_program_that_ends_at_once_can_put_back_before() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), tempfile::tempdir().unwrap());
    let before = kernel.snapshot();
    let shield = raise_on(kernel.clone(), &"3".parse().unwrap(), folder.path()).unwrap();
    assert_ne!(kernel.snapshot(), before);
    assert!(shield::lower_all().is_complete());
    assert_eq!(kernel.snapshot(), before);
    drop(shield);
    assert_eq!(kernel.snapshot(), before);
}
