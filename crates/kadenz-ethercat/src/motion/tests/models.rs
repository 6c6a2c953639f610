//! Drives with special behaviour for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::description::PdoEntry;
use crate::sim::coe::Dictionary;
use crate::sim::model::drive::{Drive, Parameters, description};
use crate::sim::model::{Behaviour, Device, Moment};
use crate::sim::{Application, Decision, Model, Pdi, Signal, StateChange, Time};
use crate::wire::State;
use crate::wire::cia402::{Controlword, DriveState, object};
use crate::wire::coe::{Abort, Address, DataType, Emergency};

/// A drive that does not have some objects.
pub(super) fn drive(parameters: Parameters, without: &[u16]) -> Model {
    model(Drive::new(parameters), parameters, without)
}

fn model(behaviour: impl Behaviour, parameters: Parameters, without: &[u16]) -> Model {
    let mut description = description("joint", 7, &parameters);
    if let Some(coe) = &mut description.coe {
        coe.objects.retain(|it| !without.contains(&it.index));
    }
    Device::new(description, behaviour).model().unwrap()
}

/// A drive whose PDO 0x1600 carries these objects.
pub(super) fn with_outputs(indices: &[(u16, DataType)]) -> Model {
    let parameters = Parameters::default();
    let mut description = description("joint", 7, &parameters);
    let entries = indices.iter();
    description.pdos[0].entries = entries
        .map(|(index, data_type)| PdoEntry::new(*index, 0, "output", *data_type))
        .collect();
    Device::new(description, Drive::new(parameters))
        .model()
        .unwrap()
}

/// A controlword that a drive obeys once in place of the MainDevice's; 0 for none.
pub(super) type OwnWill = Arc<AtomicU16>;

/// A drive with commands of its own: a limit switch, an operator at its panel.
pub(super) fn willed(will: &OwnWill) -> Model {
    let parameters = Parameters::default();
    let willed = Willed {
        drive: Drive::new(parameters),
        will: Arc::clone(will),
        leaves_quick_stop: true,
    };
    model(willed, parameters, &[])
}

/// A drive that cannot be enabled from its quick stop: it lacks transition 16.
pub(super) fn without_transition_16() -> Model {
    let parameters = Parameters::default();
    let willed = Willed {
        drive: Drive::new(parameters),
        will: OwnWill::default(),
        leaves_quick_stop: false,
    };
    model(willed, parameters, &[])
}

struct Willed {
    drive: Drive,
    will: OwnWill,
    leaves_quick_stop: bool,
}

impl Behaviour for Willed {
    fn power_on(&mut self, objects: &mut Dictionary) {
        self.drive.power_on(objects);
    }

    fn step(&mut self, moment: Moment, objects: &mut Dictionary) -> Option<Emergency> {
        let controlword = Address::new(object::CONTROLWORD, 0);
        let word = self.will.swap(0, Ordering::Relaxed);
        if word != 0 {
            objects.set_number(controlword, word.into());
        }
        let stays = !self.leaves_quick_stop && self.drive.state() == DriveState::QuickStopActive;
        let enable = Some(i64::from(Controlword::ENABLE_OPERATION.0));
        if stays && objects.number(controlword) == enable {
            objects.set_number(controlword, Controlword::QUICK_STOP.0.into());
        }
        self.drive.step(moment, objects)
    }

    fn check(&self, objects: &Dictionary, address: Address, value: &[u8]) -> Result<(), Abort> {
        self.drive.check(objects, address, value)
    }

    fn process_data_lost(&mut self, objects: &mut Dictionary) -> Option<Emergency> {
        self.drive.process_data_lost(objects)
    }

    fn fail(&mut self, code: u16, objects: &mut Dictionary) -> Option<Emergency> {
        self.drive.fail(code, objects)
    }

    fn period_ns(&self) -> Option<u64> {
        self.drive.period_ns()
    }
}

/// The same device, which takes so long from SAFEOP to OP.
pub(super) fn slow(model: Model, ns: u64) -> Model {
    let slow = Slow {
        device: model.application,
        ns,
        ready: Time::NEVER,
    };
    Model {
        application: Box::new(slow),
        ..model
    }
}

struct Slow {
    device: Box<dyn Application>,
    ns: u64,
    ready: Time,
}

impl Application for Slow {
    fn power_on(&mut self, pdi: &mut dyn Pdi) {
        self.ready = Time::NEVER;
        self.device.power_on(pdi);
    }

    fn change(&mut self, change: StateChange, pdi: &mut dyn Pdi) -> Decision {
        let decision = self.device.change(change, pdi);
        if change.to != State::Op || decision != Decision::Accept {
            return decision;
        }
        self.ready = pdi.now().after(self.ns);
        Decision::Later
    }

    fn changed(&mut self, from: State, to: State, pdi: &mut dyn Pdi) {
        self.device.changed(from, to, pdi);
    }

    fn mailbox(&mut self, message: &[u8], pdi: &mut dyn Pdi) {
        self.device.mailbox(message, pdi);
    }

    fn outputs_written(&mut self, sync_manager: u8, pdi: &mut dyn Pdi) {
        self.device.outputs_written(sync_manager, pdi);
    }

    fn inputs_read(&mut self, sync_manager: u8, pdi: &mut dyn Pdi) {
        self.device.inputs_read(sync_manager, pdi);
    }

    fn sync(&mut self, signal: Signal, pdi: &mut dyn Pdi) {
        self.device.sync(signal, pdi);
    }

    fn next_run(&self) -> Time {
        self.device.next_run().min(self.ready)
    }

    fn run(&mut self, pdi: &mut dyn Pdi) {
        if self.ready <= pdi.now() {
            self.ready = Time::NEVER;
            pdi.settle(Ok(()));
        }
        if self.device.next_run() <= pdi.now() {
            self.device.run(pdi);
        }
    }

    fn fail(&mut self, code: u16, pdi: &mut dyn Pdi) {
        self.device.fail(code, pdi);
    }
}
