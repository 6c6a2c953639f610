//! What the application sees of its controller.

use super::chip::Chip;
use super::guard::Guards;
use crate::sim::{AccessError, Pdi, SendError, Time};
use crate::wire::sync_manager::{Direction, Mode};
use crate::wire::{AlStatusCode, State, SyncManager, register};

/// How high a state is.
pub(super) const fn rank(state: State) -> u8 {
    match state {
        State::Init => 0,
        State::PreOp | State::Bootstrap => 1,
        State::SafeOp => 2,
        State::Op => 3,
    }
}

impl Chip {
    /// Whether process data goes this way through a SyncManager.
    fn check(&self, number: u8, wanted: Direction) -> Result<usize, AccessError> {
        let at = usize::from(number);
        if at >= self.guards.count() {
            return Err(AccessError::Absent(number));
        }
        match self.guards.kind(at) {
            None => Err(AccessError::Inactive(number)),
            Some((Mode::Mailbox, _)) => Err(AccessError::Mailbox(number)),
            Some((_, direction)) if direction != wanted => Err(AccessError::Direction(number)),
            Some(_) => Ok(at),
        }
    }
}

impl Pdi for Chip {
    fn now(&self) -> Time {
        self.now
    }

    fn system_time(&self) -> u64 {
        if self.hardware.has_clock() {
            self.clock.system(&self.memory, self.now)
        } else {
            self.clock.local(self.now)
        }
    }

    fn state(&self) -> State {
        self.state
    }

    fn settle(&mut self, result: Result<(), AlStatusCode>) {
        if self.asked.is_some() {
            self.settled = Some(result);
        }
    }

    fn leave(&mut self, to: State, code: AlStatusCode) {
        if rank(to) >= rank(self.state) {
            return;
        }
        let from = self.left.map_or(self.state, |it| it.0);
        self.left = Some((from, to));
        (self.asked, self.settled) = (None, None);
        self.state = to;
        self.show(Some(code));
    }

    fn sync_manager(&self, number: u8) -> Option<SyncManager> {
        let exists = usize::from(number) < self.guards.count();
        exists.then(|| Guards::settings(&self.memory, number.into()))
    }

    fn outputs(&mut self, number: u8, into: &mut [u8]) -> Result<usize, AccessError> {
        let at = self.check(number, Direction::Write)?;
        let Some(outputs) = self.guards.outputs(&mut self.memory, at) else {
            return Err(AccessError::Inactive(number));
        };
        let length = outputs.len().min(into.len());
        into[..length].copy_from_slice(&outputs[..length]);
        Ok(length)
    }

    fn set_inputs(&mut self, number: u8, from: &[u8]) -> Result<(), AccessError> {
        let at = self.check(number, Direction::Read)?;
        self.guards.set_inputs(&mut self.memory, at, from);
        Ok(())
    }

    fn send(&mut self, message: &[u8], after: u64) -> Result<(), SendError> {
        let room = self.guards.answers().map_or(0, |it| it.1);
        if message.is_empty() || message.len() > room {
            return Err(SendError::TooLong {
                length: message.len(),
                room,
            });
        }
        if self.outbox.push(message, self.now.after(after)) {
            Ok(())
        } else {
            Err(SendError::Full(super::outbox::CAPACITY))
        }
    }

    fn room(&self) -> usize {
        self.outbox.room()
    }

    fn peek(&self, address: u16, into: &mut [u8]) {
        let there = self.memory.end().saturating_sub(address.into()) as usize;
        let (known, beyond) = into.split_at_mut(there.min(into.len()));
        known.copy_from_slice(self.memory.at(address.into(), known.len()));
        beyond.fill(0);
    }

    fn poke(&mut self, address: u16, from: &[u8]) {
        let there = self.memory.end().saturating_sub(address.into()) as usize;
        let length = there.min(from.len());
        self.memory.set(address, &from[..length]);
    }

    fn sync_cycles(&self) -> (Option<u32>, Option<u32>) {
        self.sync.cycles()
    }

    fn outputs_in_time(&self) -> bool {
        let off = self.memory.u16(register::WATCHDOG_PROCESS_DATA) == 0;
        off || self.memory.u16(register::WATCHDOG_STATUS) & 1 != 0
    }
}
