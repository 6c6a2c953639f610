//! What a line on standard input lets go wrong.

use kadenz_ethercat::sim::fault::{Fault, FrameFault, WireFault};
use kadenz_ethercat::wire::{AlStatusCode, State};

use super::names::Names;
use crate::options::Span;

/// What a line asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Command {
    Help,
    Devices,
    Counts,
    /// Takes everything off the plan.
    Clear,
    Strike(Moment, Fault),
}

/// When it strikes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Moment {
    /// At once; frames: so many of the next.
    Now(u64),
    /// Once, so much later.
    In(Span),
    /// Again and again.
    Every(Span),
    /// Each frame, by that probability.
    Chance(f64),
}

/// Longest line that is read, in bytes.
pub(super) const LONGEST: usize = 1_000;

/// What there is.
pub(super) const HELP: &str = "\
frames:   lose [N] [after K]      the next N (1) get lost, behind K devices
          corrupt [N] [after K]   their check sequence is wrong
          garble BITS             bits flip, and no check sequence tells
          truncate BYTES          only so many are left
          delay SPAN              the next is late
          duplicate SPAN          the next comes again
          skew DIFFERENCE         its working counters are wrong by so much
cables:   cut DEVICE, heal DEVICE the cable before a device
          flap DEVICE SPAN        cut, and whole again
devices:  power DEVICE off|on     or: power DEVICE cycle SPAN
          leave DEVICE STATE [CODE]   it leaves its state: INIT, PREOP, SAFEOP
          fail DEVICE CODE        something inside fails (a drive: CiA 402 error code); 0 mends it
          drift DEVICE PPM        its clock runs faster
before any: in SPAN ...    every SPAN ...    chance PROBABILITY ... (frames)
others:   devices, counts, clear (takes back in, every, chance), help
DEVICE is a position from 0 or a name ('left knee'); SPAN has a unit: 300ms; numbers also 0x...";

/// Understands a line; `None` for an empty one or a comment.
pub(super) fn parse(line: &str, names: &Names) -> Result<Option<Command>, String> {
    let words = words(line)?;
    let mut words = Words(&words);
    let Some(first) = words.next() else {
        return Ok(None);
    };
    let command = match first {
        "help" => Command::Help,
        "devices" => Command::Devices,
        "counts" => Command::Counts,
        "clear" => Command::Clear,
        "in" => words.fault_at(|it| it.span().map(Moment::In), names)?,
        "every" => words.fault_at(Words::every, names)?,
        "chance" => words.fault_at(Words::chance, names)?,
        what => {
            let (times, fault) = words.fault(what, names)?;
            Command::Strike(Moment::Now(times), fault)
        }
    };
    match words.next() {
        None => Ok(Some(command)),
        Some(more) => Err(format!("`{more}` is too much; `help` says what there is")),
    }
}

/// The words of a line; what stands in quotes is one.
fn words(line: &str) -> Result<Vec<String>, String> {
    if line.len() > LONGEST {
        return Err(format!("a line has {LONGEST} bytes at most"));
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

/// The words that are left.
struct Words<'w>(&'w [String]);

impl<'w> Words<'w> {
    fn next(&mut self) -> Option<&'w str> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn need(&mut self, what: &str) -> Result<&'w str, String> {
        let missing = || format!("{what} is missing; `help` says what there is");
        self.next().ok_or_else(missing)
    }

    fn span(&mut self) -> Result<Span, String> {
        self.need("a span such as 300ms")?.parse()
    }

    fn every(&mut self) -> Result<Moment, String> {
        let span = self.span()?;
        match span.as_ns() {
            0 => Err("what strikes every 0 s never ends; write a longer span".to_owned()),
            _ => Ok(Moment::Every(span)),
        }
    }

    fn chance(&mut self) -> Result<Moment, String> {
        let word = self.need("a probability from 0 to 1")?;
        let chance = word.parse::<f64>().ok();
        let chance = chance.filter(|it| (0.0..=1.0).contains(it));
        chance
            .map(Moment::Chance)
            .ok_or_else(|| format!("`{word}` is no probability from 0 to 1"))
    }

    /// A whole number that fits.
    fn number<T: TryFrom<i64>>(&mut self, what: &str) -> Result<T, String> {
        let word = self.need(what)?;
        let (negative, digits) = match word.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, word),
        };
        let value = match digits.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16),
            None => digits.parse::<i64>(),
        };
        let value = value.ok().map(|it| if negative { -it } else { it });
        value
            .and_then(|it| T::try_from(it).ok())
            .ok_or_else(|| format!("`{word}` is not {what}"))
    }

    fn fault_at(
        &mut self,
        moment: impl FnOnce(&mut Self) -> Result<Moment, String>,
        names: &Names,
    ) -> Result<Command, String> {
        let moment = moment(self)?;
        let what = self.need("what goes wrong")?;
        let (times, fault) = self.fault(what, names)?;
        if times != 1 {
            return Err("`in`, `every` and `chance` strike one frame at a time".to_owned());
        }
        if matches!((moment, fault), (Moment::Chance(_), Fault::Wire(_))) {
            return Err("`chance` is for what happens to frames; take `in` or `every`".to_owned());
        }
        Ok(Command::Strike(moment, fault))
    }

    /// A fault, and how many frames it strikes.
    fn fault(&mut self, what: &str, names: &Names) -> Result<(u64, Fault), String> {
        let frame = match what {
            "lose" | "corrupt" => {
                let times = match self.0.first().is_some_and(|it| it != "after") {
                    true => self.number::<u64>("a number of frames")?,
                    false => 1,
                };
                let after = match self.0.first().is_some_and(|it| it == "after") {
                    true => {
                        self.next();
                        Some(self.number::<u16>("a number of devices")?)
                    }
                    false => None,
                };
                if times == 0 {
                    return Err("0 frames are none".to_owned());
                }
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

    fn wire_fault(&mut self, what: &str, names: &Names) -> Result<WireFault, String> {
        let known = ["cut", "heal", "flap", "power", "leave", "fail", "drift"];
        if !known.contains(&what) {
            return Err(format!("there is no `{what}`; `help` says what there is"));
        }
        let (device, cable) = names.device(self.need("a device")?)?;
        Ok(match what {
            "cut" => WireFault::Cut(cable),
            "heal" => WireFault::Heal(cable),
            "flap" => WireFault::Flap(cable, self.span()?.as_ns()),
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
            _ => WireFault::Drift(device, self.ppm()?),
        })
    }

    fn state(&mut self) -> Result<State, String> {
        let word = self.need("a state")?;
        [State::Init, State::PreOp, State::SafeOp]
            .into_iter()
            .find(|it| it.name().eq_ignore_ascii_case(word))
            .ok_or_else(|| format!("a device leaves for INIT, PREOP or SAFEOP, not `{word}`"))
    }

    fn ppm(&mut self) -> Result<f64, String> {
        let word = self.need("parts per million")?;
        let ppm = word.parse::<f64>().ok().filter(|it| it.abs() <= 10_000.0);
        ppm.ok_or_else(|| {
            format!("`{word}` is no drift; quartzes are within 100 ppm, here up to 10000")
        })
    }
}

#[cfg(test)]
mod tests {
    use kadenz_ethercat::sim::humanoid::humanoid;
    use kadenz_ethercat::sim::{CableId, DeviceId};

    use super::*;

    fn names() -> Names {
        let plan = humanoid(59);
        Names::of(&plan, &mut plan.build().unwrap())
    }

    fn now(fault: FrameFault) -> Command {
        Command::Strike(Moment::Now(1), Fault::Frame(fault))
    }

    fn wire(fault: WireFault) -> Command {
        Command::Strike(Moment::Now(1), Fault::Wire(fault))
    }

    #[test]
    fn every_fault_has_its_words() {
        let names = names();
        let (knee, cable) = names.device("left knee").unwrap();
        let lose = |after| Fault::Frame(FrameFault::Lose { after });
        for (line, command) in [
            ("lose", now(FrameFault::Lose { after: None })),
            ("lose 3", Command::Strike(Moment::Now(3), lose(None))),
            (
                "lose after 5",
                Command::Strike(Moment::Now(1), lose(Some(5))),
            ),
            (
                "lose 2 after 5",
                Command::Strike(Moment::Now(2), lose(Some(5))),
            ),
            ("corrupt", now(FrameFault::Corrupt { after: None })),
            ("garble 4", now(FrameFault::Garble { bits: 4 })),
            ("truncate 40", now(FrameFault::Truncate { length: 40 })),
            ("delay 5ms", now(FrameFault::Delay { ns: 5_000_000 })),
            ("duplicate 10us", now(FrameFault::Duplicate { ns: 10_000 })),
            ("skew -1", now(FrameFault::Skew { by: -1 })),
            ("cut 0", wire(WireFault::Cut(CableId(0)))),
            ("heal 'left knee'", wire(WireFault::Heal(cable))),
            (
                "flap \"Left Knee\" 300ms",
                wire(WireFault::Flap(cable, 300_000_000)),
            ),
            ("power 0 off", wire(WireFault::PowerOff(DeviceId(0)))),
            ("power 'left knee' on", wire(WireFault::PowerOn(knee))),
            (
                "power 0 cycle 1s",
                wire(WireFault::PowerCycle(DeviceId(0), 1_000_000_000)),
            ),
            (
                "leave 0 safeop 0x1B",
                wire(WireFault::Leave(
                    DeviceId(0),
                    State::SafeOp,
                    AlStatusCode::WATCHDOG,
                )),
            ),
            ("fail 0 0x7305", wire(WireFault::Fail(DeviceId(0), 0x7305))),
            ("drift 0 -20.5", wire(WireFault::Drift(DeviceId(0), -20.5))),
            (
                "chance 0.01 lose",
                Command::Strike(Moment::Chance(0.01), lose(None)),
            ),
            (
                "every 10s lose # at night",
                Command::Strike(Moment::Every("10s".parse().unwrap()), lose(None)),
            ),
            ("help", Command::Help),
            ("  clear ", Command::Clear),
        ] {
            assert_eq!(parse(line, &names), Ok(Some(command)), "{line}");
        }
        assert_eq!(parse("", &names), Ok(None));
        assert_eq!(parse("# a remark", &names), Ok(None));
    }

    #[test]
    fn positions_are_those_of_the_wire_and_not_of_the_file() {
        let plan = humanoid(59);
        let mut segment = plan.build().unwrap();
        let names = Names::of(&plan, &mut segment);
        for (position, id) in segment_positions(&mut segment).into_iter().enumerate() {
            assert_eq!(names.device(&position.to_string()).unwrap().0, id);
            let name = &plan.devices[usize::from(id.0)].name;
            assert_eq!(names.device(name).unwrap().0, id);
        }
    }

    fn segment_positions(segment: &mut kadenz_ethercat::sim::Segment) -> Vec<DeviceId> {
        segment.positions(kadenz_ethercat::sim::Side::Primary)
    }

    #[test]
    fn nonsense_is_refused_with_words_and_never_ends_the_segment() {
        let names = names();
        let long = "lose ".repeat(1_000);
        for line in [
            "explode",
            "lose x",
            "lose 0",
            "lose -1",
            "lose 1 2",
            "delay 5",
            "delay",
            "skew 40000",
            "cut",
            "cut 59",
            "cut 'nobody'",
            "cut 'left",
            "flap 1 1",
            "power 1",
            "power 1 maybe",
            "leave 1 OP",
            "leave 1",
            "fail 1 0x10000",
            "drift 1 NaN",
            "drift 1 1e9",
            "chance 2 lose",
            "chance 0.1 cut 1",
            "every 0s lose",
            "every 1s lose 2",
            "every 1s",
            "in lose",
            "truncate -1",
            "garble 256",
            "truncate 0xFFFFFFFFFFFFFFFFFF",
            "lose \u{0}",
            "'",
            "power 'ü' off",
            &long,
        ] {
            let error = parse(line, &names).unwrap_err();
            assert!(!error.is_empty(), "{line}");
        }
    }
}
