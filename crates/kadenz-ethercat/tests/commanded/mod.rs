//! A humanoid at the other end of a cable, in a network of the test's own, into which the test injects faults.
#![allow(clippy::print_stderr, reason = "a skipped test says so")]
#![allow(unreachable_pub, reason = "a part of several tests, each a crate")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_ethercat::port::{InterfacePort, WaitMode};
use kadenz_ethercat::sim::fault::Fault;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::serve::{Pace, Server};
use kadenz_rt::net::cable::Cable;
use kadenz_rt::net::namespace::Namespace;

/// Faults that the segment takes at its next step.
pub type Commands = Mutex<Vec<Fault>>;

/// Runs `work` beside a humanoid of `devices` devices that is connected to the interface `near`. Returns `None`, after
/// a report, where this machine does not allow network namespaces.
pub fn humanoid_over_a_cable<R: Send>(
    test: &str,
    devices: usize,
    work: impl FnOnce(&Commands) -> R + Send,
) -> Option<R> {
    let network = match Namespace::create() {
        Ok(network) => network,
        Err(error) => {
            assert!(error.is_refusal(), "{error}");
            skip(test, &error.to_string());
            return None;
        }
    };
    let with_cable = || {
        let _cable = Cable::create("near", "far").unwrap();
        let port = InterfacePort::open("far", WaitMode::Blocking).unwrap();
        let (commands, done) = (Commands::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| serve(port, devices, &commands, &done));
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&commands)));
            done.store(true, Ordering::Relaxed);
            outcome.unwrap_or_else(|panic| resume_unwind(panic))
        })
    };
    Some(network.run(with_cable).unwrap())
}

/// Reports that a test is skipped, and why.
pub fn skip(test: &str, missing: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
        "{test} must not be skipped: {missing}"
    );
    eprintln!("skipped: {test}: {missing}");
}

/// Serves the segment until `done` is set.
fn serve(port: InterfacePort, devices: usize, commands: &Commands, done: &AtomicBool) {
    let segment = humanoid(devices).build().unwrap();
    let mut server = Server::new(port, segment, Pace::AtOnce);
    while !done.load(Ordering::Relaxed) {
        // A link that is down takes no frames, and comes up again later.
        if server.step().is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let now = server.now();
        for fault in commands.lock().unwrap().drain(..) {
            server.segment_mut().inject(fault, now);
        }
    }
}
