//! Faults of a segment, by a plan or by command.
//!
//! A plan is a list of faults, each with its time. Chance is seeded: the same plan and the same frames at the same
//! times give the same faults.

use super::{CableId, DeviceId, Random, Time};
use crate::wire::{AlStatusCode, State};

/// A fault of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFault {
    /// The frame gets lost behind so many devices; `None`: on its way back, after all devices.
    Lose {
        /// Devices that still see it.
        after: Option<u16>,
    },
    /// Its check sequence is wrong behind so many devices: those behind ignore and count it, and the receiver drops
    /// it.
    Corrupt {
        /// Devices that still see it intact.
        after: Option<u16>,
    },
    /// Bits of its datagrams flip on the way back, undetected by the check sequence.
    Garble {
        /// Number of bits that flip.
        bits: u8,
    },
    /// Its end is missing.
    Truncate {
        /// Bytes that are left.
        length: u16,
    },
    /// The frame comes late.
    Delay {
        /// By so many ns.
        ns: u64,
    },
    /// The frame comes twice.
    Duplicate {
        /// The second time so many ns later.
        ns: u64,
    },
    /// Working counters are wrong, in all datagrams except those without a command.
    Skew {
        /// The difference; wraps as counters do.
        by: i16,
    },
}

/// A fault of the segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WireFault {
    /// A cable is cut, or pulled out.
    Cut(CableId),
    /// The cable is intact again.
    Heal(CableId),
    /// The cable is cut, and intact again after so many ns.
    Flap(CableId, u64),
    /// A device loses power: the devices behind it are cut off.
    PowerOff(DeviceId),
    /// The device has power again, and starts.
    PowerOn(DeviceId),
    /// The device loses power, and has it again after so many ns.
    PowerCycle(DeviceId, u64),
    /// A device leaves its state without a request.
    Leave(DeviceId, State, AlStatusCode),
    /// Something inside a device fails; see [`Application::fail`](super::Application::fail).
    Fail(DeviceId, u16),
    /// A device's oscillator has another drift, in parts per million.
    Drift(DeviceId, f64),
    /// A byte of a device's SII has another value.
    Spoil(DeviceId, u32, u8),
}

/// A fault of either kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// A fault of a frame.
    Frame(FrameFault),
    /// A fault of the segment.
    Wire(WireFault),
}

/// When a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// Strikes once; a fault of frames strikes the first frame from then on.
    At(Time),
    /// Strikes again and again.
    Every {
        /// The time of the first strike.
        first: Time,
        /// From one to the next, in ns; at least 1.
        period: u64,
    },
    /// Strikes with the frame of that number; the segment's first is 1.
    Frame(u64),
    /// Strikes with all frames from the first number to, not including, the second.
    Frames(u64, u64),
    /// Strikes with each frame, by that probability from 0 to 1.
    Chance(f64),
    /// Strikes by chance with each frame in a time.
    During {
        /// Begin of the time.
        from: Time,
        /// End of the time.
        until: Time,
        /// From 0 to 1.
        probability: f64,
    },
}

/// A line of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planned {
    /// When it strikes, and how often.
    pub when: When,
    /// The fault that strikes then.
    pub fault: Fault,
    /// How many frames in a row it strikes each time, for a fault of frames that strikes by time ([`When::At`],
    /// [`When::Every`]); at least 1.
    pub frames: u64,
}

impl Planned {
    /// A fault that strikes one frame each time.
    #[must_use]
    pub const fn new(when: When, fault: Fault) -> Self {
        Self {
            when,
            fault,
            frames: 1,
        }
    }
}

/// A line of a fault plan, and how many frames it still strikes.
#[derive(Debug, Clone, Copy)]
struct FaultPlanLine {
    id: PlanId,
    planned: Planned,
    /// Frames that remain to be struck this time.
    left: u64,
}

/// Identifies a line of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlanId(u32);

/// Most lines of a plan.
pub const MAX: usize = 4_096;

/// The plan is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a plan has no more than {MAX} faults; remove some")]
pub struct FullError;

/// The planned faults of a segment, and the random numbers that they use.
#[derive(Debug, Clone)]
pub struct FaultPlan {
    lines: Vec<FaultPlanLine>,
    next: u32,
    random: Random,
    /// Empty, with room for all that may strike with one frame.
    room: Vec<WireFault>,
}

impl FaultPlan {
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            lines: Vec::new(),
            next: 0,
            random: Random::new(seed),
            room: Vec::new(),
        }
    }

    /// Adds a fault that strikes one frame each time. Allocates.
    ///
    /// # Errors
    /// [`FullError`] above [`MAX`].
    pub fn add(&mut self, when: When, fault: Fault) -> Result<PlanId, FullError> {
        self.add_line(Planned::new(when, fault))
    }

    /// Adds a line. Allocates.
    ///
    /// # Errors
    /// [`FullError`] above [`MAX`].
    pub(crate) fn add_line(&mut self, planned: Planned) -> Result<PlanId, FullError> {
        if self.lines.len() >= MAX {
            return Err(FullError);
        }
        let id = PlanId(self.next);
        self.next = self.next.wrapping_add(1);
        self.lines.push(FaultPlanLine {
            id,
            planned,
            left: planned.frames.max(1),
        });
        self.room.reserve(self.lines.len());
        Ok(id)
    }

    /// Takes the room for the segment's faults that strike with one frame, so that no frame allocates.
    pub(super) fn take_buffer(&mut self) -> Vec<WireFault> {
        std::mem::take(&mut self.room)
    }

    /// Returns the room, for the next frame.
    pub(super) fn return_buffer(&mut self, mut room: Vec<WireFault>) {
        room.clear();
        self.room = room;
    }

    /// Removes a fault from the plan; returns whether it was there. The effects of past faults stay.
    pub fn remove(&mut self, id: PlanId) -> bool {
        let before = self.lines.len();
        self.lines.retain(|line| line.id != id);
        before != self.lines.len()
    }

    /// Removes all faults from the plan; returns how many there were. The effects of past faults stay.
    pub fn clear(&mut self) -> usize {
        self.lines.drain(..).count()
    }

    /// Whether the plan is empty.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The planned faults, each with its number.
    pub fn lines(&self) -> impl Iterator<Item = (PlanId, Planned)> {
        self.lines.iter().map(|it| (it.id, it.planned))
    }

    /// When the next fault of the segment strikes by time.
    #[must_use]
    pub(crate) fn due(&self) -> Time {
        let of_wire = self
            .lines
            .iter()
            .map(|it| it.planned)
            .filter(|it| matches!(it.fault, Fault::Wire(_)));
        of_wire
            .map(|it| match it.when {
                When::At(at) => at,
                When::Every { first, .. } => first,
                _ => Time::NEVER,
            })
            .min()
            .unwrap_or(Time::NEVER)
    }

    /// Takes a fault of the segment whose time has come: the earliest.
    pub(super) fn take_due_fault(&mut self, now: Time) -> Option<WireFault> {
        let due = self.due();
        if due > now {
            return None;
        }
        let at = self.lines.iter().position(|line| {
            let first = match line.planned.when {
                When::At(at) | When::Every { first: at, .. } => at,
                _ => return false,
            };
            first == due && matches!(line.planned.fault, Fault::Wire(_))
        })?;
        let Fault::Wire(fault) = self.lines[at].planned.fault else {
            return None;
        };
        self.move_on(at, now);
        Some(fault)
    }

    /// Sets the next time of the line at that place, which has struck, or removes it; returns whether it stays.
    fn move_on(&mut self, at: usize, now: Time) -> bool {
        if let When::Every { first, period } = &mut self.lines[at].planned.when {
            let period = (*period).max(1);
            let missed = now.since(*first) / period + 1;
            *first = first.after(missed.saturating_mul(period));
            return true;
        }
        self.lines.remove(at);
        false
    }

    /// Reports the faults that strike a frame, by its number and time.
    pub(super) fn strike(&mut self, frame: u64, now: Time, mut hit: impl FnMut(Fault)) {
        let mut at = 0;
        while at < self.lines.len() {
            let Planned { when, fault, .. } = self.lines[at].planned;
            let of_frame = matches!(fault, Fault::Frame(_));
            let strikes = match when {
                When::At(first) | When::Every { first, .. } => of_frame && first <= now,
                When::Frame(number) => frame == number,
                When::Frames(first, end) => (first..end).contains(&frame),
                When::Chance(probability) => self.random.unit() < probability,
                When::During {
                    from,
                    until,
                    probability,
                } => (from..until).contains(&now) && self.random.unit() < probability,
            };
            if strikes {
                hit(fault);
            }
            let over = match when {
                When::At(_) | When::Every { .. } => strikes && self.spend(at),
                When::Frame(number) => frame >= number,
                When::Frames(_, end) => frame.saturating_add(1) >= end,
                When::Chance(_) => false,
                When::During { until, .. } => now >= until,
            };
            let gone = over && !self.move_on(at, now);
            at += usize::from(!gone);
        }
    }

    /// Counts a struck frame of the line at that place; returns whether it was the last of this time.
    fn spend(&mut self, at: usize) -> bool {
        let line = &mut self.lines[at];
        line.left = line.left.saturating_sub(1);
        if line.left > 0 {
            return false;
        }
        line.left = line.planned.frames.max(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSE: Fault = Fault::Frame(FrameFault::Lose { after: None });

    /// The numbers of the struck frames, at one frame a millisecond.
    fn struck(when: When, frames: u64) -> Vec<u64> {
        struck_by(Planned::new(when, LOSE), frames)
    }

    fn struck_by(planned: Planned, frames: u64) -> Vec<u64> {
        let mut plan = FaultPlan::new(1);
        plan.add_line(planned).unwrap();
        let mut all = Vec::new();
        for frame in 1..=frames {
            plan.strike(frame, Time(frame * 1_000_000), |_| all.push(frame));
        }
        all
    }

    #[test]
    fn a_fault_strikes_when_it_is_planned() {
        assert_eq!(struck(When::Frame(3), 9), [3]);
        assert_eq!(struck(When::Frames(3, 6), 9), [3, 4, 5]);
        assert_eq!(struck(When::At(Time(2_500_000)), 9), [3]);
        let every = When::Every {
            first: Time(2_000_000),
            period: 3_000_000,
        };
        assert_eq!(struck(every, 9), [2, 5, 8]);
        assert!(struck(When::Chance(0.0), 99).is_empty());
        assert_eq!(struck(When::Chance(1.0), 3), [1, 2, 3]);
    }

    #[test]
    fn a_fault_strikes_so_many_frames_in_a_row_or_for_so_long() {
        let at = When::At(Time(2_500_000));
        let every = When::Every {
            first: Time(2_000_000),
            period: 4_000_000,
        };
        let in_a_row = |when, frames| Planned {
            frames,
            ..Planned::new(when, LOSE)
        };
        assert_eq!(struck_by(in_a_row(at, 3), 9), [3, 4, 5]);
        assert_eq!(struck_by(in_a_row(every, 2), 11), [2, 3, 6, 7, 10, 11]);
        assert_eq!(struck_by(in_a_row(at, 0), 9), [3], "none is one");
        let during = |probability| When::During {
            from: Time(3_000_000),
            until: Time(6_000_000),
            probability,
        };
        assert_eq!(struck(during(1.0), 9), [3, 4, 5]);
        assert!(struck(during(0.0), 9).is_empty());
        let mut plan = FaultPlan::new(1);
        plan.add(during(0.0), LOSE).unwrap();
        plan.strike(1, Time(6_000_000), |_| panic!("its time is past"));
        assert!(plan.is_empty());
    }

    #[test]
    fn chance_is_the_same_for_the_same_seed_and_about_right() {
        let some = struck(When::Chance(0.1), 10_000);
        assert_eq!(some, struck(When::Chance(0.1), 10_000));
        assert!((900..1_100).contains(&some.len()), "{}", some.len());
    }

    #[test]
    fn faults_of_the_segment_strike_by_time_without_frames() {
        let mut plan = FaultPlan::new(1);
        let cut = WireFault::Cut(CableId(0));
        plan.add(When::At(Time(5)), Fault::Wire(cut)).unwrap();
        plan.add(When::At(Time(1)), LOSE).unwrap();
        assert_eq!(plan.due(), Time(5), "a frame's fault waits for a frame");
        assert_eq!(plan.take_due_fault(Time(4)), None);
        assert_eq!(plan.take_due_fault(Time(5)), Some(cut));
        assert_eq!(plan.take_due_fault(Time(5)), None);
    }

    #[test]
    fn a_plan_has_an_end() {
        let mut plan = FaultPlan::new(1);
        for _ in 0..MAX {
            plan.add(When::Frame(1), LOSE).unwrap();
        }
        assert_eq!(plan.add(When::Frame(1), LOSE), Err(FullError));
        plan.strike(2, Time::ZERO, |_| panic!("its frame is past"));
        assert!(plan.is_empty());
    }
}
