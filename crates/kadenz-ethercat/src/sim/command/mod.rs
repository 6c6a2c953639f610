//! Commands to a virtual segment as lines of text: faults, each at once or planned.
//!
//! ```
//! use kadenz_ethercat::sim::Time;
//! use kadenz_ethercat::sim::command::{SegmentNames, SimCommand, parse};
//! use kadenz_ethercat::sim::humanoid::humanoid;
//!
//! let plan = humanoid(12);
//! let mut segment = plan.build()?;
//! let names = SegmentNames::of(&plan, &mut segment, false);
//! for line in ["every 10s next 3 lose", "cut 'torso coupler'  # at once"] {
//!     if let Some(SimCommand::Inject(fault)) = parse(line, &names)? {
//!         fault.inject_into(&mut segment, Time(0))?;
//!     }
//! }
//! assert_eq!((segment.faults().lines().count(), segment.counts().wire_faults), (1, 1));
//! assert!(parse("explode", &names).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod names;

use kadenz_rt::units::{ParseQuantityError, Span};

use super::fault::{Fault, FrameFault, FullError, Planned, When, WireFault};
use super::{Segment, Time};
use crate::value::number;
use crate::wire::{AlStatusCode, State};
pub use names::SegmentNames;

/// A command to a virtual segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SimCommand {
    /// List the commands: [`HELP`].
    Help,
    /// List the devices: [`SegmentNames::list`].
    Devices,
    /// Report the counts of frames.
    Counts,
    /// Remove all planned faults.
    Clear,
    /// Inject or plan a fault.
    Inject(FaultInjection),
}

/// The line is not a command: the reason, and what could be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseCommandError(String);

/// A fault, and when it strikes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultInjection {
    /// What goes wrong, and at which device or cable.
    pub fault: Fault,
    /// When it strikes.
    pub start: FaultStart,
    /// Number of consecutive frames.
    pub frames: u64,
    /// All frames for this time.
    pub lasts: Option<Span>,
    /// Each frame, with this probability.
    pub chance: Option<f64>,
}

/// When a fault strikes first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FaultStart {
    /// At once.
    Now,
    /// After this span.
    In(Span),
    /// At this time after the segment's start.
    At(Span),
    /// After this many frames.
    After(u64),
    /// Repeatedly, at this interval.
    Every(Span),
}

impl FaultInjection {
    /// Injects the fault into a segment at that time, or adds it to the segment's plan.
    ///
    /// # Errors
    /// [`FullError`] if the plan is full.
    pub fn inject_into(self, segment: &mut Segment, now: Time) -> Result<(), FullError> {
        match self.planned(now, segment.counts().frames) {
            Some(planned) => segment.faults().add_line(planned).map(|_| ()),
            None => {
                segment.inject(self.fault, now);
                Ok(())
            }
        }
    }

    /// The plan entry at that time, after this many passed frames; `None` for an immediate fault.
    fn planned(self, now: Time, passed: u64) -> Option<Planned> {
        let frame = |first: u64| match self.frames {
            1 => When::Frame(first),
            more => When::Frames(first, first.saturating_add(more)),
        };
        let from = match self.start {
            FaultStart::In(span) => now.after(span.as_ns()),
            FaultStart::At(span) => Time(span.as_ns()),
            FaultStart::Now | FaultStart::After(_) | FaultStart::Every(_) => now,
        };
        let next = passed.saturating_add(1);
        let when = match (self.start, self.lasts, self.chance) {
            (FaultStart::Now, None, Some(probability)) => When::Chance(probability),
            (_, None, None) => match self.start {
                FaultStart::Now if self.frames == 1 => return None,
                FaultStart::Now => frame(next),
                FaultStart::After(frames) => frame(next.saturating_add(frames)),
                FaultStart::In(_) | FaultStart::At(_) => When::At(from),
                FaultStart::Every(span) => When::Every {
                    first: now.after(span.as_ns()),
                    period: span.as_ns(),
                },
            },
            (_, lasts, chance) => When::During {
                from,
                until: lasts.map_or(Time::NEVER, |it| from.after(it.as_ns())),
                probability: chance.unwrap_or(1.0),
            },
        };
        Some(Planned {
            when,
            fault: self.fault,
            frames: match when {
                When::At(_) | When::Every { .. } => self.frames,
                _ => 1,
            },
        })
    }

    /// Refuses a combination that is impossible.
    fn check(self) -> Result<Self, String> {
        let spread = self.lasts.is_some() || self.chance.is_some();
        if matches!(self.fault, Fault::Wire(_)) && (spread || self.frames > 1) {
            return Err(
                "`next`, `for` and `chance` are for frames; take `in`, `at`, `after` or `every`"
                    .to_owned(),
            );
        }
        if spread
            && (self.frames > 1
                || matches!(self.start, FaultStart::After(_) | FaultStart::Every(_)))
        {
            return Err(
                "`for` and `chance` stand alone, or behind `in` or `at`; take `next` with the others"
                    .to_owned(),
            );
        }
        Ok(self)
    }
}

/// Longest accepted line, in bytes.
pub const MAX_LINE: usize = 1_000;

/// List of the commands.
pub const HELP: &str = "\
frames:   lose [N] [after K]      the next N (1) get lost, behind K devices
          corrupt [N] [after K]   their check sequence is wrong
          garble BITS             bits flip, undetected by the check sequence
          truncate BYTES          only so many are left
          delay SPAN              the next is late
          duplicate SPAN          the next comes again
          skew DIFFERENCE         its working counters are wrong by so much
cables:   cut DEVICE, heal DEVICE the cable before a device, or `ring`
          flap DEVICE SPAN        cut, and restored
devices:  power DEVICE off|on     or: power DEVICE cycle SPAN
          leave DEVICE STATE [CODE]   it leaves its state: INIT, PREOP, SAFEOP
          fail DEVICE CODE        something inside fails (a drive: CiA 402 error code); 0 clears it
          drift DEVICE PPM        its clock runs faster
          spoil DEVICE ADDRESS BYTE   a byte of its EEPROM changes
when:     in SPAN ...    at SPAN ... (since the start)    after N ... (frames)    every SPAN ...
          next N ... (frames in a row)    for SPAN ... (all frames)    chance PROBABILITY ... (frames)
          for example: in 5s for 2s chance 0.1 lose    every 10s next 3 delay 5ms
others:   devices, counts, help
          clear                   cancels planned faults; active ones stay, except those that end by
                                  themselves, such as a flap: heal and power on end the others
DEVICE is a position from 0 or a name ('left knee'); SPAN has a unit: 300ms; numbers also 0x...";

/// Parses a line; `None` for an empty one or a comment.
///
/// # Errors
/// [`ParseCommandError`] if the line is not a command, or names no device of the segment.
pub fn parse(line: &str, names: &SegmentNames) -> Result<Option<SimCommand>, ParseCommandError> {
    parse_words(line, names).map_err(ParseCommandError)
}

fn parse_words(line: &str, names: &SegmentNames) -> Result<Option<SimCommand>, String> {
    let words = words(line)?;
    let mut words = CommandWords(&words);
    let Some(first) = words.next() else {
        return Ok(None);
    };
    let command = match first {
        "help" => SimCommand::Help,
        "devices" => SimCommand::Devices,
        "counts" => SimCommand::Counts,
        "clear" => SimCommand::Clear,
        _ => SimCommand::Inject(words.order(first, names)?),
    };
    match words.next() {
        None => Ok(Some(command)),
        Some(more) => Err(format!("`{more}` is too much; `help` lists the commands")),
    }
}

/// Splits a line into words; quotes keep blanks.
fn words(line: &str) -> Result<Vec<String>, String> {
    if line.len() > MAX_LINE {
        return Err(format!("a line has {MAX_LINE} bytes at most"));
    }
    let mut words = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next().filter(|it| *it != '#') {
        let (word, behind) = match first {
            quote @ ('\'' | '"') => rest[1..]
                .split_once(quote)
                .ok_or_else(|| format!("the {quote} is not closed"))?,
            _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = behind.trim_start();
    }
    Ok(words)
}

/// The remaining words.
struct CommandWords<'w>(&'w [String]);

impl<'w> CommandWords<'w> {
    fn next(&mut self) -> Option<&'w str> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn need(&mut self, what: &str) -> Result<&'w str, String> {
        let missing = || format!("{what} is missing; `help` lists the commands");
        self.next().ok_or_else(missing)
    }

    fn span(&mut self) -> Result<Span, String> {
        let span = self.need("a span such as 300ms")?.parse();
        span.map_err(|error: ParseQuantityError| error.to_string())
    }

    fn every(&mut self) -> Result<FaultStart, String> {
        let span = self.span()?;
        match span.as_ns() {
            0 => Err("what strikes every 0 s never ends; write a longer span".to_owned()),
            _ => Ok(FaultStart::Every(span)),
        }
    }

    fn chance(&mut self) -> Result<f64, String> {
        let word = self.need("a probability from 0 to 1")?;
        let chance = word.parse::<f64>().ok();
        let chance = chance.filter(|it| (0.0..=1.0).contains(it));
        chance.ok_or_else(|| format!("`{word}` is not a probability from 0 to 1"))
    }

    fn frames(&mut self) -> Result<u64, String> {
        match self.number("a number of frames")? {
            0 => Err("`0` is not a number of frames; write 1 or more".to_owned()),
            frames => Ok(frames),
        }
    }

    /// Parses a whole number that fits.
    fn number<T: TryFrom<i128>>(&mut self, what: &str) -> Result<T, String> {
        let word = self.need(what)?;
        number::signed(word).ok_or_else(|| format!("`{word}` is not {what}"))
    }

    /// Parses the start and the fault.
    fn order(&mut self, first: &'w str, names: &SegmentNames) -> Result<FaultInjection, String> {
        let (mut start, mut frames, mut lasts, mut chance) = (None, None, None, None);
        let mut word = first;
        loop {
            let again = match word {
                "in" => start.replace(FaultStart::In(self.span()?)).is_some(),
                "at" => start.replace(FaultStart::At(self.span()?)).is_some(),
                "after" => start.replace(FaultStart::After(self.frames()?)).is_some(),
                "every" => start.replace(self.every()?).is_some(),
                "next" => frames.replace(self.frames()?).is_some(),
                "for" => lasts.replace(self.span()?).is_some(),
                "chance" => chance.replace(self.chance()?).is_some(),
                _ => break,
            };
            if again {
                return Err(format!("`{word}` states the time twice; state it once"));
            }
            word = self.need("what goes wrong")?;
        }
        let (times, fault) = self.fault(word, names)?;
        if frames.is_some() && times > 1 {
            return Err("the command states the frame count twice; omit `next`".to_owned());
        }
        FaultInjection {
            fault,
            start: start.unwrap_or(FaultStart::Now),
            frames: frames.unwrap_or(times),
            lasts,
            chance,
        }
        .check()
    }

    /// Parses a fault, and the number of frames that it affects.
    fn fault(&mut self, what: &str, names: &SegmentNames) -> Result<(u64, Fault), String> {
        let frame = match what {
            "lose" | "corrupt" => {
                let times = match self.0.first().is_some_and(|it| it != "after") {
                    true => self.frames()?,
                    false => 1,
                };
                let after = match self.0.first().is_some_and(|it| it == "after") {
                    true => {
                        self.next();
                        Some(self.number::<u16>("a number of devices")?)
                    }
                    false => None,
                };
                let fault = match what {
                    "lose" => FrameFault::Lose { after },
                    _ => FrameFault::Corrupt { after },
                };
                return Ok((times, Fault::Frame(fault)));
            }
            "garble" => FrameFault::Garble {
                bits: self.number("a number of bits up to 255")?,
            },
            "truncate" => FrameFault::Truncate {
                length: self.number("a number of bytes")?,
            },
            "delay" => FrameFault::Delay {
                ns: self.span()?.as_ns(),
            },
            "duplicate" => FrameFault::Duplicate {
                ns: self.span()?.as_ns(),
            },
            "skew" => FrameFault::Skew {
                by: self.number("a difference such as -1")?,
            },
            _ => return self.wire_fault(what, names).map(|it| (1, Fault::Wire(it))),
        };
        Ok((1, Fault::Frame(frame)))
    }

    fn wire_fault(&mut self, what: &str, names: &SegmentNames) -> Result<WireFault, String> {
        let known = [
            "cut", "heal", "flap", "power", "leave", "fail", "drift", "spoil",
        ];
        if !known.contains(&what) {
            return Err(format!("there is no `{what}`; `help` lists the commands"));
        }
        let named = self.need("a device")?;
        if matches!(what, "cut" | "heal" | "flap") {
            let cable = names.cable(named)?;
            return Ok(match what {
                "cut" => WireFault::Cut(cable),
                "heal" => WireFault::Heal(cable),
                _ => WireFault::Flap(cable, self.span()?.as_ns()),
            });
        }
        let (device, _) = names.device(named)?;
        Ok(match what {
            "power" => match self.need("off, on or cycle")? {
                "off" => WireFault::PowerOff(device),
                "on" => WireFault::PowerOn(device),
                "cycle" => WireFault::PowerCycle(device, self.span()?.as_ns()),
                other => return Err(format!("power is off, on or cycle, not `{other}`")),
            },
            "leave" => {
                let state = self.state()?;
                let code = match self.0.is_empty() {
                    true => AlStatusCode::UNSPECIFIED,
                    false => AlStatusCode(self.number("an AL status code")?),
                };
                WireFault::Leave(device, state, code)
            }
            "fail" => WireFault::Fail(device, self.number("an error code")?),
            "drift" => WireFault::Drift(device, self.ppm()?),
            _ => WireFault::Spoil(
                device,
                self.number("a byte's address")?,
                self.number("a byte")?,
            ),
        })
    }

    fn state(&mut self) -> Result<State, String> {
        let word = self.need("a state")?;
        State::from_name(word)
            .filter(|it| [State::Init, State::PreOp, State::SafeOp].contains(it))
            .ok_or_else(|| format!("a device leaves for INIT, PREOP or SAFEOP, not `{word}`"))
    }

    fn ppm(&mut self) -> Result<f64, String> {
        let word = self.need("parts per million")?;
        let ppm = word.parse::<f64>().ok().filter(|it| it.abs() <= 10_000.0);
        ppm.ok_or_else(|| {
            format!(
                "`{word}` is not a valid drift; oscillators are within 100 ppm, here up to 10000"
            )
        })
    }
}

#[cfg(test)]
mod tests;
