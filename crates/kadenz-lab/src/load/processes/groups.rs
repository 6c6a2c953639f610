//! Groups of senders and receivers, as hackbench has them.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::clock;

use super::RECEIVERS;
use crate::load::rates::Tally;
use crate::load::workers::{Site, Workers};
use crate::load::{LoadKind, StartLoadError};
use crate::stop::Stop;

/// hackbench's `--datasize=100`.
const MESSAGE: usize = 100;
/// Yoon kills hackbench every five seconds.
const GROUP_LIFETIME: Duration = Duration::from_secs(5);
/// How often a group checks for the end.
const STEP: Duration = Duration::from_millis(20);

/// Keeps this many groups at work, and makes them again every few seconds.
pub(super) fn spawn(
    workers: &mut Workers,
    groups: usize,
    messages: &Tally,
) -> Result<(), StartLoadError> {
    // The first groups are made before the load begins, so that the caller gets a refusal.
    let site = Site::default();
    let mut first = Some(Generation::start(groups, messages, &site)?);
    let messages = messages.clone();
    workers.repeat("groups", move |stop| {
        let generation = match first.take() {
            Some(first) => Ok(first),
            None => Generation::start(groups, &messages, &Site::default()),
        };
        generation.map_err(|error| error.to_string())?.live(stop);
        Ok(())
    })
}

/// All groups, from one killing to the next.
struct Generation {
    site: Site,
    groups: Vec<Group>,
}

/// Every sender of a group writes to every receiver of it.
struct Group {
    to_receivers: Arc<[UnixStream]>,
    workers: Workers,
}

impl Generation {
    fn start(groups: usize, messages: &Tally, site: &Site) -> Result<Self, StartLoadError> {
        let groups = (0..groups)
            .map(|group| Group::start(group, messages, site))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            site: site.clone(),
            groups,
        })
    }

    /// Works for its time, or until a stop is requested.
    fn live(self, stop: &Stop) {
        self.site.gate.open();
        let end = clock::now() + GROUP_LIFETIME;
        while clock::now() < end && !stop.requested() {
            std::thread::sleep(STEP);
        }
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        // A thread that waits for a message, or for room for one, must notice the end.
        self.site.stop.request();
        for group in &self.groups {
            group.hang_up();
        }
        for group in &mut self.groups {
            group.workers.end();
        }
    }
}

impl Group {
    fn start(group: usize, messages: &Tally, site: &Site) -> Result<Self, StartLoadError> {
        let pairs = (0..RECEIVERS).map(|_| UnixStream::pair());
        let pairs: io::Result<Vec<_>> = pairs.collect();
        let (senders, receivers): (Vec<_>, Vec<_>) = pairs
            .map_err(|error| StartLoadError::Sockets {
                kind: LoadKind::Processes,
                error,
                remedy: "request fewer `--groups`, or more open files (`ulimit -n 65536`): a \
                         group has 40",
            })?
            .into_iter()
            .unzip();
        let mut it = Self {
            to_receivers: senders.into(),
            workers: Workers::new(LoadKind::Processes, site),
        };
        for (n, receiver) in receivers.into_iter().enumerate() {
            let (part, messages) = (group * RECEIVERS + n, messages.clone());
            let work = move |stop: &Stop| receive(receiver, stop, || messages.add(part, 1));
            it.workers.spawn("receiver", work)?;
        }
        // As many senders as receivers.
        for _ in 0..RECEIVERS {
            let receivers = it.to_receivers.clone();
            it.workers
                .spawn("sender", move |stop| send(&receivers, stop))?;
        }
        Ok(it)
    }

    fn hang_up(&self) {
        for socket in self.to_receivers.iter() {
            // It fails where the other end has closed the connection, which needs no handling.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.hang_up();
    }
}

/// Sends to each receiver in turn, until the connection ends.
fn send(receivers: &[UnixStream], stop: &Stop) {
    let message = [0x5a; MESSAGE];
    while !stop.requested() {
        for mut receiver in receivers {
            if receiver.write_all(&message).is_err() {
                return;
            }
        }
    }
}

/// Receives until the connection ends.
fn receive(mut socket: UnixStream, stop: &Stop, mut received: impl FnMut()) {
    let mut message = [0; MESSAGE];
    while !stop.requested() && socket.read_exact(&mut message).is_ok() {
        received();
    }
}
