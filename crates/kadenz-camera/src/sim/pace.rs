//! When each client gets each picture.

use std::io;
use std::time::Duration;

use kadenz_rt::clock::{MonotonicTime, now};
use kadenz_rt::random::Random;
use kadenz_rt::sleep::{self, Sleeper, SleeperKind, SleeperOptions};

use super::SimContext;
use super::stream::EncodedFrame;

/// A picture that was sent to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Counts pictures from the camera's start, whether a client got them or not.
    pub index: u64,
    /// The number painted into it.
    pub number: u32,
    /// Counts clients from 1.
    pub client: u64,
    /// When it was meant to be sent, without faults.
    pub intended: MonotonicTime,
    /// Just before its first byte went to the kernel.
    pub first_byte: MonotonicTime,
    /// Just after its last byte went to the kernel; until then, the same as `first_byte`.
    pub last_byte: MonotonicTime,
}

/// A picture later than this is not sent any more: the client continues with the next key picture.
pub const MAX_LATENESS: Duration = Duration::from_millis(500);

/// The parts into which a wait is cut; a client may leave between them.
const WAIT_PART: Duration = Duration::from_millis(20);

/// The connection of one client, which frames are sent to.
pub(super) trait FrameSink {
    /// Makes the bytes of a picture, while there is time.
    fn prepare(&mut self, index: u64, frame: &EncodedFrame);

    /// Sends them.
    fn send(&mut self, index: u64) -> io::Result<()>;
}

/// Sends pictures at their times, beginning with a key, until it is over or the client is gone.
pub(super) fn pace(
    shared: &SimContext,
    client: u64,
    to: &mut dyn FrameSink,
    is_over: &dyn Fn() -> bool,
) -> io::Result<()> {
    let stream = &shared.stream;
    let mut random = Random::new(shared.options.seed ^ client);
    let mut sleeper = sleep::open(SleeperKind::recommended(), SleeperOptions::default())
        .map_err(io::Error::other)?;
    let mut next = stream.first_after(now());
    let mut has_key = false;
    while !is_over() && !shared.is_over() {
        let delay = shared
            .options
            .script
            .delay(stream.elapsed(next), &mut random);
        if now() > stream.due(next) + MAX_LATENESS {
            (next, has_key) = (stream.first_after(now()), false);
            continue;
        }
        let Some((index, frame)) = stream.frame(next) else {
            continue;
        };
        next = index + 1;
        has_key = (has_key || frame.is_key) && delay <= MAX_LATENESS;
        if !has_key {
            continue;
        }
        let intended = stream.due(index);
        to.prepare(index, &frame);
        if !wait(sleeper.as_mut(), intended + delay, &|| {
            is_over() || shared.is_over()
        }) {
            break;
        }
        // A client may have seen the picture before the call that sends it returns.
        let first_byte = now();
        log(
            shared,
            Sent {
                index,
                number: frame.number,
                client,
                intended,
                first_byte,
                last_byte: first_byte,
            },
        );
        to.send(index)?;
        let last_byte = now();
        let mut log = shared.log();
        let mut backwards = log.iter_mut().rev();
        if let Some(sent) = backwards.find(|it| (it.index, it.client) == (index, client)) {
            sent.last_byte = last_byte;
        }
    }
    Ok(())
}

fn log(shared: &SimContext, sent: Sent) {
    let mut log = shared.log();
    if log.len() >= shared.options.log_frames.max(1) {
        log.pop_front();
    }
    log.push_back(sent);
}

/// Waits; returns whether the time came before `is_over`.
fn wait(sleeper: &mut dyn Sleeper, until: MonotonicTime, is_over: &dyn Fn() -> bool) -> bool {
    while now() < until {
        if is_over() {
            return false;
        }
        sleeper.sleep_until(until.min(now() + WAIT_PART));
    }
    !is_over()
}
