//! For systems without a way to wait for several sockets: each counts as changed once a millisecond.

use std::io;
use std::thread;
use std::time::Duration;

use super::{Readiness, Wait, Waker};
use crate::clock;
use crate::net::watch::Wakes;

/// The longest wait.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A poller without the system's help: the tokens of its sockets.
#[derive(Debug)]
pub(super) struct SystemPoller {
    tokens: Vec<u64>,
    wakes: Wakes,
}

impl SystemPoller {
    pub(super) fn create() -> io::Result<Self> {
        Ok(Self {
            tokens: Vec::new(),
            wakes: Wakes::create()?,
        })
    }

    pub(super) fn waker(&self) -> Waker {
        self.wakes.waker()
    }

    pub(super) fn add(&mut self, _number: i32, token: u64) -> io::Result<()> {
        self.tokens.push(token);
        Ok(())
    }

    pub(super) fn remove(&mut self, token: u64) {
        self.tokens.retain(|known| *known != token);
    }

    pub(super) fn wait(&mut self, wait: Wait) -> io::Result<()> {
        let left = match wait {
            Wait::Poll => Duration::ZERO,
            Wait::Forever => POLL_INTERVAL,
            Wait::Until(end) => end.remaining(clock::now()),
        };
        if !self.wakes.take() {
            thread::sleep(left.min(POLL_INTERVAL));
        }
        Ok(())
    }

    pub(super) fn changes(&self) -> impl Iterator<Item = Readiness> + '_ {
        self.tokens.iter().map(|token| Readiness {
            token: *token,
            readable: true,
            writable: true,
            ended: true,
        })
    }
}
