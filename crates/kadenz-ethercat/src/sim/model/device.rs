//! A device of a description and a behaviour, behind a controller.

use std::collections::VecDeque;

use crate::description::Description;
use crate::sim::coe::{CoeServer, Dictionary, ProcessMap};
use crate::sim::{Application, Decision, Model, Pdi, Signal, StateChange, Time};
use crate::wire::coe::{Abort, Address, Emergency, Service};
use crate::wire::mailbox::{self, Protocol};
use crate::wire::sii::{Area, Direction, SiiError, coe_details};
use crate::wire::{AlStatusCode, State};

/// Bytes of the longest process data of a SyncManager.
const PROCESS_DATA: usize = 1486;
/// Emergencies that wait for the mailbox; more are dropped, as in real devices.
const EMERGENCIES: usize = 8;
/// How long a device takes to answer a message, in nanoseconds; as fast as fast real ones.
const ANSWER_AFTER: u64 = 100_000;

/// The moment of a behaviour's step.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The segment's time.
    pub now: Time,
    /// The device's own system time.
    pub system_time: u64,
    /// State of the device.
    pub state: State,
    /// Whether new outputs came since the last step.
    pub fresh: bool,
    /// The length of a cycle, as far as the device knows.
    pub cycle_ns: u32,
}

/// The behaviour of a device with its objects. All of its outputs and inputs are objects; process data sets outputs
/// there before a step, and takes inputs from there after it.
pub trait Behaviour: Send + 'static {
    /// Power came: starts again. Slots may be looked up here, in the dictionary of all later calls.
    fn power_on(&mut self, objects: &mut Dictionary) {
        let _ = objects;
    }

    /// Advances the time. Returns an emergency to send. Must not allocate.
    fn step(&mut self, moment: Moment, objects: &mut Dictionary) -> Option<Emergency> {
        let _ = (moment, objects);
        None
    }

    /// Checks a value that the dictionary's rules allow.
    ///
    /// # Errors
    /// The reason of a refusal.
    fn check(&self, objects: &Dictionary, address: Address, value: &[u8]) -> Result<(), Abort> {
        let _ = (objects, address, value);
        Ok(())
    }

    /// Handles the end of process data while it was expected.
    fn process_data_lost(&mut self, objects: &mut Dictionary) -> Option<Emergency> {
        let _ = objects;
        None
    }

    /// A user or script requests a failure with that code; 0 ends it.
    fn fail(&mut self, code: u16, objects: &mut Dictionary) -> Option<Emergency> {
        objects.set_number(Address::new(0x1001, 0), i64::from(code != 0));
        Some(Emergency {
            code,
            register: u8::from(code != 0),
            data: [0; 5],
        })
    }

    /// How long it works between its wake-up, by outputs or SYNC0, and its step, in nanoseconds. Until then the
    /// newest outputs wait, and its inputs are the previous ones.
    fn works_ns(&self) -> u64 {
        0
    }

    /// How often it steps without cycles from the MainDevice, in nanoseconds; `None` for no steps of its own.
    fn period_ns(&self) -> Option<u64> {
        None
    }
}

/// Holds its outputs; a user or test sets its inputs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Idle;

impl Behaviour for Idle {}

/// Process data of one SyncManager.
#[derive(Debug)]
struct SyncManagerMap {
    number: u8,
    direction: Direction,
    map: ProcessMap,
}

/// A virtual device: its description, its objects and a behaviour.
#[derive(Debug)]
pub struct Device<B> {
    description: Description,
    /// Its objects as they are after power on.
    initial: Dictionary,
    objects: Dictionary,
    behaviour: B,
    server: CoeServer,
    carried: Vec<SyncManagerMap>,
    emergencies: VecDeque<Emergency>,
    fresh: bool,
    next_run: Time,
    /// When its work is done; NEVER where it has none.
    done_at: Time,
    buffer: Box<[u8]>,
}

impl<B: Behaviour> Device<B> {
    /// Creates a device of a description and a behaviour.
    #[must_use]
    pub fn new(description: Description, behaviour: B) -> Self {
        let objects = description.dictionary();
        Self::with_objects(description, objects, behaviour)
    }

    /// The same with objects that were made of the description before, and may be shared.
    #[must_use]
    pub(in crate::sim) fn with_objects(
        description: Description,
        initial: Dictionary,
        behaviour: B,
    ) -> Self {
        let complete = description.general.coe & coe_details::COMPLETE_ACCESS != 0;
        let longest = usize::from(description.fixed.mailboxes.send.size).max(PROCESS_DATA);
        let mut device = Self {
            objects: initial.clone(),
            initial,
            behaviour,
            server: CoeServer::new(complete),
            carried: Vec::new(),
            emergencies: VecDeque::with_capacity(EMERGENCIES),
            fresh: false,
            next_run: Time::NEVER,
            done_at: Time::NEVER,
            buffer: vec![0; longest].into(),
            description,
        };
        device.behaviour.power_on(&mut device.objects);
        device
    }

    /// The device as a model of a segment.
    ///
    /// # Errors
    /// [`SiiError`] where its description does not fit into its memory.
    pub fn model(self) -> Result<Model, SiiError> {
        Ok(Model {
            hardware: self.description.hardware,
            sii: self.description.sii()?,
            application: Box::new(self),
        })
    }

    /// The description that the device was made from.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The object dictionary, with the present values.
    #[must_use]
    pub fn objects(&self) -> &Dictionary {
        &self.objects
    }

    /// Its objects, past all rules: for inputs that a test sets.
    #[cfg(test)]
    pub(super) fn objects_mut(&mut self) -> &mut Dictionary {
        &mut self.objects
    }

    /// The behaviour that drives the device's process data.
    #[must_use]
    pub fn behaviour(&self) -> &B {
        &self.behaviour
    }

    /// Its behaviour, to be changed.
    #[cfg(test)]
    pub(super) fn behaviour_mut(&mut self) -> &mut B {
        &mut self.behaviour
    }

    fn has_mailbox(&self) -> bool {
        self.description.fixed.mailboxes.receive.size > 0
    }

    /// Mailboxes must be at the SII's addresses.
    fn check_mailboxes(&self, pdi: &dyn Pdi) -> Result<(), AlStatusCode> {
        let wanted = self.description.fixed.mailboxes;
        let stands = |number, area: Area| {
            pdi.sync_manager(number)
                .is_some_and(|it| it.start == area.start && it.length == area.size && it.active())
        };
        if self.has_mailbox() && !(stands(0, wanted.receive) && stands(1, wanted.send)) {
            return Err(AlStatusCode::BAD_MAILBOX);
        }
        Ok(())
    }

    /// SyncManagers must be as long as the PDOs assigned to them.
    fn check_process_data(&mut self, pdi: &dyn Pdi) -> Result<(), AlStatusCode> {
        self.carried.clear();
        for (number, direction) in self.description.process_data() {
            let map = ProcessMap::of(&self.objects, 0x1C10 + u16::from(number));
            let manager = pdi.sync_manager(number).filter(|it| it.active());
            let length = manager.map_or(0, |it| usize::from(it.length));
            if length != map.bytes() {
                self.carried.clear();
                return Err(match direction {
                    Direction::Outputs => AlStatusCode::BAD_OUTPUTS,
                    Direction::Inputs => AlStatusCode::BAD_INPUTS,
                });
            }
            if length > 0 {
                self.carried.push(SyncManagerMap {
                    number,
                    direction,
                    map,
                });
            }
        }
        Ok(())
    }

    /// Sets the objects that describe the synchronisation of process data.
    fn note_synchronization(&mut self, pdi: &dyn Pdi) {
        let cycle = pdi.sync_cycles().0;
        for carried in &self.carried {
            let index = 0x1C30 + u16::from(carried.number);
            let kind = if cycle.is_some() { 2 } else { 1 };
            self.objects.set_number(Address::new(index, 1), kind);
            if let Some(cycle) = cycle.filter(|it| *it > 0) {
                self.objects
                    .set_number(Address::new(index, 2), i64::from(cycle));
            }
        }
    }

    fn has_outputs(&self) -> bool {
        let mut all = self.carried.iter();
        all.any(|it| it.direction == Direction::Outputs)
    }

    fn cycle_ns(&self, pdi: &dyn Pdi) -> u32 {
        let by_object = self.objects.number(Address::new(0x1C32, 2));
        let by_object = by_object.and_then(|it| u32::try_from(it).ok());
        let clock = pdi.sync_cycles().0.filter(|it| *it > 0);
        clock.or(by_object).unwrap_or(1_000_000)
    }

    /// Wakes the device, which works for a time before its cycle. A device that works already is not woken again.
    fn wake(&mut self, pdi: &mut dyn Pdi) {
        match self.behaviour.works_ns() {
            0 => self.cycle(pdi),
            work if self.done_at == Time::NEVER => self.done_at = pdi.now().after(work),
            _ => {}
        }
    }

    /// Takes outputs, steps, and sets inputs.
    fn cycle(&mut self, pdi: &mut dyn Pdi) {
        let state = pdi.state();
        if state == State::Op {
            for carried in &self.carried {
                if carried.direction == Direction::Outputs
                    && let Ok(length) = pdi.outputs(carried.number, &mut self.buffer)
                    && self.fresh
                {
                    carried.map.take(&self.buffer[..length], &mut self.objects);
                }
            }
        }
        let moment = Moment {
            now: pdi.now(),
            system_time: pdi.system_time(),
            state,
            fresh: std::mem::take(&mut self.fresh),
            cycle_ns: self.cycle_ns(pdi),
        };
        let emergency = self.behaviour.step(moment, &mut self.objects);
        for carried in &self.carried {
            if carried.direction == Direction::Inputs {
                let data = &mut self.buffer[..carried.map.bytes()];
                data.fill(0);
                carried.map.put(&self.objects, data);
                // A SyncManager that the MainDevice switched off meanwhile takes no inputs.
                let _ = pdi.set_inputs(carried.number, data);
            }
        }
        if let Some(period) = self.behaviour.period_ns() {
            self.next_run = pdi.now().after(period);
        }
        self.send_emergencies(emergency, pdi);
    }

    /// Queues an emergency, and sends as much as the mailbox takes.
    fn send_emergencies(&mut self, emergency: Option<Emergency>, pdi: &mut dyn Pdi) {
        if let Some(emergency) = emergency.filter(|_| self.emergencies.len() < EMERGENCIES) {
            self.emergencies.push_back(emergency);
        }
        if self.emergencies.is_empty() || !self.can_send(pdi) {
            return;
        }
        while pdi.room() > 1 {
            let Some(emergency) = self.emergencies.pop_front() else {
                return;
            };
            let counter = self.server.next_counter();
            let mut message = [0; mailbox::HEADER + 10];
            let written = mailbox::write(&mut message, Protocol::Coe, counter, |it| {
                emergency.write(it)
            });
            if let Ok(length) = written {
                let _ = pdi.send(&message[..length], 0);
            }
        }
    }

    fn can_send(&self, pdi: &dyn Pdi) -> bool {
        self.description.coe.is_some() && pdi.state() != State::Init
    }

    /// Sends pieces of a list while the mailbox takes them; returns whether some are left.
    fn send_more(&mut self, pdi: &mut dyn Pdi) -> bool {
        let size = usize::from(self.description.fixed.mailboxes.send.size);
        while pdi.room() > 0 {
            let room = &mut self.buffer[..size];
            let Some(length) = self.server.more(room) else {
                return false;
            };
            let _ = pdi.send(&self.buffer[..length], ANSWER_AFTER);
        }
        true
    }
}

impl<B: Behaviour> Application for Device<B> {
    fn power_on(&mut self, pdi: &mut dyn Pdi) {
        self.objects = self.initial.clone();
        self.server.reset();
        self.carried.clear();
        self.emergencies.clear();
        self.fresh = false;
        self.done_at = Time::NEVER;
        self.behaviour.power_on(&mut self.objects);
        self.next_run = match self.behaviour.period_ns() {
            Some(period) => pdi.now().after(period),
            None => Time::NEVER,
        };
    }

    fn change(&mut self, change: StateChange, pdi: &mut dyn Pdi) -> Decision {
        let checked = match (change.from, change.to) {
            (State::Init, State::PreOp) => self.check_mailboxes(pdi),
            (_, State::Bootstrap) => Err(AlStatusCode::NO_BOOTSTRAP),
            (State::PreOp, State::SafeOp) => self.check_process_data(pdi),
            _ => Ok(()),
        };
        match checked {
            Ok(()) => Decision::Accept,
            Err(code) => Decision::Refuse(code),
        }
    }

    fn changed(&mut self, from: State, to: State, pdi: &mut dyn Pdi) {
        match to {
            State::Init => {
                self.server.reset();
                self.emergencies.clear();
                self.carried.clear();
                self.done_at = Time::NEVER;
            }
            State::PreOp | State::Bootstrap => self.carried.clear(),
            State::SafeOp | State::Op => self.note_synchronization(pdi),
        }
        if from == State::Op {
            let lost = self.behaviour.process_data_lost(&mut self.objects);
            self.send_emergencies(lost, pdi);
        }
        if to >= State::SafeOp {
            self.cycle(pdi);
        }
    }

    fn mailbox(&mut self, message: &[u8], pdi: &mut dyn Pdi) {
        let size = usize::from(self.description.fixed.mailboxes.send.size);
        let state = pdi.state();
        let behaviour = &self.behaviour;
        let speaks = self.description.coe.is_some();
        if !speaks || size > self.buffer.len() {
            return;
        }
        let answer = self.server.serve(
            &mut self.objects,
            state,
            message,
            &mut self.buffer[..size],
            &mut |objects, address, value| behaviour.check(objects, address, value),
        );
        if answer.length > 0 {
            // The caller has checked that there is room for one message.
            let _ = pdi.send(&self.buffer[..answer.length], ANSWER_AFTER);
        }
        if self.send_more(pdi) {
            self.next_run = pdi.now().after(ANSWER_AFTER);
        }
    }

    fn outputs_written(&mut self, _sync_manager: u8, pdi: &mut dyn Pdi) {
        self.fresh = true;
        if pdi.sync_cycles().0.is_none() {
            self.wake(pdi);
        }
    }

    fn sync(&mut self, signal: Signal, pdi: &mut dyn Pdi) {
        if signal != Signal::Sync0 {
            return;
        }
        if pdi.state() == State::Op && !self.fresh && self.has_outputs() {
            let missed = Address::new(0x1C32, 11);
            let before = self.objects.number(missed).unwrap_or(0);
            self.objects.set_number(missed, before + 1);
        }
        self.wake(pdi);
    }

    fn next_run(&self) -> Time {
        self.next_run.min(self.done_at)
    }

    fn run(&mut self, pdi: &mut dyn Pdi) {
        if self.done_at <= pdi.now() {
            self.done_at = Time::NEVER;
            self.cycle(pdi);
        }
        if self.next_run > pdi.now() {
            return;
        }
        self.next_run = Time::NEVER;
        if self.send_more(pdi) {
            self.next_run = pdi.now().after(ANSWER_AFTER);
        }
        if self.behaviour.period_ns().is_some() {
            self.cycle(pdi);
        }
        self.send_emergencies(None, pdi);
    }

    fn fail(&mut self, code: u16, pdi: &mut dyn Pdi) {
        let emergency = self.behaviour.fail(code, &mut self.objects);
        self.send_emergencies(emergency, pdi);
    }
}

/// Emergencies are a service of CoE; the check keeps their number from another service.
const _: () = assert!(Service::Emergency as u8 == 1);
