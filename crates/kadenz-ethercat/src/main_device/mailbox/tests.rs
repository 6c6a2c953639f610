//! Transfers while each of their frames in turn is lost, late or doubled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use kadenz_rt::clock::MonotonicTime;

use super::*;
use crate::control::inline_loop::InlineLoop;
use crate::description::Hardware;
use crate::description::Object;
use crate::description::{Coe, Description};
use crate::main_device::bring_up::{find, prepare};
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::{BlockingExchange, Exchange, ExchangeResult, FrameBuffer};
use crate::main_device::link::Link;
use crate::main_device::sdo::SdoError;
use crate::main_device::{dictionary, sdo};
use crate::sim::WirePort;
use crate::sim::coe::Dictionary;
use crate::sim::fault::{Fault, FrameFault, When, WireFault};
use crate::sim::model::{Behaviour, Device};
use crate::sim::{Application, Decision, DeviceId, Model, Pdi, Segment, StateChange, Time};
use crate::wire::coe::{Abort, Access, Address, DataType, ListType};
use crate::wire::sii::Identity;
use crate::wire::{Command, Datagrams, DatagramsMut, State};

/// Objects by their length: one for expedited transfer, one in a message, one in several.
const OBJECTS: [(u16, usize); 3] = [(0x2000, 4), (0x2001, 20), (0x2002, 300)];
/// Bytes of the mailboxes: a list of all objects takes several messages.
const MAILBOX: u16 = 40;
const LOSE: FrameFault = FrameFault::Lose { after: None };

/// The faults of a frame on its way there or back.
const FAULTS: [FrameFault; 6] = [
    LOSE,
    FrameFault::Lose { after: Some(0) },
    FrameFault::Corrupt { after: None },
    FrameFault::Truncate { length: 40 },
    FrameFault::Duplicate { ns: 30_000 },
    // Longer than the MainDevice waits for an answer.
    FrameFault::Delay { ns: 30_000_000 },
];

/// Counts how often a value is stored.
struct Tally(Arc<AtomicU32>);

impl Behaviour for Tally {
    fn check(&self, _: &Dictionary, _: Address, _: &[u8]) -> Result<(), Abort> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn segment(stored: &Arc<AtomicU32>) -> Segment {
    Segment::line([model(stored)], 1).unwrap()
}

fn model(stored: &Arc<AtomicU32>) -> Model {
    let access = Access::READ.and(Access::WRITE);
    let object = |(index, length): (u16, usize)| {
        let text = DataType::OCTET_STRING;
        Object::variable(index, "Value", text, access, &vec![0; length])
    };
    let coe = Coe {
        objects: OBJECTS.map(object).to_vec(),
        ..Coe::default()
    };
    let hardware = Hardware::et1100();
    let it = Description::new(hardware, Identity::default(), "KZ-Tally", "Tally");
    let device = Device::new(it.with_coe(coe, MAILBOX), Tally(Arc::clone(stored)));
    device.model().unwrap()
}

/// A device in PREOP.
struct Rig {
    link: Link<WirePort>,
    device: SubDevice,
    stored: Arc<AtomicU32>,
}

impl Rig {
    fn new() -> Self {
        let stored = Arc::new(AtomicU32::new(0));
        Self::of(segment(&stored), stored)
    }

    fn of(segment: Segment, stored: Arc<AtomicU32>) -> Self {
        let mut link = Link::new(WirePort::new(segment), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let device = find(&mut Registers::by(&mut exchange)).unwrap().remove(0);
        Self {
            link,
            device,
            stored,
        }
    }

    fn request<R>(&mut self, work: impl FnOnce(&mut Registers<'_>, &mut Mail<'_>) -> R) -> R {
        let mut exchange = BlockingExchange::over(&mut self.link);
        work(
            &mut Registers::by(&mut exchange),
            &mut self.device.mail().unwrap(),
        )
    }

    fn frames(&mut self) -> u64 {
        self.link.port_mut().segment().counts().frames
    }

    /// Repeats a work with a fault in its first frame, then the second, and so on up to its last; returns the
    /// number of frames.
    fn for_each_frame(
        &mut self,
        fault: FrameFault,
        at_once: u64,
        mut work: impl FnMut(&mut Self, u64),
    ) -> u64 {
        for nth in 1.. {
            let before = self.frames();
            let when = When::Frames(before + nth, before + nth + at_once);
            let plan = self.link.port_mut().segment_mut().faults();
            let planned = plan.add(when, Fault::Frame(fault)).unwrap();
            work(self, nth);
            self.link.port_mut().segment_mut().faults().remove(planned);
            if self.frames() < before + nth + at_once {
                return nth;
            }
        }
        0
    }
}

/// Writes a value and reads it again; it is stored once.
fn there_and_back(
    stored: &AtomicU32,
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    (index, length): (u16, usize),
    number: u64,
) -> Result<(), SdoError> {
    let value: Vec<u8> = (0..length).map(|it| (it as u64 ^ number) as u8).collect();
    let address = Address::new(index, 0);
    let before = stored.load(Ordering::Relaxed);
    sdo::write(registers, mail, address, false, &value)?;
    let times = stored.load(Ordering::Relaxed) - before;
    assert_eq!(
        times, 1,
        "stored once, with frame {number} of {address} spoiled"
    );
    let read = sdo::read(registers, mail, address, false)?;
    assert_eq!(read, value, "with frame {number} of {address} spoiled");
    Ok(())
}

#[test]
fn whichever_frame_of_a_transfer_is_spoiled_it_ends_well_and_nothing_is_done_twice() {
    let mut rig = Rig::new();
    for object in OBJECTS {
        for (fault, at_once) in FAULTS
            .map(|it| (it, 1))
            .into_iter()
            .chain([(LOSE, 2), (LOSE, 3)])
        {
            let spoiled = rig.for_each_frame(fault, at_once, |rig, number| {
                let stored = Arc::clone(&rig.stored);
                rig.request(|registers, mail| {
                    there_and_back(&stored, registers, mail, object, number)
                })
                .unwrap_or_else(|error| panic!("{fault:?} at {number} of {object:?}: {error}"));
            });
            assert!(spoiled >= 8, "{spoiled} frames are not a transfer");
        }
    }
}

#[test]
fn a_transfer_through_the_loop_loses_nothing_either() {
    let stored = Arc::new(AtomicU32::new(0));
    let mut link = Link::new(WirePort::new(segment(&stored)), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut devices = find(&mut registers).unwrap();
    let cycle = prepare(&mut registers, &mut devices, None).unwrap();
    let mut inline_loop = InlineLoop::new(link, cycle, Duration::from_millis(1));
    for fault in [LOSE, FrameFault::Lose { after: Some(0) }] {
        for nth in 1..80 {
            let segment = inline_loop.link_mut().port_mut().segment_mut();
            let frame = segment.counts().frames + nth;
            let plan = segment.faults();
            plan.add(When::Frame(frame), Fault::Frame(fault)).unwrap();
            let mut mail = devices[0].mail().unwrap();
            let registers = &mut Registers::by(&mut inline_loop);
            there_and_back(&stored, registers, &mut mail, OBJECTS[1], nth).unwrap();
        }
    }
}

#[test]
fn messages_that_follow_each_other_all_come_whichever_is_lost() {
    let mut rig = Rig::new();
    let list = |rig: &mut Rig| {
        rig.request(|registers, mail| dictionary::list(registers, mail, ListType::ALL))
            .unwrap()
    };
    let whole = list(&mut rig);
    let least = whole.len() * 2;
    assert!(
        least + 16 > usize::from(MAILBOX),
        "it takes several messages"
    );
    for fault in FAULTS {
        rig.for_each_frame(fault, 1, |rig, number| {
            assert_eq!(list(rig), whole, "{fault:?} at {number}");
        });
    }
}

#[test]
fn an_emergency_before_an_answer_is_kept_once() {
    let mut rig = Rig::new();
    for fault in FAULTS {
        rig.for_each_frame(fault, 1, |rig, number| {
            let port = rig.link.port_mut();
            let now = port.time();
            let fail = Fault::Wire(WireFault::Fail(DeviceId(0), 0x5000 + number as u16));
            port.segment_mut().inject(fail, now);
            let name = rig.request(|registers, mail| {
                let name = sdo::read(registers, mail, Address::new(0x1008, 0), false);
                mail.drain(registers).unwrap();
                name
            });
            assert_eq!(name.unwrap(), b"KZ-Tally");
            let codes: Vec<u16> = rig.device.emergencies.drain(..).map(|it| it.code).collect();
            assert_eq!(codes, [0x5000 + number as u16], "{fault:?} at {number}");
        });
    }
}

/// What is wrong with a message, and its bytes: the length of what follows the header, CoE; then the service in
/// the upper half of a byte.
const STRANGE: [(&str, [u8; 16]); 5] = [
    (
        "service 15",
        [10, 0, 0, 0, 0, 3, 0, 0xF0, 0, 0, 0, 0, 0, 0, 0, 0],
    ),
    (
        "command 0xE0",
        [10, 0, 0, 0, 0, 3, 0, 0x30, 0xE0, 0, 0, 0, 0, 0, 0, 0],
    ),
    (
        "cut short: 1 bytes",
        [1, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ),
    (
        "cut short: 3 bytes",
        [5, 0, 0, 0, 0, 3, 0, 0x30, 0x60, 0, 0, 0, 0, 0, 0, 0],
    ),
    (
        "cut short: 40 bytes",
        [0xD0, 7, 0, 0, 0, 3, 0, 0x30, 0x60, 0, 0, 0, 0, 0, 0, 0],
    ),
];

/// A device that sends a strange message before each answer, or in its place.
struct Talkative {
    device: Box<dyn Application>,
    says: Vec<u8>,
    answers: Arc<AtomicBool>,
}

impl Application for Talkative {
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
        pdi.send(&self.says, 1_000).unwrap();
        if self.answers.load(Ordering::Relaxed) {
            self.device.mailbox(message, pdi);
        }
    }

    fn next_run(&self) -> Time {
        self.device.next_run()
    }

    fn run(&mut self, pdi: &mut dyn Pdi) {
        self.device.run(pdi);
    }
}

#[test]
fn an_unreadable_message_is_no_answer_and_is_reported_without_one() {
    for (what, says) in STRANGE {
        let stored = Arc::new(AtomicU32::new(0));
        let answers = Arc::new(AtomicBool::new(true));
        let mut model = model(&stored);
        model.application = Box::new(Talkative {
            device: model.application,
            says: says.to_vec(),
            answers: Arc::clone(&answers),
        });
        let mut rig = Rig::of(Segment::line([model], 1).unwrap(), stored);
        let stored = Arc::clone(&rig.stored);
        for object in OBJECTS {
            rig.request(|registers, mail| there_and_back(&stored, registers, mail, object, 1))
                .unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        answers.store(false, Ordering::Relaxed);
        let address = Address::new(0x1000, 0);
        let asked = rig.request(|registers, mail| sdo::get::<4>(registers, mail, address));
        let Err(SdoError::Mail(error @ MailError::Unreadable { times: 1, .. })) = asked else {
            panic!("{what}: {asked:?}");
        };
        let words = error.to_string();
        assert!(
            words.contains("the SubDevice with address") && words.contains("firmware"),
            "{words}"
        );
        let code = what.replace("service", "CoE service");
        assert!(
            words.contains(&code.replace("command", "SDO command")),
            "{what}: {words}"
        );
    }
}

#[test]
fn a_new_main_device_is_not_taken_for_an_earlier_one() {
    let mut rig = Rig::new();
    for number in 0..20 {
        // Another program, which knows no number, asks once or twice.
        rig.device.counter = Numbering::default();
        let stored = Arc::clone(&rig.stored);
        rig.request(|registers, mail| {
            if number % 2 == 0 {
                sdo::get::<4>(registers, mail, Address::new(0x1000, 0)).unwrap();
            }
            there_and_back(&stored, registers, mail, OBJECTS[0], number).unwrap();
        });
    }
    let asked = rig.request(|registers, mail| {
        let address = Address::new(0x1018, 1);
        let before = sdo::get::<4>(registers, mail, address).unwrap();
        (address, before)
    });
    for fault in FAULTS {
        rig.for_each_frame(fault, 1, |rig, number| {
            rig.device.counter = Numbering::default();
            let again = rig.request(|registers, mail| sdo::get::<4>(registers, mail, asked.0));
            assert_eq!(again.unwrap(), asked.1, "{fault:?} at {number}");
        });
    }
}

/// A way to a device that never repeats: its repeat request goes nowhere.
struct NeverAgain<'w>(BlockingExchange<'w, WirePort>);

impl NeverAgain<'_> {
    fn is_repeat_request(frame: &FrameBuffer) -> bool {
        let first = Datagrams::of(frame.bytes())
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        first.command == Command::Fpwr && first.address.register() == 0x080E
    }

    fn swallow(frame: &mut FrameBuffer) {
        for datagram in DatagramsMut::of(frame.bytes_mut()).unwrap() {
            datagram.unwrap().count(1);
        }
    }
}

impl Exchange for NeverAgain<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        if Self::is_repeat_request(frame) {
            Self::swallow(frame);
            return Ok(());
        }
        self.0.exchange(frame)
    }

    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        self.0.exchange_once(frame)
    }

    fn pause(&mut self, span: Duration) {
        self.0.pause(span);
    }

    fn now(&self) -> MonotonicTime {
        self.0.now()
    }
}

#[test]
fn of_a_device_that_does_not_repeat_a_lost_answer_is_an_error_and_a_lost_question_none() {
    let mut rig = Rig::new();
    let mut errors = Vec::new();
    for fault in [LOSE, FrameFault::Lose { after: Some(0) }] {
        let mut messages = Vec::new();
        rig.for_each_frame(fault, 1, |rig, _| {
            let mut exchange = NeverAgain(BlockingExchange::over(&mut rig.link));
            let mut registers = Registers::by(&mut exchange);
            let mut mail = rig.device.mail().unwrap();
            let read = sdo::get::<4>(&mut registers, &mut mail, Address::new(0x1000, 0));
            messages.extend(read.err().map(|it| it.to_string()));
        });
        errors.push(messages);
    }
    let [lost, asked] = &errors[..] else {
        unreachable!("two faults");
    };
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert!(
        lost[0].starts_with("the answer of the SubDevice with address 0x1001")
            && lost[0].contains("retry"),
        "{lost:?}"
    );
    assert_eq!(asked[..], [""; 0]);
}

#[test]
fn mailboxes_that_carry_nothing_are_reported_with_their_size() {
    let mut device = Rig::new().device;
    let error = |device: &mut SubDevice| device.mail().err().unwrap().to_string();
    device.mailboxes.send.size = 0;
    assert!(error(&mut device).contains("has no mailbox"));
    device.mailboxes.send.size = 2_000;
    let message = error(&mut device);
    assert!(
        message.contains("2000 bytes") && message.contains("16 to 1486"),
        "{message}"
    );
}
