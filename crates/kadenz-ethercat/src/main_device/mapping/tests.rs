//! The mapping as a SubDevice reports it, and its entries in the images.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::main_device::bring_up;
use crate::main_device::exchange::BlockingExchange;
use crate::main_device::link::Link;
use crate::sim::humanoid::humanoid;
use crate::sim::model::Device;
use crate::sim::model::drive::{Drive, Parameters, description};
use crate::sim::{Application, Decision, Model, Pdi, Segment, StateChange, Time, WirePort};
use crate::wire::coe::{self, Service};
use crate::wire::{Logical, State, mailbox};

#[test]
fn what_is_mapped_fills_the_process_data_of_every_device() {
    let mut link = Link::new(WirePort::new(humanoid(59).build().unwrap()), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    for device in &mut bring_up::find(&mut registers).unwrap() {
        let managers = read(&mut registers, device).unwrap();
        let bytes = |direction| {
            let mine = managers.iter().filter(|it| it.direction == direction);
            mine.map(|it| it.bits().div_ceil(8)).sum::<u32>()
        };
        let demand = device.process_data.demand();
        assert_eq!(
            bytes(Direction::Outputs),
            u32::from(demand.outputs),
            "{}",
            device.name
        );
        assert_eq!(
            bytes(Direction::Inputs),
            u32::from(demand.inputs),
            "{}",
            device.name
        );
        if device.name == "KZ-Drive" {
            let outputs = &managers[0].pdos[0];
            let first = &outputs.entries[0];
            assert_eq!(first.address, Some(Address::new(0x6040, 0)));
            assert!(
                !first.name.is_empty() && first.data_type.is_some(),
                "{first:?}"
            );
        }
    }
}

fn manager(number: u8, direction: Direction, bits: &[u8]) -> MappedManager {
    let entry = |bits: &u8| MappedEntry {
        address: None,
        bits: *bits,
        data_type: None,
        name: String::new(),
    };
    MappedManager {
        number,
        direction,
        pdos: vec![MappedPdo {
            index: 0x1A00,
            name: String::new(),
            entries: bits.iter().map(entry).collect(),
        }],
    }
}

#[test]
fn bits_follow_one_another_and_managers_begin_with_a_byte() {
    let managers = [
        manager(2, Direction::Outputs, &[16]),
        manager(3, Direction::Inputs, &[1, 2]),
        manager(4, Direction::Inputs, &[8]),
    ];
    let share = Share {
        frame: Some(0),
        outputs: 4..6,
        inputs: 10..12,
        logical_outputs: Logical(100),
        logical_inputs: Logical(200),
    };
    let all = placed(0, &managers, &share);
    let places: Vec<_> = all.iter().map(|it| (it.bit, it.logical_bit)).collect();
    assert_eq!(places, [(32, 800), (80, 1600), (81, 1601), (88, 1608)]);
}

/// A drive whose SII names no PDOs, and which answers no question about its dictionary.
struct Reticent {
    device: Box<dyn Application>,
    questions: Arc<AtomicU32>,
}

impl Application for Reticent {
    fn power_on(&mut self, pdi: &mut dyn Pdi) {
        self.device.power_on(pdi);
    }

    fn change(&mut self, change: StateChange, pdi: &mut dyn Pdi) -> Decision {
        self.device.change(change, pdi)
    }

    fn changed(&mut self, from: State, to: State, pdi: &mut dyn Pdi) {
        self.device.changed(from, to, pdi);
    }

    fn mailbox(&mut self, message: &[u8], pdi: &mut dyn Pdi) {
        let coe = coe::read_header(&message[mailbox::HEADER..]);
        match coe {
            Ok((Service::SdoInformation, _)) => _ = self.questions.fetch_add(1, Ordering::Relaxed),
            _ => self.device.mailbox(message, pdi),
        }
    }

    fn next_run(&self) -> Time {
        self.device.next_run()
    }

    fn run(&mut self, pdi: &mut dyn Pdi) {
        self.device.run(pdi);
    }
}

/// Reads the mapping of such a drive; returns the number of questions too.
fn read_reticent() -> (Vec<MappedManager>, u32) {
    let parameters = Parameters::default();
    let mut description = description("joint", 7, &parameters);
    description.pdos_in_sii = false;
    let model = Device::new(description, Drive::new(parameters)).model();
    let (model, questions) = (model.unwrap(), Arc::<AtomicU32>::default());
    let reticent = Reticent {
        device: model.application,
        questions: Arc::clone(&questions),
    };
    let application = Box::new(reticent);
    let segment = Segment::line(
        [Model {
            application,
            ..model
        }],
        1,
    )
    .unwrap();
    let mut link = Link::new(WirePort::new(segment), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut found = bring_up::find(&mut registers).unwrap();
    let managers = read(&mut registers, &mut found[0]).unwrap();
    (managers, questions.load(Ordering::Relaxed))
}

#[test]
fn a_device_that_ignores_questions_about_its_dictionary_is_asked_once() {
    let (managers, asked) = read_reticent();
    assert_eq!(asked, 1);
    let addresses = managers.iter().flat_map(|it| &it.pdos[0].entries);
    assert_eq!(addresses.filter(|it| it.address.is_some()).count(), 7);
}
