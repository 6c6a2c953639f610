//! The faults of a simulated camera and their times: a script, from TOML or at random.
//!
//! ```toml
//! [[fault]]
//! at = "5s"
//! lasts = "2s"
//! stall = true
//!
//! [[fault]]
//! at = "10s"
//! lasts = "5s"
//! loss = 0.01
//!
//! [[fault]]
//! at = "20s"
//! lasts = "3s"
//! size = "640x480"
//! ```

use std::time::Duration;

use kadenz_rt::random::Random;
use kadenz_rt::units::Span;
use serde::Deserialize;

use crate::picture::Size;

/// A fault that a simulated camera or its network can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// Each picture is sent up to so much later than intended.
    Jitter(Duration),
    /// This share of packets is not sent.
    Loss(f64),
    /// This share of packets is sent after its successor.
    Reorder(f64),
    /// This share of packets is sent twice.
    Duplicate(f64),
    /// Nothing is sent; all that was due meanwhile is then sent in one burst, as far as it is younger than
    /// [`MAX_LATENESS`](super::MAX_LATENESS).
    Stall,
    /// All connections are closed once.
    Drop,
    /// All connections are closed, and the camera refuses new ones.
    Reboot,
    /// Pictures have another size, from the next key on.
    Resize(Size),
    /// The time of day in the sender reports is off by so many nanoseconds.
    ClockStep(i64),
}

/// A fault and its time, counted from the simulator's start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// When it begins, counted from the simulator's start.
    pub at: Duration,
    /// How long it lasts; a fault that happens once ignores this.
    pub lasts: Duration,
    /// The fault that strikes then.
    pub fault: Fault,
}

impl Event {
    fn is_active(&self, elapsed: Duration) -> bool {
        elapsed >= self.at && elapsed - self.at < self.lasts
    }
}

/// Why a text is not a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// Not TOML, or with other keys.
    #[error("the script of faults cannot be read: {0}")]
    Malformed(String),
    /// An event that is not valid.
    #[error(
        "fault {index} of the script, at {at}: {cause}; a fault has `at`, mostly `lasts`, and one of jitter, loss, \
         reorder, duplicate, stall, drop, reboot, size, clock_step, clock_step_back"
    )]
    Event {
        /// The event's number, from 1.
        index: usize,
        /// Its time as written.
        at: String,
        /// What is wrong with the event, in words.
        cause: String,
    },
}

/// Faults, in any order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    events: Vec<Event>,
}

/// An event as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    at: String,
    lasts: Option<String>,
    jitter: Option<String>,
    loss: Option<f64>,
    reorder: Option<f64>,
    duplicate: Option<f64>,
    stall: Option<bool>,
    drop: Option<bool>,
    reboot: Option<bool>,
    size: Option<String>,
    clock_step: Option<String>,
    clock_step_back: Option<String>,
}

impl Written {
    fn event(&self) -> Result<Event, String> {
        let span = |text: &String| text.parse().map(|span: Span| span.0);
        let span = |text: &String| span(text).map_err(|error| error.to_string());
        let share = |share: f64| match share {
            0.0..=1.0 => Ok(share),
            _ => Err(format!("{share} is not a valid share; write 0.01 for 1 %")),
        };
        let step = |text: &String| Ok::<_, String>(span(text)?.as_nanos() as i64);
        let flag =
            |flag: Option<bool>, fault| flag.filter(|it| *it).map(|_| Ok::<_, String>(fault));
        let mut faults = [
            self.jitter.as_ref().map(|it| Ok(Fault::Jitter(span(it)?))),
            self.loss.map(|it| Ok(Fault::Loss(share(it)?))),
            self.reorder.map(|it| Ok(Fault::Reorder(share(it)?))),
            self.duplicate.map(|it| Ok(Fault::Duplicate(share(it)?))),
            flag(self.stall, Fault::Stall),
            flag(self.drop, Fault::Drop),
            flag(self.reboot, Fault::Reboot),
            self.size.as_ref().map(|it| {
                let size = it.parse::<Size>().map_err(|error| error.to_string())?;
                Ok(Fault::Resize(size))
            }),
            self.clock_step
                .as_ref()
                .map(|it| Ok(Fault::ClockStep(step(it)?))),
            self.clock_step_back
                .as_ref()
                .map(|it| Ok(Fault::ClockStep(-step(it)?))),
        ]
        .into_iter()
        .flatten();
        let fault = faults.next().ok_or("it names no fault")??;
        if faults.next().is_some() {
            return Err("it names several faults; give each an entry of its own".to_owned());
        }
        let lasts = match (&self.lasts, fault) {
            (Some(lasts), _) => span(lasts)?,
            (None, Fault::Drop) => Duration::ZERO,
            // Until the end.
            (None, Fault::ClockStep(_)) => Duration::MAX,
            (None, _) => return Err("it states no duration".to_owned()),
        };
        let at = span(&self.at)?;
        Ok(Event { at, lasts, fault })
    }
}

impl Script {
    /// A script of events.
    #[must_use]
    pub fn new(events: Vec<Event>) -> Self {
        Self { events }
    }

    /// Reads a script.
    ///
    /// # Errors
    /// [`ScriptError`], with the entry that is wrong.
    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            #[serde(default)]
            fault: Vec<Written>,
        }
        let malformed = |error: toml::de::Error| ScriptError::Malformed(error.to_string());
        let file: File = toml::from_str(text).map_err(malformed)?;
        let event = |(index, written): (usize, &Written)| {
            written.event().map_err(|cause| ScriptError::Event {
                index: index + 1,
                at: written.at.clone(),
                cause,
            })
        };
        let events = file.fault.iter().enumerate().map(event);
        events.collect::<Result<_, _>>().map(Self::new)
    }

    /// Faults of all kinds at random times until `end`, with 2 to 10 seconds without a fault between them; the same
    /// seed gives the same script. Pictures change to one of `sizes`, where there are any.
    #[must_use]
    pub fn random(seed: u64, end: Duration, sizes: &[Size]) -> Self {
        let mut random = Random::new(seed);
        let mut events = Vec::new();
        let mut at = Duration::ZERO;
        loop {
            at += Duration::from_millis(2000 + random.below(8000));
            if at >= end {
                return Self { events };
            }
            let share = random.below(50) as f64 / 1000.0;
            let fault = match random.below(9) {
                0 => Fault::Jitter(Duration::from_millis(random.below(40))),
                1 => Fault::Loss(share),
                2 => Fault::Reorder(share),
                3 => Fault::Duplicate(share),
                4 => Fault::Stall,
                5 => Fault::Drop,
                6 => Fault::Reboot,
                7 => match sizes.get(random.below(sizes.len().max(1) as u64) as usize) {
                    Some(size) => Fault::Resize(*size),
                    None => Fault::Stall,
                },
                _ => Fault::ClockStep(random.below(20_000_000_000) as i64 - 10_000_000_000),
            };
            let lasts = Duration::from_millis(100 + random.below(3000));
            events.push(Event { at, lasts, fault });
            at += lasts;
        }
    }

    /// All events.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The sizes that pictures change to.
    pub(super) fn sizes(&self) -> impl Iterator<Item = Size> {
        self.events.iter().filter_map(|event| match event.fault {
            Fault::Resize(size) => Some(size),
            _ => None,
        })
    }

    pub(super) fn active(&self, elapsed: Duration) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |it| it.is_active(elapsed))
    }

    /// The shares of packets that are lost, sent late and sent twice.
    pub(super) fn shares(&self, elapsed: Duration) -> [f64; 3] {
        let mut shares = [0.0; 3];
        for event in self.active(elapsed) {
            match event.fault {
                Fault::Loss(share) => shares[0] = share,
                Fault::Reorder(share) => shares[1] = share,
                Fault::Duplicate(share) => shares[2] = share,
                _ => {}
            }
        }
        shares
    }

    /// How much later than intended a picture is sent that is due at `elapsed`, its jitter drawn from `random`.
    pub(super) fn delay(&self, elapsed: Duration, random: &mut Random) -> Duration {
        let mut delay = Duration::ZERO;
        for event in self.active(elapsed) {
            delay = delay.max(match event.fault {
                Fault::Jitter(most) => {
                    Duration::from_nanos(random.below(most.as_nanos() as u64 + 1))
                }
                Fault::Stall => (event.at + event.lasts).saturating_sub(elapsed),
                _ => Duration::ZERO,
            });
        }
        delay
    }

    /// How far the camera's time of day is off, in nanoseconds.
    pub(super) fn clock_offset_ns(&self, elapsed: Duration) -> i64 {
        let steps = self.active(elapsed).map(|event| match event.fault {
            Fault::ClockStep(step) => step,
            _ => 0,
        });
        steps.fold(0, i64::saturating_add)
    }

    /// The size at a time, where a fault changes it.
    pub(super) fn size(&self, elapsed: Duration) -> Option<Size> {
        self.active(elapsed).find_map(|event| match event.fault {
            Fault::Resize(size) => Some(size),
            _ => None,
        })
    }

    pub(super) fn is_rebooting(&self, elapsed: Duration) -> bool {
        self.active(elapsed)
            .any(|event| event.fault == Fault::Reboot)
    }

    /// Whether connections are closed at a time between the two.
    pub(super) fn closes_between(&self, from: Duration, until: Duration) -> bool {
        self.events.iter().any(|event| {
            let closes = matches!(event.fault, Fault::Drop | Fault::Reboot);
            closes && from <= event.at && event.at < until
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_script_says_what_happens_when() {
        let script = Script::from_toml(
            r#"
            [[fault]]
            at = "5s"
            lasts = "2s"
            stall = true
            [[fault]]
            at = "6s"
            lasts = "2s"
            loss = 0.25
            [[fault]]
            at = "7s"
            clock_step_back = "1h"
            [[fault]]
            at = "8s"
            lasts = "1s"
            size = "480p"
            [[fault]]
            at = "9s"
            drop = true
            "#,
        )
        .unwrap();
        let mut random = Random::new(1);
        assert_eq!(script.delay(seconds(4), &mut random), seconds(0));
        assert_eq!(script.delay(seconds(6), &mut random), seconds(1));
        assert_eq!(script.shares(seconds(7)), [0.25, 0.0, 0.0]);
        assert_eq!(script.shares(seconds(8)), [0.0; 3]);
        assert_eq!(script.clock_offset_ns(seconds(6)), 0);
        assert_eq!(script.clock_offset_ns(seconds(700)), -3_600_000_000_000);
        assert_eq!(script.size(seconds(8)), Size::new(640, 480).ok());
        assert_eq!(script.size(seconds(9)), None);
        assert!(script.closes_between(seconds(8), seconds(10)));
        assert!(!script.closes_between(seconds(10), seconds(11)));
        assert!(!script.is_rebooting(seconds(9)));
    }

    #[test]
    fn a_script_that_says_nothing_that_can_be_done_is_refused() {
        for text in [
            "[[fault]]\nat = \"1s\"",
            "[[fault]]\nat = \"1s\"\nstall = true",
            "[[fault]]\nat = \"1s\"\nlasts = \"1s\"\nstall = false",
            "[[fault]]\nat = \"1s\"\nlasts = \"1s\"\nloss = 2.0",
            "[[fault]]\nat = \"1s\"\nlasts = \"1s\"\nloss = 0.1\nstall = true",
            "[[fault]]\nat = \"1\"\nlasts = \"1s\"\nstall = true",
            "[[fault]]\nat = \"1s\"\nlasts = \"1s\"\nfire = true",
            "fault = 3",
        ] {
            assert!(Script::from_toml(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_seed_settles_a_random_script_that_has_faults_of_every_kind() {
        let sizes = [Size::new(320, 240).unwrap()];
        let script = Script::random(7, seconds(3600), &sizes);
        assert_eq!(script, Script::random(7, seconds(3600), &sizes));
        assert_ne!(script, Script::random(8, seconds(3600), &sizes));
        let kind = |event: &Event| std::mem::discriminant(&event.fault);
        let kinds: std::collections::HashSet<_> = script.events().iter().map(kind).collect();
        assert_eq!(kinds.len(), 9);
        assert!(script.events().iter().all(|event| event.at < seconds(3600)));
    }
}
