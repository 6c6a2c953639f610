//! Brings each device to its wanted state, all of them at once, step by step.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::batch::{AccessId, Batch};
use super::setup_pool::SetupProgress;
use super::{Event, MAX_PAUSE, PollOutcome, SegmentSupervisor, SupervisedDevice};
use crate::description::Hardware;
use crate::main_device::configure::{self, ConfigureError};
use crate::main_device::device::{Piece, SubDevice};
use crate::main_device::exchange::{Exchange, ExchangeResult, Target};
use crate::main_device::mailbox::Numbering;
use crate::main_device::states::longest;
use crate::wire::register::{
    AL_CONTROL, FMMU, FMMU_SIZE, SII_CONFIGURATION, SYNC_MANAGER, SYNC_MANAGER_SIZE,
    WATCHDOG_DEFAULTS,
};
use crate::wire::{AlControl, Configured, Fmmu, State};

/// How long a device must be well before its failures are forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(5);
/// The pause after the second failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// How long an error that was acknowledged may stand, where firmware has to look first.
const GRACE: Duration = Duration::from_millis(100);

/// Zeros for four FMMUs or eight SyncManagers.
const CLEARED_AT_ONCE: [u8; 64] = [0; 64];

/// The next task for a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Nothing,
    /// To wait: the device was asked, or refused, and has its time.
    Wait,
    /// To give up: the device did not reach the state in time.
    GiveUp(State),
    Acknowledge(State),
    RequestState(State, State),
}

fn rank(state: State) -> u8 {
    match state {
        State::Init | State::Bootstrap => 0,
        State::PreOp => 1,
        State::SafeOp => 2,
        State::Op => 3,
    }
}

impl SupervisedDevice {
    fn task(&self, wanted: State, now: MonotonicTime) -> Task {
        let Some(row) = self.row.filter(|_| self.position.is_some()) else {
            return Task::Nothing;
        };
        let Some(state) = row.status.state() else {
            return Task::Wait;
        };
        if now < self.not_before {
            return Task::Wait;
        }
        if row.status.error() {
            return match self.grace {
                Some(until) if now < until => Task::Wait,
                _ => Task::Acknowledge(state),
            };
        }
        if let Some((_, to, until)) = self.pending {
            return if now < until {
                Task::Wait
            } else {
                Task::GiveUp(to)
            };
        }
        match state {
            _ if state == wanted && (self.configured || rank(state) < 2) => Task::Nothing,
            _ if rank(wanted) < rank(state) => Task::RequestState(state, wanted),
            State::Init => Task::RequestState(state, State::PreOp),
            State::PreOp => Task::RequestState(state, State::SafeOp),
            State::SafeOp if self.configured => Task::RequestState(state, State::Op),
            _ => Task::RequestState(state, State::Init),
        }
    }

    /// Counts a failure and sets the time of the next try.
    fn note_failure(&mut self, now: MonotonicTime) {
        self.troubles = self.troubles.saturating_add(1);
        self.well = None;
        if let Some(doublings) = self.troubles.checked_sub(2) {
            let pause = FIRST_PAUSE * (1 << doublings.min(10));
            self.not_before = now + pause.min(MAX_PAUSE);
        }
    }
}

impl SegmentSupervisor {
    /// Takes one step with each device that is not well.
    pub(super) fn recover(&mut self, exchange: &mut dyn Exchange) -> ExchangeResult<PollOutcome> {
        let now = exchange.now();
        let mut batch = self.batch();
        let mut asked = Vec::new();
        for device in 0..self.watched.len() {
            let task = self.watched[device].task(self.wanted(device), now);
            if task != Task::RequestState(State::PreOp, State::SafeOp) {
                self.pool.end(device);
                self.watched[device].set_up = false;
            }
            // Another thread may have the device that is to be asked: no further one gets it before.
            if !matches!(task, Task::RequestState(..)) {
                self.device_table.set_up(device, false);
            }
            match task {
                Task::Nothing => self.reset_failures(device, now),
                // The device has its time; further looks would delay other questions.
                Task::Wait => {}
                Task::GiveUp(to) => self.give_up(device, to, now),
                Task::Acknowledge(state) => {
                    let from = batch.next();
                    // A device without firmware shows the acknowledgement itself as an error, until it is
                    // asked for its state without one.
                    let watched = &mut self.watched[device];
                    let again = std::mem::replace(&mut watched.acknowledged, true);
                    watched.acknowledged &= !again || watched.has_firmware;
                    let control = match again && !watched.has_firmware {
                        true => AlControl::request(state),
                        false => AlControl::acknowledge(state),
                    };
                    self.write(&mut batch, device, &control);
                    asked.push((device, state, state, from, batch.next()));
                }
                Task::RequestState(State::PreOp, State::SafeOp) if !self.is_set_up(device, now) => {
                }
                Task::RequestState(from, to) => {
                    if let Some(first) = self.prepare(&mut batch, device, (from, to), now) {
                        asked.push((device, from, to, first, batch.next()));
                    }
                }
            }
        }
        batch.send(exchange)?;
        let now = exchange.now();
        for (device, from, to, first, behind) in &asked {
            let did = batch.all_did(*first, *behind);
            self.note_asked(*device, *from, *to, did, now);
        }
        Ok(match asked.is_empty() {
            true => PollOutcome::Calm,
            false => PollOutcome::Moving,
        })
    }

    fn reset_failures(&mut self, device: usize, now: MonotonicTime) {
        let watched = &mut self.watched[device];
        if watched.position.is_none() {
            return;
        }
        match watched.well {
            None => watched.well = Some(now),
            Some(since) if now >= since + FORGOTTEN_AFTER => watched.troubles = 0,
            Some(_) => {}
        }
    }

    fn give_up(&mut self, device: usize, to: State, now: MonotonicTime) {
        let watched = &mut self.watched[device];
        watched.pending = None;
        watched.note_failure(now);
        let (wanted, tries) = (to.number(), watched.troubles);
        self.report(device, now, Event::Stuck { wanted, tries });
    }

    fn note_asked(&mut self, device: usize, from: State, to: State, did: bool, now: MonotonicTime) {
        let watched = &mut self.watched[device];
        if !did || from == to {
            watched.note_failure(now);
            watched.grace = (did && watched.has_firmware).then(|| now + GRACE);
            let (wanted, tries) = (to.number(), watched.troubles);
            if tries >= 8 && tries.is_power_of_two() {
                self.report(device, now, Event::Stuck { wanted, tries });
            }
            return;
        }
        watched.pending = Some((from, to, now + longest(to)));
        match to {
            State::SafeOp if from == State::PreOp => watched.configured = true,
            State::Init => watched.configured = false,
            _ => {}
        }
    }

    fn write(&self, batch: &mut Batch, device: usize, control: &AlControl) {
        batch.together();
        batch.write(self.target(device), AL_CONTROL, &control.0.to_le_bytes());
    }

    fn target(&self, device: usize) -> Target {
        Target::Of(Configured(self.watched[device].label.station))
    }

    /// Whether a device in PREOP has its user's set-up; begins that where it has not begun.
    fn is_set_up(&mut self, device: usize, now: MonotonicTime) -> bool {
        if !self.watched[device].set_up {
            match self.pool.progress(device) {
                SetupProgress::Done => self.watched[device].set_up = true,
                SetupProgress::UnderWay => {}
                SetupProgress::Failed(error) => self.note_failed(device, &error, now),
            }
        }
        self.watched[device].set_up
    }

    fn note_failed(&mut self, device: usize, error: &ConfigureError, now: MonotonicTime) {
        self.watched[device].note_failure(now);
        let why = error.to_string();
        self.report(device, now, Event::Setup { why });
    }

    /// Writes all settings for a change of state, and requests it; returns the number of the first access
    /// that must be answered. `None` where it could not be prepared, or another thread has the device just
    /// now; then no further thread gets the device before the supervisor.
    fn prepare(
        &mut self,
        batch: &mut Batch,
        device: usize,
        (from, to): (State, State),
        now: MonotonicTime,
    ) -> Option<AccessId> {
        let share = self.watched[device].share.clone();
        let prepared = self.device_table.try_with(device, |it| match (from, to) {
            (State::Init, State::PreOp) => {
                clear(batch, it);
                batch.together();
                let first = batch.next();
                mailboxes(batch, it);
                Ok(first)
            }
            (State::PreOp, State::SafeOp) => {
                let fmmus = configure::mapping(it, &share)?;
                let first = batch.next();
                process_data(batch, it, &fmmus);
                batch.together();
                it.process_data.fmmus = fmmus;
                Ok(first)
            }
            _ => {
                batch.together();
                Ok(batch.next())
            }
        });
        self.device_table.set_up(device, prepared.is_none());
        match prepared? {
            Ok(first) => {
                let control = AlControl::request(to).0.to_le_bytes();
                batch.write(self.target(device), AL_CONTROL, &control);
                Some(first)
            }
            Err(error) => {
                self.note_failed(device, &error, now);
                None
            }
        }
    }

    /// Takes an unknown device out of the process data: another MainDevice may have mapped it to logical addresses of
    /// ours, and brought it to OP.
    pub(super) fn leave_unconfigured(
        &self,
        exchange: &mut dyn Exchange,
        station: Configured,
    ) -> ExchangeResult {
        let target = Target::Of(station);
        let mut batch = self.batch();
        // One by one, so that their frames fit beside the process data of a short cycle, too.
        for number in 0..u16::from(Hardware::MAX) {
            batch.together();
            let register = FMMU + number * FMMU_SIZE;
            batch.write(target, register, &[0; FMMU_SIZE as usize]);
        }
        batch.together();
        let request = AlControl::request(State::Init).0.to_le_bytes();
        batch.write(target, AL_CONTROL, &request);
        batch.send(exchange)
    }
}

/// Clears an earlier configuration. Not every controller has all of these registers, so that nothing checks that they
/// were written: what is used is written again on the way to OP. Writes that need not share a frame are groups of their
/// own, so that each fits beside the process data of a short cycle.
fn clear(batch: &mut Batch, device: &SubDevice) {
    let fmmus = u16::from(device.fmmus.min(Hardware::MAX)) * FMMU_SIZE;
    let managers = u16::from(device.sync_managers.min(Hardware::MAX)) * SYNC_MANAGER_SIZE;
    for (register, length) in [(FMMU, fmmus), (SYNC_MANAGER, managers)] {
        for start in (0..length).step_by(CLEARED_AT_ONCE.len()) {
            let rest = usize::from(length - start);
            let zeros = &CLEARED_AT_ONCE[..rest.min(CLEARED_AT_ONCE.len())];
            batch.together();
            batch.write(device.target(), register + start, zeros);
        }
    }
    batch.together();
    for (register, value) in WATCHDOG_DEFAULTS {
        batch.write(device.target(), register, &value.to_le_bytes());
    }
}

fn mailboxes(batch: &mut Batch, device: &mut SubDevice) {
    if !device.has_mailbox() {
        return;
    }
    device.counter = Numbering::fresh();
    for piece in device.mailbox_managers() {
        sync_manager(batch, device, piece);
    }
    // From PREOP on the application may want its EEPROM.
    batch.write(device.target(), SII_CONFIGURATION, &[1]);
}

fn process_data(batch: &mut Batch, device: &SubDevice, fmmus: &[Fmmu]) {
    let data = &device.process_data;
    for piece in data.outputs.iter().chain(&data.inputs) {
        batch.together();
        sync_manager(batch, device, *piece);
    }
    for (number, fmmu) in (0_u16..).zip(fmmus) {
        let register = FMMU + number * FMMU_SIZE;
        batch.together();
        batch.write(device.target(), register, &fmmu.to_bytes());
    }
}

fn sync_manager(batch: &mut Batch, device: &SubDevice, piece: Piece) {
    batch.write(device.target(), piece.register(), &piece.manager.to_bytes());
}
