//! A virtual ESC: the controller of one SubDevice, as a MainDevice sees it on the wire.

mod chip;
mod clock;
mod guard;
mod mapping;
mod memory;
mod outbox;
mod registers;
mod serve;
mod sii;
mod states;
mod sync;

pub use chip::Arrival;
pub(in crate::sim) use serve::Role;

use super::{Application, Model, Pdi, Signal, Time};
use crate::description::Hardware;
use crate::wire::{DlStatus, PortStatus, State, register};
use chip::{Chip, DL_EVENT};
use guard::Happened;

/// How many times of its own a device may have between two looks at it; what is more is left out, so
/// that a hostile cycle of 1 ns costs no more than an honest one.
const MAX_STEPS: u32 = 500;

/// One SubDevice: its controller and what is behind it.
///
/// Passing a datagram allocates nothing. What it brings about in the application, such as an answer to a
/// mailbox message, happens in [`finish_frame`](Self::finish_frame).
pub struct SubDeviceController {
    chip: Chip,
    application: Box<dyn Application>,
    /// When something happens of its own.
    due: Time,
    /// When the application wants to run.
    run_at: Time,
    last_run: Option<Time>,
    /// Mailboxes whose message nobody has taken yet, a bit each.
    waiting: u16,
    /// A message on its way to the application.
    message: Vec<u8>,
    /// Station address, alias where it counts, as the MainDevice's datagrams are compared with.
    addresses: [Option<u16>; 2],
}

impl SubDeviceController {
    /// A device that gets power at `now`.
    #[must_use]
    pub fn new(model: Model, settings: DeviceSettings, now: Time) -> Self {
        let mut controller = Self {
            chip: Chip::new(model.hardware, model.sii, settings, now),
            application: model.application,
            due: Time::NEVER,
            run_at: Time::NEVER,
            last_run: None,
            waiting: 0,
            message: Vec::new(),
            addresses: [None; 2],
        };
        controller.power_on(now);
        controller
    }

    /// Forgets all that does not survive being without power, and begins anew.
    pub fn power_on(&mut self, now: Time) {
        self.chip.reset(now);
        self.waiting = 0;
        self.last_run = None;
        self.application.power_on(&mut self.chip);
        self.after_call();
        self.note_addresses();
    }

    /// When something happens of its own next.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Lets happen what is due until `now`, in the order of time.
    pub fn advance(&mut self, now: Time) {
        let mut steps = 0;
        while self.due <= now && self.due != Time::NEVER {
            if steps == MAX_STEPS {
                self.skip(now);
                break;
            }
            steps += 1;
            self.chip.now = self.chip.now.max(self.due);
            self.step();
        }
        self.chip.now = self.chip.now.max(now);
    }

    fn step(&mut self) {
        let now = self.chip.now;
        let chip = &mut self.chip;
        chip.sii.advance(&mut chip.memory, now);
        chip.deliver();
        if chip.looks_at <= now {
            self.obey_al_control();
        } else if chip.watchdog.due() <= now {
            chip.watchdog.expire(&mut chip.memory);
            self.application.watchdog_expired(chip);
        } else if chip.sync.due() <= now {
            if let Some(signal) = chip.sync.pulse(&chip.memory, &chip.clock, now) {
                self.pulse(signal);
            }
        } else if self.run_at <= now {
            self.last_run = Some(now);
            self.application.run(chip);
        }
        self.after_call();
    }

    fn pulse(&mut self, signal: Signal) {
        self.application.sync(signal, &mut self.chip);
    }

    /// Nobody looked for long: leaves out the pulses and runs in between.
    fn skip(&mut self, now: Time) {
        self.chip.now = self.chip.now.max(now);
        let chip = &mut self.chip;
        chip.sync.skip(&chip.memory, &chip.clock, now);
        self.last_run = Some(now);
        self.after_call();
    }

    /// Follows up on a call of the application: its decisions, and when it wants to be called next.
    fn after_call(&mut self) {
        self.settle();
        // Each step goes down, so that there are at most three.
        while let Some((from, _)) = self.chip.left.take() {
            self.tell_change(from);
        }
        self.chip.deliver();
        self.hand_over();
        self.schedule();
    }

    fn schedule(&mut self) {
        let earliest = self.last_run.map_or(Time::ZERO, |it| it.after(1));
        self.run_at = self.application.next_run().max(earliest);
        self.due = self.chip.due().min(self.run_at);
    }

    /// Whether a frame left something to [`finish_frame`](Self::finish_frame).
    #[must_use]
    pub(crate) fn has_news(&self) -> bool {
        let marks = &self.chip.marks;
        marks.stirred || self.chip.guards.happened != Happened::default()
    }

    /// The frame has passed: the application sees what it brought.
    pub fn finish_frame(&mut self, now: Time) {
        self.chip.marks.stirred = false;
        self.schedule();
        self.advance(now);
        if std::mem::take(&mut self.chip.marks.reset) {
            return self.power_on(now);
        }
        let happened = std::mem::take(&mut self.chip.guards.happened);
        if happened.fed {
            self.chip.watchdog.feed(&mut self.chip.memory, now);
        }
        if std::mem::take(&mut self.chip.marks.al_control) {
            match self.chip.settings.firmware_ns {
                delay if delay > 0 && self.chip.unread => self.chip.looks_at = now.after(delay),
                _ => self.obey_al_control(),
            }
        }
        for number in bits(happened.outputs) {
            self.application.outputs_written(number, &mut self.chip);
        }
        for number in bits(happened.inputs) {
            self.application.inputs_read(number, &mut self.chip);
        }
        for number in bits(happened.repeat) {
            self.chip.repeat(number.into());
        }
        self.waiting |= happened.filled;
        self.after_call();
    }

    /// Gives the application the messages that it has room to answer.
    fn hand_over(&mut self) {
        if self.waiting == 0 || self.chip.state == State::Init {
            return;
        }
        for number in bits(std::mem::take(&mut self.waiting)) {
            let at = usize::from(number);
            if !guard::Guards::full(&self.chip.memory, at) {
                continue;
            }
            if self.chip.room() == 0 {
                self.waiting |= 1 << number;
                continue;
            }
            let chip = &mut self.chip;
            chip.guards.empty(&mut chip.memory, at, &mut self.message);
            self.application.mailbox(&self.message, chip);
        }
        self.chip.deliver();
    }

    /// Something inside fails; 0 ends it. See [`Application::fail`].
    pub fn fail(&mut self, code: u16) {
        self.application.fail(code, &mut self.chip);
        self.after_call();
    }

    /// What the device does. After a change that moves its times, call [`advance`](Self::advance).
    pub fn application_mut(&mut self) -> &mut dyn Application {
        &mut *self.application
    }

    /// What kind of controller it is.
    #[must_use]
    pub fn hardware(&self) -> &Hardware {
        &self.chip.hardware
    }

    /// The state that stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.chip.state
    }

    /// Whether it shows the error bit.
    #[must_use]
    pub fn error(&self) -> bool {
        self.chip.error
    }

    /// Reads registers or memory as they stand, without the MainDevice's side effects.
    pub fn peek(&self, address: u16, into: &mut [u8]) {
        self.chip.peek(address, into);
    }

    /// Its system time at a time of the segment.
    #[must_use]
    pub fn system_time(&self, at: Time) -> u64 {
        self.chip.clock.system(&self.chip.memory, at)
    }

    /// Makes its oscillator run otherwise, in parts per million of the true speed.
    pub fn set_drift(&mut self, ppm: f64) {
        let chip = &mut self.chip;
        chip.settings.drift_ppm = ppm;
        chip.clock.set_drift((ppm * 1_000.0) as i64, chip.now);
        chip.sync.schedule(&chip.memory, &chip.clock, chip.now);
        self.schedule();
    }

    /// Lets its application take so long, in ns, to look at AL control from the next write on.
    pub const fn set_reaction(&mut self, ns: u64) {
        self.chip.settings.firmware_ns = ns;
    }

    /// The SII's bytes.
    #[must_use]
    pub fn sii(&self) -> &[u8] {
        self.chip.sii.image()
    }

    /// The SII's bytes, to be spoiled; the controller looks at them when it gets power.
    pub fn sii_mut(&mut self) -> &mut Vec<u8> {
        self.chip.sii.image_mut()
    }

    /// Sets what the registers tell of a port, and counts a link that is lost.
    pub(in crate::sim) fn set_port(&mut self, port: u8, status: PortStatus) {
        let memory = &mut self.chip.memory;
        let old = DlStatus(memory.u16(register::DL_STATUS));
        let mut ready = 0;
        if self.chip.sii.sound() {
            ready = DlStatus::READY;
            // An application's watchdog counts as fed where there is an application.
            if memory.u8(register::PDI_CONTROL) != 0 {
                ready |= DlStatus::WATCHDOG_FED;
            }
        }
        let old_ready = DlStatus::READY | DlStatus::WATCHDOG_FED;
        let new = DlStatus(old.0 & !old_ready | ready).with_port(port, status);
        if new == old {
            return;
        }
        if old.link(port) && !new.link(port) {
            memory.count(register::LOST_LINKS + u16::from(port));
        }
        memory.set_u16(register::DL_STATUS, new.0);
        let events = memory.u16(register::ECAT_EVENT) | DL_EVENT;
        memory.set_u16(register::ECAT_EVENT, events);
    }

    /// Counts an error in one of the saturating counters from 0x0300 on.
    pub(in crate::sim) fn count_error(&mut self, register: u16) {
        self.chip.memory.count(register);
    }

    /// How the MainDevice governs the ports.
    pub(in crate::sim) fn dl_control(&self) -> crate::wire::DlControl {
        crate::wire::DlControl(self.chip.memory.u32(register::DL_CONTROL))
    }
}

impl std::fmt::Debug for SubDeviceController {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubDeviceController")
            .field("state", &self.chip.state)
            .field("addresses", &self.addresses)
            .field("due", &self.due)
            .finish_non_exhaustive()
    }
}

/// The numbers of the bits that are set.
fn bits(mask: u16) -> impl Iterator<Item = u8> {
    (0..16).filter(move |bit| mask >> bit & 1 != 0)
}

// What differs between two devices of one model.

/// How one device's controller is out of the ordinary. The default is a good device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceSettings {
    /// How much faster than true its oscillator runs, in parts per million; oscillators are within 100.
    pub drift_ppm: f64,
    /// Its clock's local time when it gets power, in ns.
    pub clock_start: u64,
    /// How long a read of the SII takes, in ns.
    pub sii_read_ns: u64,
    /// How long the controller hands a word to the SII's memory, in ns.
    pub sii_write_ns: u64,
    /// From when it began to, how long the memory stores the word, in ns: so long it acknowledges nothing,
    /// and each command ends at once with an error, as in real devices.
    pub sii_store_ns: u64,
    /// How long the application takes to look at AL control after it was written, in ns. Until then the
    /// controller takes no other value there, and an error that stands goes on standing. Of no effect for a
    /// device without firmware.
    pub firmware_ns: u64,
}

impl Default for DeviceSettings {
    fn default() -> Self {
        Self {
            drift_ppm: 0.0,
            clock_start: 0,
            sii_read_ns: 50_000,
            sii_write_ns: 300_000,
            sii_store_ns: 3_000_000,
            firmware_ns: 0,
        }
    }
}

#[cfg(test)]
mod tests;
