use super::*;
use crate::main_device::bring_up::{find, prepare};
use crate::main_device::exchange::BlockingExchange;
use crate::main_device::link::Link;
use crate::main_device::mapping;
use crate::sim::WirePort;
use crate::sim::model::drive::{Drive, Parameters};
use crate::sim::{Application, Decision, Model, Pdi, Segment, StateChange, Time};
use crate::wire::State;
use crate::wire::coe::{Abort, Message, Request, Response};
use crate::wire::mailbox::{self, Header, Protocol};

/// A device that refuses some objects, as real ones with fixed process data do.
struct Silent {
    device: Box<dyn Application>,
    about: std::ops::RangeInclusive<u16>,
}

impl Silent {
    fn refused(&self, data: &[u8]) -> Option<Address> {
        match Message::read(data) {
            Ok(Message::Request(Request::Upload { address, .. })) => {
                self.about.contains(&address.index).then_some(address)
            }
            _ => None,
        }
    }
}

impl Application for Silent {
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
        let (header, data) = Header::read(message).unwrap();
        let Some(address) = self.refused(data) else {
            return self.device.mailbox(message, pdi);
        };
        let mut room = [0; 32];
        let abort = Response::<&[u8]>::Abort {
            address,
            code: Abort::NO_OBJECT,
        };
        let write = |it: &mut [u8]| abort.write(it);
        let length = mailbox::write(&mut room, Protocol::Coe, header.counter, write).unwrap();
        pdi.send(&room[..length], 0).unwrap();
    }

    fn next_run(&self) -> Time {
        self.device.next_run()
    }

    fn run(&mut self, pdi: &mut dyn Pdi) {
        self.device.run(pdi);
    }
}

/// The process data of a drive that refuses those objects; it reaches SAFEOP by that.
fn process_data(about: std::ops::RangeInclusive<u16>) -> (Vec<mapping::MappedManager>, u16, u16) {
    let model = Drive::device("drive", 1, Parameters::default())
        .model()
        .unwrap();
    let device = model.application;
    let model = Model {
        application: Box::new(Silent { device, about }),
        ..model
    };
    let segment = Segment::line([model], 1).unwrap();
    let mut link = Link::new(WirePort::new(segment), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut devices = find(&mut registers).unwrap();
    let mapped = mapping::read(&mut registers, &mut devices[0]).unwrap();
    prepare(&mut registers, &mut devices, None).unwrap();
    let demand = devices[0].process_data.demand();
    (mapped, demand.outputs, demand.inputs)
}

#[test]
fn a_device_that_hides_its_assignment_has_the_process_data_of_its_sii() {
    let from_sii = process_data(0..=0);
    assert!(
        from_sii.1 > 0 && from_sii.2 > 0 && from_sii.0.len() == 2,
        "{from_sii:?}"
    );
    assert_eq!(process_data(0x1C10..=0x1C2F), from_sii, "no list");
    assert_eq!(
        process_data(0x1600..=0x1BFF),
        from_sii,
        "lists, and no PDOs"
    );
    assert_eq!(process_data(0x1600..=0x1C2F), from_sii, "neither");
}
