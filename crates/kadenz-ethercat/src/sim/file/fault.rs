//! Faults in the file's notation.

use std::ops::Range;

use toml::Spanned;

use super::FileError;
use super::check::{Checker, RING};
use super::text::{self, TomlNumber};
use crate::sim::Time;
use crate::sim::fault::{Fault, FrameFault, Planned, When, WireFault};
use crate::sim::{CableId, DeviceId, is_same};
use crate::wire::{AlStatusCode, State};

/// The words for faults, each with the keys that it takes besides those for its time.
pub(super) const KNOWN: [(&str, &[&str]); 17] = [
    ("lose", &["after"]),
    ("corrupt", &["after"]),
    ("garble", &["value"]),
    ("truncate", &["value"]),
    ("delay", &["value"]),
    ("duplicate", &["value"]),
    ("skew", &["value"]),
    ("cut", &["device"]),
    ("heal", &["device"]),
    ("flap", &["device", "value"]),
    ("power-off", &["device"]),
    ("power-on", &["device"]),
    ("power-cycle", &["device", "value"]),
    ("leave", &["device", "state", "value"]),
    ("fail", &["device", "value"]),
    ("drift", &["device", "value"]),
    ("spoil", &["device", "address", "value"]),
];

/// The meanings of a `value`.
const VALUES: &str = "value is ns for delay and duplicate, ms for flap and power-cycle, bits for garble, bytes for truncate, a difference for skew, an AL status code for leave, an error code for fail, ppm for drift, a byte for spoil; after is a number of devices, address a byte's place";

impl Checker<'_> {
    pub(super) fn fault(
        &self,
        written: &Spanned<text::FaultSection>,
    ) -> Result<Planned, FileError> {
        let fault = written.get_ref();
        let at = written.span();
        self.ensure_keys(fault)?;
        let (when, frames) = self.when(fault, at.clone())?;
        let fault = FaultParser {
            checker: self,
            fault,
            at: at.clone(),
        }
        .what()?;
        let by_time = matches!(when, When::At(_) | When::Every { .. } | When::Frame(_));
        if matches!(fault, Fault::Wire(_)) && !(by_time && frames == 1) {
            let cause = "it is not a valid fault of frames";
            let remedy = "write at_ms, every_ms or frame alone; frames, for_ms and chance are for those of frames";
            return Err(self.error(Some(at), cause, remedy));
        }
        Ok(Planned {
            when,
            fault,
            frames,
        })
    }

    /// Checks that the fault is known, and takes all the given keys.
    fn ensure_keys(&self, fault: &text::FaultSection) -> Result<(), FileError> {
        let name = fault.what.get_ref().as_str();
        let Some((_, takes)) = KNOWN.iter().find(|it| it.0 == name) else {
            let all = KNOWN.map(|it| it.0);
            let cause = format!("there is no fault \"{name}\"");
            let remedy = format!("there are {}", all.join(", "));
            return Err(self.error(Some(fault.what.span()), cause, remedy));
        };
        let given = [
            ("device", fault.device.as_ref().map(Spanned::span)),
            ("after", fault.after.as_ref().map(Spanned::span)),
            ("state", fault.state.as_ref().map(Spanned::span)),
            ("address", fault.address.as_ref().map(Spanned::span)),
            ("value", fault.value.as_ref().map(Spanned::span)),
        ];
        for (key, at) in given {
            if at.is_some() && !takes.contains(&key) {
                let cause = format!("\"{name}\" has no `{key}`");
                let remedy = format!("remove it; \"{name}\" takes {}", takes.join(", "));
                return Err(self.error(at, cause, remedy));
            }
        }
        Ok(())
    }

    fn ensure_numbers(&self, fault: &text::FaultSection) -> Result<(), FileError> {
        for zero in [&fault.frame, &fault.frames].into_iter().flatten() {
            if *zero.get_ref() == 0 {
                let cause = "frames count from 1, and a fault strikes at least one";
                return Err(self.error(Some(zero.span()), cause, "write 1 or more"));
            }
        }
        match &fault.chance {
            Some(chance) if !(0.0..=1.0).contains(chance.get_ref()) => {
                let cause = "it is not a valid probability";
                Err(self.error(Some(chance.span()), cause, "write 0 to 1"))
            }
            _ => Ok(()),
        }
    }

    /// When the fault strikes, and how many frames in a row.
    fn when(&self, fault: &text::FaultSection, at: Range<usize>) -> Result<(When, u64), FileError> {
        self.ensure_numbers(fault)?;
        let span = |written: &Option<Spanned<TomlNumber>>| match written {
            None => Ok(None),
            Some(number) => number.get_ref().ms().map(Some).ok_or_else(|| {
                let remedy = "write milliseconds from 0 on, up to 26 days with a point";
                self.error(Some(number.span()), "it is not a valid span", remedy)
            }),
        };
        let (start, every, lasts) = (
            span(&fault.at_ms)?,
            span(&fault.every_ms)?,
            span(&fault.for_ms)?,
        );
        let frame = fault.frame.as_ref().map(|it| *it.get_ref());
        let frames = fault.frames.as_ref().map(|it| *it.get_ref());
        let chance = fault.chance.as_ref().map(|it| *it.get_ref());
        let in_a_row = frames.unwrap_or(1);
        let when = match (start, every, frame, lasts.is_some() || chance.is_some()) {
            (Some(start), None, None, false) => When::At(Time(start)),
            (None, Some(period), None, false) if period > 0 => When::Every {
                first: Time(period),
                period,
            },
            (None, None, Some(first), false) => match in_a_row {
                1 => When::Frame(first),
                _ => return Ok((When::Frames(first, first.saturating_add(in_a_row)), 1)),
            },
            (start, None, None, true) if frames.is_none() => {
                return Ok((during(start, lasts, chance), 1));
            }
            _ => {
                let cause = "the fault does not say when";
                let remedy = "write one of at_ms, every_ms and frame, perhaps with frames = how many in a row; or chance or for_ms, perhaps with at_ms";
                return Err(self.error(Some(at), cause, remedy));
            }
        };
        Ok((when, in_a_row))
    }
}

/// All frames of a time, or a random part of them.
fn during(start: Option<u64>, lasts: Option<u64>, chance: Option<f64>) -> When {
    if let (None, None, Some(probability)) = (start, lasts, chance) {
        return When::Chance(probability);
    }
    let from = Time(start.unwrap_or(0));
    When::During {
        from,
        until: lasts.map_or(Time::NEVER, |it| from.after(it)),
        probability: chance.unwrap_or(1.0),
    }
}

/// Makes a fault of a section of the file.
struct FaultParser<'c, 't> {
    checker: &'c Checker<'t>,
    fault: &'c text::FaultSection,
    at: Range<usize>,
}

impl FaultParser<'_, '_> {
    fn what(&self) -> Result<Fault, FileError> {
        let frame = match self.fault.what.get_ref().as_str() {
            "lose" => self.after().map(|after| FrameFault::Lose { after })?,
            "corrupt" => self.after().map(|after| FrameFault::Corrupt { after })?,
            "garble" => self.value().map(|bits| FrameFault::Garble { bits })?,
            "truncate" => self.value().map(|length| FrameFault::Truncate { length })?,
            "delay" => FrameFault::Delay { ns: self.value()? },
            "duplicate" => FrameFault::Duplicate { ns: self.value()? },
            "skew" => FrameFault::Skew { by: self.value()? },
            other => return self.of_wire(other).map(Fault::Wire),
        };
        Ok(Fault::Frame(frame))
    }

    fn of_wire(&self, what: &str) -> Result<WireFault, FileError> {
        Ok(match what {
            "cut" => WireFault::Cut(self.cable()?),
            "heal" => WireFault::Heal(self.cable()?),
            "flap" => WireFault::Flap(self.cable()?, self.ms()?),
            "power-off" => WireFault::PowerOff(self.device()?),
            "power-on" => WireFault::PowerOn(self.device()?),
            "power-cycle" => WireFault::PowerCycle(self.device()?, self.ms()?),
            "leave" => {
                let code = match self.fault.value {
                    Some(_) => AlStatusCode(self.value()?),
                    None => AlStatusCode::UNSPECIFIED,
                };
                WireFault::Leave(self.device()?, self.state()?, code)
            }
            "fail" => WireFault::Fail(self.device()?, self.value()?),
            "drift" => WireFault::Drift(self.device()?, self.ppm()?),
            // The check of the keys admits no other fault.
            _ => WireFault::Spoil(
                self.device()?,
                self.fits(self.fault.address.as_ref())?,
                self.value()?,
            ),
        })
    }

    fn wrong(&self, cause: &str) -> FileError {
        let cause = format!("\"{}\" {cause}", self.fault.what.get_ref());
        let at = self.fault.value.as_ref();
        let at = at.map_or_else(|| self.at.clone(), Spanned::span);
        self.checker.error(Some(at), cause, VALUES)
    }

    fn fits<T: TryFrom<i64>>(&self, number: Option<&Spanned<TomlNumber>>) -> Result<T, FileError> {
        number
            .and_then(|it| it.get_ref().whole())
            .ok_or_else(|| self.wrong("needs a number that fits"))
    }

    fn value<T: TryFrom<i64>>(&self) -> Result<T, FileError> {
        self.fits(self.fault.value.as_ref())
    }

    /// Milliseconds, in ns.
    fn ms(&self) -> Result<u64, FileError> {
        let value = self.fault.value.as_ref().and_then(|it| it.get_ref().ms());
        value.ok_or_else(|| self.wrong("needs milliseconds"))
    }

    fn ppm(&self) -> Result<f64, FileError> {
        let value = self.fault.value.as_ref().map(|it| it.get_ref().real());
        value
            .filter(|it| it.abs() <= 10_000.0)
            .ok_or_else(|| self.wrong("needs parts per million, at most 10000"))
    }

    fn after(&self) -> Result<Option<u16>, FileError> {
        let after = self.fault.after.as_ref();
        after.map(|it| self.fits(Some(it))).transpose()
    }

    fn state(&self) -> Result<State, FileError> {
        let state = self.fault.state.as_ref();
        state
            .and_then(|it| State::from_name(it.get_ref()))
            .filter(|it| [State::Init, State::PreOp, State::SafeOp].contains(it))
            .ok_or_else(|| {
                let at = state.map_or_else(|| self.at.clone(), Spanned::span);
                let cause = "a device leaves for a state below OP";
                let remedy = "write state = \"INIT\", \"PREOP\" or \"SAFEOP\"";
                self.checker.error(Some(at), cause, remedy)
            })
    }

    /// The place of a device in the file.
    fn place(&self) -> Result<u16, FileError> {
        let name = self.fault.device.as_ref();
        let found = name.and_then(|it| self.checker.place(it.get_ref()));
        let found = found.and_then(|it| u16::try_from(it).ok());
        found.ok_or_else(|| {
            let at = name.map_or_else(|| self.at.clone(), Spanned::span);
            let remedy = "write device = \"...\" as above";
            let cause = name.map_or_else(
                || "it names no device".to_owned(),
                |it| format!("no device is named \"{}\"", it.get_ref()),
            );
            self.checker.error(Some(at), cause, remedy)
        })
    }

    fn device(&self) -> Result<DeviceId, FileError> {
        self.place().map(DeviceId)
    }

    /// The cable before a device, or the one that closes a ring.
    fn cable(&self) -> Result<CableId, FileError> {
        let named = self.fault.device.as_ref();
        if self.checker.has_ring && named.is_some_and(|it| is_same(it.get_ref(), RING)) {
            return Ok(CableId(self.checker.devices.len() as u16));
        }
        self.place().map(CableId)
    }
}
