//! The state machine of the application layer (ETG.1000.6, chapter 6.4).

use super::SubDeviceController;
use super::memory::Memory;
use crate::sim::{Decision, Pdi, StateChange, Time};
use crate::wire::register::{
    self, WATCHDOG_DIVIDER, WATCHDOG_PDI, WATCHDOG_PROCESS_DATA, WATCHDOG_PROCESS_DATA_COUNT,
    WATCHDOG_STATUS,
};
use crate::wire::{AlControl, AlStatus, AlStatusCode, State};

/// Bit of AL control and AL status: the status code holds the device's identification.
const IDENTIFICATION: u16 = 1 << 5;

/// Whether the state machine has such a step. Every state below can be reached.
fn legal(from: State, to: State) -> bool {
    use State::{Bootstrap, Init, Op, PreOp, SafeOp};
    match (from, to) {
        (Init, PreOp | Bootstrap) | (PreOp, SafeOp) | (SafeOp, Op) => true,
        (_, Init) => true,
        (SafeOp | Op, PreOp) | (Op, SafeOp) => true,
        (from, to) => from == to,
    }
}

impl SubDeviceController {
    /// Handles AL control, which was written and which the application now reads.
    pub(super) fn handle_al_control(&mut self) {
        (self.chip.unread, self.chip.looks_at) = (false, Time::NEVER);
        let raw = self.chip.memory.u16(register::AL_CONTROL);
        let control = AlControl(raw);
        if self.chip.emulates() {
            return self.emulate(control);
        }
        let asked = control.state();
        // Firmware with an error takes no other request than INIT without an acknowledgement (Beckhoff's slave stack
        // code 5, `AL_ControlInd`).
        if self.chip.error && !control.acknowledges() && asked != Some(State::Init) {
            return;
        }
        let Some(asked) = asked else {
            return self.refuse(AlStatusCode::UNKNOWN_STATE);
        };
        if !legal(self.chip.state, asked) {
            return self.refuse(AlStatusCode::INVALID_CHANGE);
        }
        (self.chip.asked, self.chip.settled) = (None, None);
        if asked == self.chip.state {
            self.chip.show(None);
        } else {
            self.ask(asked);
        }
        if raw & IDENTIFICATION != 0 && !self.chip.error {
            self.identify();
        }
    }

    /// Without firmware, the status is a copy of the request, bit by bit, so that an acknowledgement looks like an
    /// error until the next request. Real controllers behave so (`conformance/ethercat/captures`).
    fn emulate(&mut self, control: AlControl) {
        let from = self.chip.state;
        self.chip.state = control.state().unwrap_or(from);
        self.chip.show(None);
        let status = AlStatus::new(self.chip.state, control.acknowledges());
        self.chip.memory.set_u16(register::AL_STATUS, status.0);
        self.notify_change(from);
    }

    fn ask(&mut self, to: State) {
        let change = StateChange {
            from: self.chip.state,
            to,
        };
        self.chip.show(None);
        self.chip.asked = Some(to);
        match self.application.change(change, &mut self.chip) {
            Decision::Accept => self.chip.settled = Some(Ok(())),
            Decision::Refuse(code) => self.chip.settled = Some(Err(code)),
            Decision::Later => {}
        }
        self.settle();
    }

    /// Applies the application's decision, where there is one.
    pub(super) fn settle(&mut self) {
        let (Some(to), Some(result)) = (self.chip.asked, self.chip.settled.take()) else {
            return;
        };
        self.chip.asked = None;
        match result {
            Ok(()) => {
                let from = std::mem::replace(&mut self.chip.state, to);
                self.chip.show(None);
                self.notify_change(from);
            }
            Err(code) => self.refuse(code),
        }
    }

    fn refuse(&mut self, code: AlStatusCode) {
        self.chip.show(Some(code));
    }

    /// Notifies the application of a changed state.
    pub(super) fn notify_change(&mut self, from: State) {
        let to = self.chip.state;
        if from == to {
            return;
        }
        if to == State::Init {
            self.chip.outbox.clear();
        }
        self.application.changed(from, to, &mut self.chip);
    }

    fn identify(&mut self) {
        if let Some(number) = self.application.identification() {
            let status = AlStatus::new(self.chip.state, false).0 | IDENTIFICATION;
            self.chip.memory.set_u16(register::AL_STATUS, status);
            self.chip.memory.set_u16(register::AL_STATUS_CODE, number);
        }
    }

    /// Leaves a state as the device itself would: by a script or a user's command.
    pub(crate) fn leave(&mut self, to: State, code: AlStatusCode) {
        self.chip.leave(to, code);
        self.after_call();
    }
}

// The process data watchdog, which detects late outputs.

/// The state of the watchdog.
#[derive(Debug)]
pub(super) struct Watchdog {
    due: Time,
}

impl Watchdog {
    pub(super) fn new() -> Self {
        Self { due: Time::NEVER }
    }

    /// Resets it as at power on: ticks of 100 us, both watchdogs at 100 ms, not yet fed.
    pub(super) fn reset(&mut self, memory: &mut Memory) {
        self.due = Time::NEVER;
        memory.set_u16(WATCHDOG_DIVIDER, 2498);
        memory.set_u16(WATCHDOG_PDI, 1000);
        memory.set_u16(WATCHDOG_PROCESS_DATA, 1000);
    }

    /// Outputs arrived.
    pub(super) fn feed(&mut self, memory: &mut Memory, now: Time) {
        let ticks = u64::from(memory.u16(WATCHDOG_PROCESS_DATA));
        let tick_ns = (u64::from(memory.u16(WATCHDOG_DIVIDER)) + 2) * 40;
        self.due = match ticks {
            0 => Time::NEVER,
            _ => now.after(ticks * tick_ns),
        };
        memory.set_u16(WATCHDOG_STATUS, 1);
    }

    /// The registers were written: a running watchdog takes the new time, and 0 switches it off.
    pub(super) fn reload(&mut self, memory: &mut Memory, now: Time) {
        if self.due != Time::NEVER || memory.u16(WATCHDOG_PROCESS_DATA) == 0 {
            self.feed(memory, now);
        }
    }

    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// No outputs came in time.
    pub(super) fn expire(&mut self, memory: &mut Memory) {
        self.due = Time::NEVER;
        memory.set_u16(WATCHDOG_STATUS, 0);
        memory.count(WATCHDOG_PROCESS_DATA_COUNT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_expires_when_the_registers_say_and_is_off_at_zero() {
        let (mut memory, mut watchdog) = (Memory::new(1), Watchdog::new());
        watchdog.reset(&mut memory);
        assert_eq!(watchdog.due(), Time::NEVER, "not before it was fed once");
        watchdog.feed(&mut memory, Time(7));
        assert_eq!(watchdog.due(), Time(100_000_007));
        watchdog.expire(&mut memory);
        assert_eq!(memory.u16(WATCHDOG_STATUS), 0);
        assert_eq!(memory.u8(WATCHDOG_PROCESS_DATA_COUNT), 1);
        memory.set_u16(WATCHDOG_PROCESS_DATA, 0);
        watchdog.reload(&mut memory, Time(8));
        assert_eq!(
            (watchdog.due(), memory.u16(WATCHDOG_STATUS)),
            (Time::NEVER, 1)
        );
    }
}
