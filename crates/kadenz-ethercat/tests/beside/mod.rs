//! A virtual segment at the other end of a cable, in a network of its own.
#![allow(clippy::print_stderr, reason = "a skipped test says so")]
#![allow(unreachable_pub, reason = "a part of several tests, each a crate")]

use std::sync::atomic::{AtomicBool, Ordering};

use kadenz_ethercat::port::{self, InterfacePort};
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::serve::{Pace, Server};
use kadenz_rt::net::cable::Cable;
use kadenz_rt::net::namespace::Namespace;

fn skip(test: &str, missing: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
        "{test} must not be skipped: {missing}"
    );
    eprintln!("skipped: {test}: {missing}");
}

/// Runs beside a humanoid of so many devices that is plugged into the interface `near`, or says why not.
pub fn a_humanoid(devices: u16, test: &str, work: impl FnOnce() + Send) {
    let network = match Namespace::create() {
        Ok(network) => network,
        Err(error) => {
            assert!(error.is_refusal(), "{error}");
            return skip(test, &error.to_string());
        }
    };
    let done = AtomicBool::new(false);
    let with_cable = || {
        let _cable = Cable::create("near", "far").unwrap();
        let port = InterfacePort::open("far", port::Waiting::Blocking).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let segment = humanoid(usize::from(devices)).build().unwrap();
                let mut server = Server::new(port, segment, Pace::AtOnce);
                while !done.load(Ordering::Relaxed) {
                    server.step().unwrap();
                }
            });
            // A panic here must end the other thread too, or the test would never end.
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            done.store(true, Ordering::Relaxed);
            if let Err(panic) = outcome {
                std::panic::resume_unwind(panic);
            }
        });
    };
    network.run(with_cable).unwrap();
}
