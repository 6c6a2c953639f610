//! A fake controller, for tests of models alone.

use crate::sim::coe::ProcessMap;
use crate::sim::model::{Behaviour, Device};
use crate::sim::{
    Application, Decision, Pdi, PdiAccessError, PdiSendError, Signal, StateChange, Time,
};
use crate::wire::coe::client::{Download, Progress, TransferError, Upload};
use crate::wire::coe::{Abort, Address, Emergency, Message};
use crate::wire::mailbox::{self, Counter, Header, Protocol};
use crate::wire::{AlStatusCode, State, SyncManager, sync_manager::SyncManagerControl};

/// Most queued messages.
const ROOM: usize = 16;

/// The device's view of the controller.
pub(in crate::sim::model) struct Fake {
    pub(in crate::sim::model) now: Time,
    state: State,
    managers: Vec<SyncManager>,
    outputs: Vec<Vec<u8>>,
    inputs: Vec<Vec<u8>>,
    messages: Vec<Vec<u8>>,
    left: Option<(State, AlStatusCode)>,
    pub(in crate::sim::model) sync0: Option<u32>,
}

impl Pdi for Fake {
    fn now(&self) -> Time {
        self.now
    }
    fn system_time(&self) -> u64 {
        self.now.0
    }
    fn state(&self) -> State {
        self.state
    }
    fn settle(&mut self, _: Result<(), AlStatusCode>) {}
    fn leave(&mut self, to: State, code: AlStatusCode) {
        self.left = Some((to, code));
    }
    fn sync_manager(&self, number: u8) -> Option<SyncManager> {
        self.managers.get(usize::from(number)).copied()
    }
    fn outputs(&mut self, number: u8, into: &mut [u8]) -> Result<usize, PdiAccessError> {
        let data = self
            .outputs
            .get(usize::from(number))
            .ok_or(PdiAccessError::Absent(number))?;
        into[..data.len()].copy_from_slice(data);
        Ok(data.len())
    }
    fn set_inputs(&mut self, number: u8, from: &[u8]) -> Result<(), PdiAccessError> {
        self.inputs[usize::from(number)] = from.to_vec();
        Ok(())
    }
    fn send(&mut self, message: &[u8], _: u64) -> Result<(), PdiSendError> {
        if self.messages.len() == ROOM {
            return Err(PdiSendError::Full(ROOM));
        }
        self.messages.push(message.to_vec());
        Ok(())
    }
    fn room(&self) -> usize {
        ROOM - self.messages.len()
    }
    fn peek(&self, _: u16, into: &mut [u8]) {
        into.fill(0);
    }
    fn poke(&mut self, _: u16, _: &[u8]) {}
    fn sync_cycles(&self) -> (Option<u32>, Option<u32>) {
        (self.sync0, None)
    }
    fn outputs_in_time(&self) -> bool {
        true
    }
}

/// A device, its controller and its MainDevice.
pub(in crate::sim::model) struct Bench<B> {
    pub(in crate::sim::model) device: Device<B>,
    pub(in crate::sim::model) fake: Fake,
    pub(in crate::sim::model) state: State,
    emergencies: Vec<Emergency>,
    /// The outputs that the MainDevice sends, by objects.
    wanted: crate::sim::coe::Dictionary,
}

impl<B: Behaviour> Bench<B> {
    pub(in crate::sim::model) fn new(mut device: Device<B>) -> Self {
        let mut fake = Fake {
            now: Time(1_000_000),
            state: State::Init,
            managers: Vec::new(),
            outputs: vec![Vec::new(); 8],
            inputs: vec![Vec::new(); 8],
            messages: Vec::new(),
            left: None,
            sync0: None,
        };
        device.power_on(&mut fake);
        Self {
            wanted: device.objects().clone(),
            device,
            fake,
            state: State::Init,
            emergencies: Vec::new(),
        }
    }

    /// Sets SyncManagers by the description and the assignment.
    fn configure(&mut self) {
        let description = self.device.description();
        let carried: Vec<_> = description.process_data().collect();
        self.fake.managers = description
            .sync_managers
            .iter()
            .map(|it| SyncManager::new(it.area.start, it.area.size, SyncManagerControl(it.control)))
            .collect();
        for (number, _) in carried {
            let map = ProcessMap::of(self.device.objects(), 0x1C10 + u16::from(number));
            self.fake.managers[usize::from(number)].length = map.bytes() as u16;
        }
    }

    pub(in crate::sim::model) fn change(&mut self, to: State) -> Result<(), AlStatusCode> {
        let change = StateChange {
            from: self.state,
            to,
        };
        match self.device.change(change, &mut self.fake) {
            Decision::Refuse(code) => Err(code),
            _ => {
                self.stands(to);
                Ok(())
            }
        }
    }

    fn stands(&mut self, to: State) {
        let from = std::mem::replace(&mut self.state, to);
        self.fake.state = to;
        self.device.changed(from, to, &mut self.fake);
    }

    /// Goes up to a state, step by step.
    pub(in crate::sim::model) fn to(&mut self, state: State) -> Result<(), AlStatusCode> {
        for step in [State::PreOp, State::SafeOp, State::Op] {
            if step > self.state && step <= state {
                self.configure();
                self.change(step)?;
            }
        }
        Ok(())
    }

    /// Goes down to PREOP, assigns other PDOs, and goes up to OP again.
    pub(in crate::sim::model) fn assign(&mut self, outputs: &[u16], inputs: &[u16]) {
        self.change(State::PreOp).unwrap();
        for (index, pdos) in [(0x1C12, outputs), (0x1C13, inputs)] {
            let mut value = vec![pdos.len() as u8, 0];
            value.extend(pdos.iter().flat_map(|it| it.to_le_bytes()));
            self.transfer(Address::new(index, 0), true, &value).unwrap();
        }
        self.wanted = self.device.objects().clone();
        self.to(State::Op).unwrap();
    }

    pub(in crate::sim::model) fn write(&mut self, index: u16, number: i64) {
        assert!(self.wanted.set_number(Address::new(index, 0), number));
    }

    pub(in crate::sim::model) fn read(&self, index: u16) -> i64 {
        self.device
            .objects()
            .number(Address::new(index, 0))
            .unwrap()
    }

    /// The current inputs.
    pub(in crate::sim::model) fn inputs(&self, number: usize) -> &[u8] {
        &self.fake.inputs[number]
    }

    /// One cycle of a millisecond.
    pub(in crate::sim::model) fn exchange(&mut self) {
        self.fake.now = self.fake.now.after(1_000_000);
        let managers: Vec<_> = self.device.description().process_data().collect();
        for (number, direction) in managers {
            if direction == crate::wire::sii::Direction::Outputs {
                let map = ProcessMap::of(self.device.objects(), 0x1C10 + u16::from(number));
                let mut data = vec![0; map.bytes()];
                map.put(&self.wanted, &mut data);
                self.fake.outputs[usize::from(number)] = data;
                self.device.outputs_written(number, &mut self.fake);
            }
        }
        if self.fake.sync0.is_some() {
            self.device.sync(Signal::Sync0, &mut self.fake);
        }
        self.sort();
    }

    pub(in crate::sim::model) fn wait_ms(&mut self, milliseconds: u32) {
        for _ in 0..milliseconds {
            self.fake.now = self.fake.now.after(1_000_000);
            if self.device.next_run() <= self.fake.now {
                self.device.run(&mut self.fake);
            }
        }
        self.sort();
    }

    pub(in crate::sim::model) fn watchdog(&mut self) {
        self.device.watchdog_expired(&mut self.fake);
        if let Some((to, _)) = self.fake.left.take() {
            self.stands(to);
        }
        self.sort();
    }

    pub(in crate::sim::model) fn fail(&mut self, code: u16) {
        self.device.fail(code, &mut self.fake);
        self.sort();
    }

    /// Takes the emergencies out of the messages.
    fn sort(&mut self) {
        for message in std::mem::take(&mut self.fake.messages) {
            let (_, data) = Header::read(&message).unwrap();
            match Message::read(data) {
                Ok(Message::Emergency(emergency)) => self.emergencies.push(emergency),
                _ => self.fake.messages.push(message),
            }
        }
    }

    pub(in crate::sim::model) fn emergencies(&mut self) -> Vec<Emergency> {
        std::mem::take(&mut self.emergencies)
    }

    /// Sends a whole mailbox message; returns the answer.
    pub(in crate::sim::model) fn ask(&mut self, message: &[u8]) -> Vec<u8> {
        let size = usize::from(self.device.description().fixed.mailboxes.receive.size);
        let mut whole = message.to_vec();
        whole.resize(size, 0);
        self.sort();
        self.device.mailbox(&whole, &mut self.fake);
        self.sort();
        self.fake.messages.remove(0)
    }

    fn coe(
        &mut self,
        write: impl FnOnce(&mut [u8]) -> Result<usize, mailbox::MailboxError>,
    ) -> Vec<u8> {
        let mut message = [0; 512];
        let counter = Counter::NONE;
        let length = mailbox::write(&mut message, Protocol::Coe, counter, write).unwrap();
        let answer = self.ask(&message[..length]);
        Header::read(&answer).unwrap().1.to_vec()
    }

    fn transfer(&mut self, address: Address, complete: bool, value: &[u8]) -> Result<(), Abort> {
        let size = usize::from(self.device.description().fixed.mailboxes.receive.size);
        let mut download = Download::new(address, complete, value, size);
        loop {
            let answer = self.coe(|it| download.request(it));
            match download.answer(&answer) {
                Ok(Progress::Done(_)) => return Ok(()),
                Ok(_) => {}
                Err(TransferError::Aborted { code, .. }) => return Err(code),
                Err(other) => unreachable!("{other}"),
            }
        }
    }

    pub(in crate::sim::model) fn download(
        &mut self,
        index: u16,
        value: &[u8],
    ) -> Result<(), Abort> {
        let address = Address::new(index, 0);
        self.transfer(address, false, value)?;
        let number = self.device.objects().number(address).unwrap();
        self.wanted.set_number(address, number);
        Ok(())
    }

    pub(in crate::sim::model) fn upload(&mut self, address: Address) -> Vec<u8> {
        let mut value = vec![0; 1000];
        let mut upload = Upload::new(address, false, &mut value);
        loop {
            let answer = self.coe(|it| upload.request(it));
            if let Progress::Done(length) = upload.answer(&answer).unwrap() {
                value.truncate(length);
                return value;
            }
        }
    }
}

impl<B: Behaviour> Bench<B> {
    pub(in crate::sim::model) fn write_entry(&mut self, address: Address, number: i64) {
        assert!(self.wanted.set_number(address, number));
    }

    /// Advances the device's own time without outputs.
    pub(in crate::sim::model) fn refresh(&mut self) {
        self.device.sync(Signal::Sync0, &mut self.fake);
    }

    /// A pulse without outputs before it.
    pub(in crate::sim::model) fn pulse(&mut self) {
        self.fake.now = self.fake.now.after(1_000_000);
        self.refresh();
    }
}
