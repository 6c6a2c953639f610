//! The change from SAFEOP to OP, by the loop.

use std::ops::ControlFlow;

use super::{Controller, CycleContext, CycleReport, Loop, LoopSettings, Overrun, Timekeeper};
use crate::main_device::exchange::{BlockingExchange, ExchangeError, Registers, Target};
use crate::main_device::states::longest;
use crate::port::Port;
use crate::wire::register::AL_CONTROL;
use crate::wire::{AlControl, AlStatus, State};

/// Cycles before the request for OP: devices want outputs first (ETG.1020, SAFEOP to OP).
const BEFORE: u64 = 10;

/// The reason why the segment is not in OP.
#[derive(Debug, thiserror::Error)]
pub enum NotInOp {
    /// The segment did not answer.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// A device refused, or did not reach OP.
    #[error(
        "{count} of {wanted} devices answer, and their states together are 0x{states:02X}, not 0x08; ask each for its AL status code"
    )]
    States {
        /// Number of devices that answer.
        count: u16,
        /// Devices that the segment should have.
        wanted: u16,
        /// The AL states of all devices, ORed.
        states: u16,
    },
}

/// Requests OP and runs the loop until all `devices` are in OP; waits between cycles as the loop does.
/// For programs without a supervisor, such as an experiment or a test. Outputs stay as they are.
///
/// # Errors
/// [`NotInOp`], after 10 s of the port's time at the latest.
///
/// # Real-time safety
/// Not real-time safe: it waits for the devices, for seconds.
pub fn operate<P: Port>(
    bus: &mut Loop<'_, P>,
    devices: u16,
    settings: &LoopSettings,
    time: &mut impl Timekeeper<P>,
) -> Result<(), NotInOp> {
    let settings = LoopSettings {
        overrun: Overrun::Skip,
        start: None,
        ..*settings
    };
    let some = LoopSettings {
        cycles: Some(BEFORE),
        ..settings
    };
    bus.run(&some, time, &mut (), &mut ());
    let mut exchange = BlockingExchange::over(bus.link);
    let op = AlControl::request(State::Op).0;
    Registers::by(&mut exchange).put_u16(Target::All(devices), AL_CONTROL, op)?;
    let mut wait = Wait {
        devices,
        seen: (AlStatus(0), 0),
        end: bus.link.now() + longest(State::Op),
    };
    let all = LoopSettings {
        cycles: None,
        ..settings
    };
    bus.run(&all, time, &mut wait, &mut |_: &CycleReport<'_>| ());
    match wait.look() {
        ControlFlow::Break(true) => Ok(()),
        _ => Err(NotInOp::States {
            count: wait.seen.1,
            wanted: devices,
            states: wait.seen.0.0,
        }),
    }
}

/// Ends the loop when all are in OP, one refused, or it takes too long.
struct Wait {
    devices: u16,
    seen: (AlStatus, u16),
    end: kadenz_rt::clock::MonotonicTime,
}

impl Wait {
    /// Whether the wait is over, and with success.
    fn look(&self) -> ControlFlow<bool> {
        let (status, count) = self.seen;
        match (status.state(), status.error()) {
            (_, true) => ControlFlow::Break(false),
            (Some(State::Op), false) if count == self.devices => ControlFlow::Break(true),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Controller for Wait {
    fn beat(&mut self, context: &mut CycleContext<'_>) {
        if let Some(states) = context.outcome().and_then(|it| it.states) {
            self.seen = states;
        }
        if self.look().is_break() || context.woken() >= self.end {
            context.stop();
        }
    }
}
