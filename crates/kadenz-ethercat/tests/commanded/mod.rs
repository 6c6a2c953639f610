//! A humanoid at the other end of a cable, in a network of the test's own, that is told what goes wrong.
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

/// What is to go wrong as soon as the segment looks.
pub type Commands = Mutex<Vec<Fault>>;

/// Runs `work` beside a humanoid of so many devices that is plugged into the interface `near`; nothing, where
/// this machine does not let anybody, which is said.
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

/// Says that a test is left out, and why.
pub fn skip(test: &str, missing: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
        "{test} must not be skipped: {missing}"
    );
    eprintln!("skipped: {test}: {missing}");
}

/// Serves the segment until it is done.
fn serve(port: InterfacePort, devices: usize, commands: &Commands, done: &AtomicBool) {
    let segment = humanoid(devices).build().unwrap();
    let mut server = Server::new(port, segment, Pace::AtOnce);
    while !done.load(Ordering::Relaxed) {
        // A link that is down takes no frames, and is up again some time.
        if server.step().is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let now = server.now();
        for fault in commands.lock().unwrap().drain(..) {
            server.segment_mut().inflict(fault, now);
        }
    }
}
