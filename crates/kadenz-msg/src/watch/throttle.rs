//! No more than so many messages a second of each channel.

use std::collections::BTreeMap;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use crate::channel::Channel;

/// Lets messages of a channel pass at most once an interval; the others are held back.
///
/// ```
/// use std::time::Duration;
/// use kadenz_msg::channel::Channel;
/// use kadenz_msg::watch::Throttle;
/// use kadenz_rt::clock::MonotonicTime;
///
/// let mut throttle = Throttle::new(Duration::from_millis(100), 1000);
/// let camera = Channel::new("CAMERA")?;
/// let passed = (0..30).filter(|frame| {
///     throttle.passes(camera, MonotonicTime::from_ns(frame * 33_333_333))
/// });
/// assert_eq!(passed.count(), 10);
/// # Ok::<(), kadenz_msg::channel::ChannelError>(())
/// ```
#[derive(Debug)]
pub struct Throttle {
    interval: Duration,
    most: usize,
    next: BTreeMap<Channel, MonotonicTime>,
}

impl Throttle {
    /// Of at most so many channels; messages of further ones are held back.
    #[must_use]
    pub fn new(interval: Duration, most: usize) -> Self {
        Self {
            interval,
            most,
            next: BTreeMap::new(),
        }
    }

    /// Whether a message may pass now. On average the rate is kept also where messages come a little
    /// early or late: what passes is due on a beat of the interval.
    pub fn passes(&mut self, channel: Channel, now: MonotonicTime) -> bool {
        let Some(next) = self.next.get_mut(&channel) else {
            let has_room = self.next.len() < self.most;
            if has_room {
                self.next.insert(channel, now + self.interval);
            }
            return has_room;
        };
        if now < *next {
            return false;
        }
        // After a pause a new beat begins: no burst makes up for it.
        let behind = now.remaining(*next) >= self.interval;
        *next = if behind { now } else { *next } + self.interval;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(times_ms: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut throttle = Throttle::new(Duration::from_millis(100), 10);
        let channel = Channel::new("A").unwrap();
        let times = times_ms.into_iter();
        times
            .filter(|ms| throttle.passes(channel, MonotonicTime::from_ns(ms * 1_000_000)))
            .collect()
    }

    #[test]
    fn a_pause_is_not_made_up_for_by_a_burst() {
        let times = [0, 1000, 1001, 1002, 1100];
        assert_eq!(passed(times), [0, 1000, 1100]);
    }

    #[test]
    fn a_rate_that_is_no_part_of_the_other_is_kept_on_average() {
        let passed = passed((0..1000).map(|at| at * 7)).len();
        assert_eq!(passed, 70);
    }

    #[test]
    fn further_channels_are_held_back() {
        let mut throttle = Throttle::new(Duration::from_millis(1), 1);
        let now = MonotonicTime::from_ns(0);
        assert!(throttle.passes(Channel::new("A").unwrap(), now));
        assert!(!throttle.passes(Channel::new("B").unwrap(), now));
    }
}
