//! A virtual ESC: the controller of one SubDevice, as it behaves on the wire.

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

pub(crate) use chip::Arrival;
pub(in crate::sim) use serve::Role;

use super::{Application, Model, Pdi, Signal, Time};
use crate::description::Hardware;
use crate::wire::{DlStatus, PortStatus, State, register};
use chip::{Chip, DL_EVENT};
use guard::AccessEffects;

/// Most events of its own that a device handles in one advance; it skips more, so that a hostile cycle of 1 ns costs
/// no more than a normal one.
const MAX_STEPS: u32 = 500;

/// One SubDevice: its controller and its application.
///
/// The effects of a datagram in the application, such as an answer to a mailbox message, happen at the end of the frame.
///
/// # Real-time safety
/// Passing a datagram allocates nothing.
pub struct SubDeviceController {
    chip: Chip,
    application: Box<dyn Application>,
    /// When the next event of its own is due.
    due: Time,
    /// When the application's next run is due.
    run_at: Time,
    last_run: Option<Time>,
    /// Mailboxes whose message the application has not taken yet, a bit each.
    waiting: u16,
    /// A message on its way to the application.
    message: Vec<u8>,
    /// Station address, and the alias where it is enabled, to compare with a datagram's address.
    addresses: [Option<u16>; 2],
}

impl SubDeviceController {
    /// Creates a device that gets power at `now`.
    #[must_use]
    pub(crate) fn new(model: Model, settings: DeviceSettings, now: Time) -> Self {
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

    /// Clears all volatile state, and starts again.
    pub(crate) fn power_on(&mut self, now: Time) {
        self.chip.reset(now);
        self.waiting = 0;
        self.last_run = None;
        self.application.power_on(&mut self.chip);
        self.after_call();
        self.note_addresses();
    }

    /// When the next event of its own is due.
    #[must_use]
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// Handles all events that are due until `now`, in the order of time.
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
            self.handle_al_control();
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

    /// Skips the pulses and runs of a long time without an advance.
    fn skip(&mut self, now: Time) {
        self.chip.now = self.chip.now.max(now);
        let chip = &mut self.chip;
        chip.sync.skip(&chip.memory, &chip.clock, now);
        self.last_run = Some(now);
        self.after_call();
    }

    /// Handles the effects of a call of the application: its decisions, and its next run.
    fn after_call(&mut self) {
        self.settle();
        // Each step goes down, so there are at most three.
        while let Some((from, _)) = self.chip.left.take() {
            self.notify_change(from);
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

    /// Whether a frame left work for [`finish_frame`](Self::finish_frame).
    #[must_use]
    pub(crate) fn has_news(&self) -> bool {
        let marks = &self.chip.marks;
        marks.stirred || self.chip.guards.happened != AccessEffects::default()
    }

    /// Hands the effects of a passed frame to the application.
    pub(crate) fn finish_frame(&mut self, now: Time) {
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
                _ => self.handle_al_control(),
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

    /// Makes something inside fail; 0 ends the failure. See [`Application::fail`].
    pub fn fail(&mut self, code: u16) {
        self.application.fail(code, &mut self.chip);
        self.after_call();
    }

    /// The application. After a change of its times, call [`advance`](Self::advance).
    pub fn application_mut(&mut self) -> &mut dyn Application {
        &mut *self.application
    }

    /// The kind of controller.
    #[must_use]
    pub fn hardware(&self) -> &Hardware {
        &self.chip.hardware
    }

    /// The AL state that the device is in.
    #[must_use]
    pub fn state(&self) -> State {
        self.chip.state
    }

    /// Whether it shows the error bit.
    #[must_use]
    pub fn error(&self) -> bool {
        self.chip.error
    }

    /// Reads registers or memory, without the side effects of a MainDevice's access.
    pub fn peek(&self, address: u16, into: &mut [u8]) {
        self.chip.peek(address, into);
    }

    /// Its system time at a time of the segment.
    #[must_use]
    pub fn system_time(&self, at: Time) -> u64 {
        self.chip.clock.system(&self.chip.memory, at)
    }

    /// Sets the drift of its oscillator, in parts per million of the true speed.
    pub(crate) fn set_drift(&mut self, ppm: f64) {
        let chip = &mut self.chip;
        chip.settings.drift_ppm = ppm;
        chip.clock.set_drift((ppm * 1_000.0) as i64, chip.now);
        chip.sync.schedule(&chip.memory, &chip.clock, chip.now);
        self.schedule();
    }

    /// Sets how long its application takes, in ns, to read AL control from the next write on.
    pub const fn set_reaction(&mut self, ns: u64) {
        self.chip.settings.firmware_ns = ns;
    }

    /// The SII's bytes.
    #[must_use]
    pub fn sii(&self) -> &[u8] {
        self.chip.sii.image()
    }

    /// The SII's bytes, to be changed; the controller loads them at power on.
    pub fn sii_mut(&mut self) -> &mut Vec<u8> {
        self.chip.sii.image_mut()
    }

    /// Sets a port's status in the registers, and counts a lost link.
    pub(in crate::sim) fn set_port(&mut self, port: u8, status: PortStatus) {
        let memory = &mut self.chip.memory;
        let old = DlStatus(memory.u16(register::DL_STATUS));
        let mut ready = 0;
        if self.chip.sii.sound() {
            ready = DlStatus::READY;
            // Without an application interface the application's watchdog does not count as fed.
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

    /// The MainDevice's settings of the ports.
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

// Differences between two devices of one model.

/// The irregularities of one device's controller. The default is a good device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceSettings {
    /// The oscillator's drift, in parts per million; real oscillators are within 100.
    pub drift_ppm: f64,
    /// The clock's local time at power on, in ns.
    pub clock_start: u64,
    /// How long a read of the SII takes, in ns.
    pub sii_read_ns: u64,
    /// How long the controller takes to transfer a word to the SII's memory, in ns.
    pub sii_write_ns: u64,
    /// How long the memory stores the word after that, in ns: it acknowledges nothing in that time, and each command
    /// ends at once with an error, as in real devices.
    pub sii_store_ns: u64,
    /// How long the application takes to read AL control after a write, in ns. Until then the controller takes no
    /// other value there, and a present error remains. Without effect for a device without firmware.
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
