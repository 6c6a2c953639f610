//! The controller without its application: registers, memory, and the effects of writing them.

use super::DeviceSettings;
use super::clock::LocalClock;
use super::guard::Guards;
use super::mapping::FmmuTable;
use super::memory::Memory;
use super::outbox::Outbox;
use super::sii::SiiMemory;
use super::states::Watchdog;
use super::sync::SyncUnit;
use crate::description::Hardware;
use crate::sim::Time;
use crate::wire::{AlStatus, AlStatusCode, DlControl, State, SyncManager, register};

/// The effects of a frame that need work after it has passed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PendingWork {
    /// AL control was written.
    pub(super) al_control: bool,
    /// The addresses or FMMUs of the device changed.
    pub(super) index: bool,
    /// DL control was written: ports may open or close.
    pub(super) ports: bool,
    /// A reset was requested.
    pub(super) reset: bool,
    /// A register was written, so times of due events may have changed.
    pub(super) stirred: bool,
}

/// When a frame arrived at the processing unit and at each port; [`Time::NEVER`] where it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// At the processing unit: the time of its first bit.
    pub unit: Time,
    /// At each port, from outside.
    pub ports: [Time; 4],
}

#[derive(Debug)]
pub(super) struct Chip {
    pub(super) hardware: Hardware,
    pub(super) settings: DeviceSettings,
    pub(super) memory: Memory,
    pub(super) guards: Guards,
    pub(super) mapping: FmmuTable,
    pub(super) clock: LocalClock,
    pub(super) sync: SyncUnit,
    pub(super) sii: SiiMemory,
    pub(super) watchdog: Watchdog,
    pub(super) outbox: Outbox,
    pub(super) marks: PendingWork,
    pub(super) now: Time,
    pub(super) state: State,
    pub(super) error: bool,
    /// A requested change that the application has not decided yet.
    pub(super) asked: Option<State>,
    pub(super) settled: Option<Result<(), AlStatusCode>>,
    /// A change that the application made without a request, and of which it is not yet notified.
    pub(super) left: Option<(State, State)>,
    /// Whether the application has not read AL control since it was written.
    pub(super) unread: bool,
    /// When the application will read it.
    pub(super) looks_at: Time,
    /// How much of the word RES has been written to the reset register.
    pub(super) reset_word: usize,
}

impl Chip {
    pub(super) fn new(
        hardware: Hardware,
        sii: Vec<u8>,
        settings: DeviceSettings,
        now: Time,
    ) -> Self {
        Self {
            memory: Memory::new(hardware.ram_kib),
            guards: Guards::new(&hardware),
            mapping: FmmuTable::new(&hardware),
            clock: LocalClock::new(0, 0, now),
            sync: SyncUnit::new(),
            sii: SiiMemory::new(sii, hardware.sii_read >= 8, &settings),
            watchdog: Watchdog::new(),
            outbox: Outbox::default(),
            marks: PendingWork::default(),
            now,
            state: State::Init,
            error: false,
            asked: None,
            settled: None,
            left: None,
            unread: false,
            looks_at: Time::NEVER,
            reset_word: 0,
            hardware,
            settings,
        }
    }

    /// Resets the chip to its state after power on.
    pub(super) fn reset(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.memory.clear();
        self.guards.reset();
        self.mapping.reset();
        self.outbox.clear();
        self.sync = SyncUnit::new();
        let drift = (self.settings.drift_ppm * 1_000.0) as i64;
        self.clock = LocalClock::new(drift, self.settings.clock_start, self.now);
        self.sii.reset();
        self.memory
            .set(register::TYPE, &self.hardware.information());
        self.memory
            .set(register::DL_CONTROL, &DlControl::POWER_ON.0.to_le_bytes());
        self.watchdog.reset(&mut self.memory);
        self.memory.set_u16(register::DC_SPEED_START, 0x1000);
        self.memory.set_u16(register::DC_FILTER, 0x0C04);
        self.sii.load(&mut self.memory);
        (self.asked, self.settled, self.left) = (None, None, None);
        (self.unread, self.looks_at) = (false, Time::NEVER);
        self.reset_word = 0;
        self.marks = PendingWork {
            index: true,
            ports: true,
            ..PendingWork::default()
        };
        self.state = State::Init;
        self.show(None);
    }

    /// Shows the state, with the error bit and a code where there is an error.
    pub(super) fn show(&mut self, error: Option<AlStatusCode>) {
        self.error = error.is_some();
        let status = AlStatus::new(self.state, self.error).0;
        if self.memory.u16(register::AL_STATUS) != status {
            let events = self.memory.u16(register::ECAT_EVENT) | AL_EVENT;
            self.memory.set_u16(register::ECAT_EVENT, events);
        }
        self.memory.set_u16(register::AL_STATUS, status);
        self.memory
            .set_u16(register::AL_STATUS_CODE, error.map_or(0, |it| it.0));
    }

    /// Whether the controller copies the requested state, because there is no firmware.
    pub(super) fn emulates(&self) -> bool {
        self.memory.u16(register::PDI_CONTROL) & register::pdi_control::EMULATION != 0
    }

    /// Events that a passing datagram collects.
    pub(super) fn events(&self) -> u16 {
        self.memory.u16(register::ECAT_EVENT) & self.memory.u16(register::ECAT_EVENT_MASK)
    }

    /// When the next event of its own is due.
    pub(super) fn due(&self) -> Time {
        self.sii
            .due()
            .min(self.watchdog.due())
            .min(self.sync.due())
            .min(self.looks_at)
            .min(self.delivery_due())
    }

    fn delivery_due(&self) -> Time {
        match self.guards.answers() {
            Some((number, _)) if !Guards::full(&self.memory, number) => self.outbox.due(),
            _ => Time::NEVER,
        }
    }

    /// Puts the next message into an empty mailbox.
    pub(super) fn deliver(&mut self) {
        if self.delivery_due() > self.now {
            return;
        }
        if let Some((number, _)) = self.guards.answers()
            && let Some(message) = self.outbox.pop(self.now)
        {
            self.guards.fill(&mut self.memory, number, message);
        }
    }

    /// The MainDevice lost a message and requests it again; the controller answers by its own bit.
    pub(super) fn repeat(&mut self, number: usize) {
        let asked = Guards::settings(&self.memory, number);
        let answers = self.guards.answers().is_some_and(|it| it.0 == number);
        if answers && let Some(message) = self.outbox.repeat(asked.status.full()) {
            self.guards.fill(&mut self.memory, number, message);
        }
        let answered = asked.activate & SyncManager::REPEAT;
        let control = asked.pdi_control & !SyncManager::REPEATED | answered;
        self.guards
            .set_pdi_control(&mut self.memory, number, control);
    }
}

/// Bits of the MainDevice's event register.
pub(super) const DL_EVENT: u16 = 1 << 2;
pub(super) const AL_EVENT: u16 = 1 << 3;
