//! The state machine of the application layer (ETG.1000.6, chapter 6.4).

use super::Controller;
use super::pdi::rank;
use crate::sim::{Change, Decision, Pdi, Time};
use crate::wire::{AlControl, AlStatus, AlStatusCode, State, register};

/// Bit of AL control and AL status: the device's identification stands in the status code.
const IDENTIFICATION: u16 = 1 << 5;

/// Whether the state machine has such a step. Downwards every state is reached.
fn legal(from: State, to: State) -> bool {
    use State::{Bootstrap, Init, Op, PreOp, SafeOp};
    match (from, to) {
        (Init, PreOp | Bootstrap) | (PreOp, SafeOp) | (SafeOp, Op) => true,
        (_, Init) => true,
        (SafeOp | Op, PreOp) | (Op, SafeOp) => true,
        (from, to) => from == to,
    }
}

impl Controller {
    /// AL control was written, and the application looks at it.
    pub(super) fn obey_al_control(&mut self) {
        (self.chip.unread, self.chip.looks_at) = (false, Time::NEVER);
        let raw = self.chip.memory.u16(register::AL_CONTROL);
        let control = AlControl(raw);
        if self.chip.emulates() {
            return self.emulate(control);
        }
        let Some(asked) = control.state() else {
            return self.refuse(AlStatusCode::UNKNOWN_STATE);
        };
        let unacknowledged = self.chip.error && !control.acknowledges();
        if unacknowledged && rank(asked) > rank(self.chip.state) {
            return;
        }
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

    /// No firmware: the status is what was asked for, bit by bit, so that an acknowledgement looks like an
    /// error until the next request. Real ones do so (`conformance/ethercat/captures`).
    fn emulate(&mut self, control: AlControl) {
        let from = self.chip.state;
        self.chip.state = control.state().unwrap_or(from);
        self.chip.show(None);
        let status = AlStatus::new(self.chip.state, control.acknowledges());
        self.chip.memory.set_u16(register::AL_STATUS, status.0);
        self.tell_change(from);
    }

    fn ask(&mut self, to: State) {
        let change = Change {
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

    /// Takes over what the application decided, where it did.
    pub(super) fn settle(&mut self) {
        let (Some(to), Some(result)) = (self.chip.asked, self.chip.settled.take()) else {
            return;
        };
        self.chip.asked = None;
        match result {
            Ok(()) => {
                let from = std::mem::replace(&mut self.chip.state, to);
                self.chip.show(None);
                self.tell_change(from);
            }
            Err(code) => self.refuse(code),
        }
    }

    fn refuse(&mut self, code: AlStatusCode) {
        self.chip.show(Some(code));
    }

    /// Tells the application that the state is another.
    pub(super) fn tell_change(&mut self, from: State) {
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

    /// Leaves a state as if the device had: by a script or a user's command.
    pub fn leave(&mut self, to: State, code: AlStatusCode) {
        self.chip.leave(to, code);
        self.after_call();
    }
}
