use super::*;
use crate::description::Object;
use crate::wire::State;
use crate::wire::coe::client::{Download, Progress, TransferError, Upload};
use crate::wire::coe::{
    Abort, Access, Address, DataType, Info, InfoError, ListType, Message, Request,
};
use crate::wire::mailbox::{self, Counter, ErrorDetail, Header, Protocol};
use crate::wire::sii::{Identity, SyncManagerUse};
use proptest::prelude::*;

const ASSIGN: Address = Address::new(0x1C13, 0);

/// A device with a mailbox of so many bytes, and its MainDevice.
struct Pair {
    dictionary: Dictionary,
    server: CoeServer,
    mailbox: usize,
    state: State,
    counter: Counter,
}

fn assignment(index: u16, pdos: &[u16], capacity: u8) -> Object {
    let access = Access::READ.and(Access::WRITE_PREOP);
    let mut object = Object::array(index, "PDO assignment", DataType::UNSIGNED16, access);
    for sub in 1..=capacity {
        let pdo = pdos.get(usize::from(sub) - 1).copied().unwrap_or(0);
        object = object.entry(
            sub,
            "SubIndex",
            DataType::UNSIGNED16,
            access,
            &pdo.to_le_bytes(),
        );
    }
    object.counting(pdos.len() as u8)
}

fn mapping(index: u16, mapped: &[u32]) -> Object {
    let access = Access::READ.and(Access::WRITE_PREOP);
    let mut object = Object::record(index, "PDO mapping", DataType::PDO_MAPPING);
    for (sub, mapped) in (1..).zip(mapped) {
        let name = "SubIndex";
        object = object.entry(
            sub,
            name,
            DataType::UNSIGNED32,
            access,
            &mapped.to_le_bytes(),
        );
    }
    object
}

fn pair(mailbox: usize) -> Pair {
    let uses = [
        SyncManagerUse::MailboxReceive,
        SyncManagerUse::MailboxSend,
        SyncManagerUse::Outputs,
        SyncManagerUse::Inputs,
    ];
    let identity = Identity {
        vendor: 2,
        product: 3,
        revision: 4,
        serial: 5,
    };
    let mut dictionary =
        Dictionary::standard(0x0192, identity, "A long name", ("1.0", "2.0"), &uses);
    let both = Access::READ.and(Access::TX_MAPPABLE);
    dictionary.add(Object::variable(
        0x6041,
        "Statusword",
        DataType::UNSIGNED16,
        both,
        &[0x21, 0],
    ));
    dictionary.add(
        Object::record(0x6000, "Inputs", DataType(0x800))
            .entry(1, "Bit", DataType::BOOLEAN, both, &[1])
            .entry(2, "Two", DataType::BIT2, both, &[2])
            .entry(
                3,
                "Signed",
                DataType::INTEGER16,
                both,
                &(-2_i16).to_le_bytes(),
            ),
    );
    dictionary.add(mapping(0x1A00, &[0x6041_0010]));
    dictionary.add(mapping(
        0x1A01,
        &[0x6000_0101, 0x6000_0202, 0x0000_0005, 0x6000_0310],
    ));
    dictionary.add(assignment(0x1C13, &[0x1A00], 4));
    Pair {
        dictionary,
        server: CoeServer::new(true),
        mailbox,
        state: State::PreOp,
        counter: Counter::NONE,
    }
}

impl Pair {
    fn ask(
        &mut self,
        write: impl FnOnce(&mut [u8]) -> Result<usize, mailbox::MailboxError>,
    ) -> Vec<u8> {
        let mut message = vec![0; self.mailbox];
        self.counter = self.counter.next();
        mailbox::write(&mut message, Protocol::Coe, self.counter, write).unwrap();
        let mut answer = vec![0; self.mailbox];
        let length = self
            .server
            .serve(
                &mut self.dictionary,
                self.state,
                &message,
                &mut answer,
                &mut |_, _, _| Ok(()),
            )
            .length;
        let (header, data) = Header::read(&answer[..length]).unwrap();
        assert_eq!(header.counter, self.counter);
        data.to_vec()
    }

    fn upload(&mut self, address: Address, complete: bool) -> Result<Vec<u8>, TransferError> {
        let mut value = vec![0; 70_000];
        let mut upload = Upload::new(address, complete, &mut value);
        loop {
            let answer = self.ask(|it| upload.request(it));
            if let Progress::Done(length) = upload.answer(&answer)? {
                value.truncate(length);
                return Ok(value);
            }
        }
    }

    fn download(&mut self, address: Address, complete: bool, value: &[u8]) -> Result<(), Abort> {
        let mut download = Download::new(address, complete, value, self.mailbox);
        loop {
            let answer = self.ask(|it| download.request(it));
            match download.answer(&answer) {
                Ok(Progress::Done(_)) => return Ok(()),
                Ok(_) => {}
                Err(TransferError::Aborted { code, .. }) => return Err(code),
                Err(other) => unreachable!("{other}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn any_value_goes_both_ways_through_any_mailbox(value in prop::collection::vec(any::<u8>(), 0..2000), mailbox in 24_usize..1500) {
        let mut pair = pair(mailbox);
        let access = Access::READ.and(Access::WRITE);
        pair.dictionary.add(Object::variable(0x2000, "Text", DataType::OCTET_STRING, access, &vec![0xAA; value.len()]));
        let address = Address::new(0x2000, 0);
        if !value.is_empty() {
            prop_assert_eq!(pair.download(address, false, &value), Ok(()));
        }
        prop_assert_eq!(pair.upload(address, false).unwrap(), value);
    }

    #[test]
    fn hostile_messages_neither_panic_nor_outgrow_the_mailbox(
        messages in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), 0_u8..16, any::<bool>()), 1..12),
    ) {
        let mut pair = pair(32);
        for (mut message, service, known) in messages {
            if known && message.len() >= 16 {
                let length = message.len() as u16 - 6;
                message[..2].copy_from_slice(&length.to_le_bytes());
                message[5] = 0x03;
                message[7] = service << 4;
                message[9..11].copy_from_slice(&0x1C13_u16.to_le_bytes());
            }
            let mut answer = [0; 32];
            pair.server.serve(&mut pair.dictionary, State::PreOp, &message, &mut answer, &mut |_, _, _| Ok(()));
            while pair.server.more(&mut answer).is_some() {}
        }
    }
}

#[test]
fn a_list_that_is_empty_is_read_by_complete_access_too() {
    let mut pair = pair(128);
    pair.dictionary.add(assignment(0x1C12, &[], 0));
    let list = Address::new(0x1C12, 0);
    assert_eq!(pair.upload(list, true).unwrap(), [0, 0]);
}

#[test]
fn complete_access_reads_and_writes_an_assignment_whole() {
    let mut pair = pair(128);
    assert_eq!(pair.upload(ASSIGN, true).unwrap(), [1, 0, 0x00, 0x1A]);
    assert_eq!(
        pair.download(ASSIGN, true, &[2, 0, 0x01, 0x1A, 0x00, 0x1A]),
        Ok(())
    );
    assert_eq!(
        pair.upload(Address::new(0x1C13, 1), true).unwrap(),
        [0x01, 0x1A, 0x00, 0x1A]
    );
    // One invalid PDO: nothing changes.
    assert_eq!(
        pair.download(ASSIGN, true, &[2, 0, 0x00, 0x1A, 0x00, 0x16]),
        Err(Abort::NOT_MAPPABLE)
    );
    assert_eq!(
        pair.upload(ASSIGN, true).unwrap(),
        [2, 0, 0x01, 0x1A, 0x00, 0x1A]
    );
    pair.server = CoeServer::new(false);
    assert!(matches!(
        pair.upload(ASSIGN, true),
        Err(TransferError::Aborted {
            code: Abort::UNSUPPORTED_ACCESS,
            ..
        })
    ));
}

#[test]
fn an_assignment_is_cleared_before_it_is_changed() {
    let mut pair = pair(64);
    let first = Address::new(0x1C13, 1);
    assert_eq!(
        pair.download(first, false, &[0x01, 0x1A]),
        Err(Abort::SUB_ZERO_NOT_CLEARED)
    );
    pair.download(ASSIGN, false, &[0]).unwrap();
    assert_eq!(
        pair.download(first, false, &[0x05, 0x1A]),
        Err(Abort::NOT_MAPPABLE)
    );
    pair.download(first, false, &[0x01, 0x1A]).unwrap();
    assert_eq!(
        pair.download(ASSIGN, false, &[5]),
        Err(Abort::VALUE_TOO_HIGH)
    );
    pair.download(ASSIGN, false, &[1]).unwrap();
    pair.state = State::Op;
    assert_eq!(pair.download(ASSIGN, false, &[0]), Err(Abort::STATE));
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let mut pair = pair(64);
    let at = Address::new;
    assert_eq!(
        pair.download(at(0x5FFF, 0), false, &[0]),
        Err(Abort::NO_OBJECT)
    );
    assert_eq!(
        pair.download(at(0x1018, 9), false, &[0]),
        Err(Abort::NO_SUB_INDEX)
    );
    assert_eq!(
        pair.download(at(0x1000, 0), false, &[0; 4]),
        Err(Abort::READ_ONLY)
    );
    assert_eq!(pair.download(ASSIGN, false, &[0, 0]), Err(Abort::TOO_LONG));
    let first = at(0x1C13, 1);
    assert_eq!(pair.download(first, false, &[0]), Err(Abort::TOO_SHORT));
}

#[test]
fn process_data_lies_as_the_mapping_says() {
    let mut pair = pair(64);
    pair.download(ASSIGN, true, &[2, 0, 0x01, 0x1A, 0x00, 0x1A])
        .unwrap();
    let map = ProcessMap::of(&pair.dictionary, 0x1C13);
    assert_eq!(map.bytes(), 5);
    let mut data = [0xFF; 5];
    map.put(&pair.dictionary, &mut data);
    // Bit, two bits, a gap of five that stays, i16, then the statusword.
    assert_eq!(data, [0b1111_1101, 0xFE, 0xFF, 0x21, 0x00]);
    map.take(&[0, 5, 0, 0x37, 0x02], &mut pair.dictionary);
    assert_eq!(pair.dictionary.number(Address::new(0x6000, 3)), Some(5));
    assert_eq!(pair.dictionary.number(Address::new(0x6041, 0)), Some(0x237));
    assert_eq!(pair.dictionary.number(Address::new(0x6000, 1)), Some(0));
}

#[test]
fn a_toggle_that_does_not_turn_ends_the_transfer() {
    let mut pair = pair(24);
    let address = Address::new(0x1008, 0);
    let request = Request::Upload {
        address,
        complete: false,
    };
    pair.ask(|it| request.write(it));
    let wrong = pair.ask(|it| Request::UploadSegment { toggle: true }.write(it));
    assert!(matches!(
        Message::read(&wrong),
        Ok(Message::Request(Request::Abort {
            code: Abort::TOGGLE,
            ..
        }))
    ));
    let after = pair.ask(|it| Request::UploadSegment { toggle: false }.write(it));
    assert!(matches!(
        Message::read(&after),
        Ok(Message::Request(Request::Abort {
            code: Abort::COMMAND,
            ..
        }))
    ));
}

#[test]
fn a_dictionary_lists_all_its_objects_in_pieces() {
    let mut pair = pair(20);
    let mut pieces = vec![pair.ask(|it| Info::<&[u8]>::ListRequest(ListType::ALL).write(it))];
    let mut message = [0; 20];
    while let Some(length) = pair.server.more(&mut message) {
        pieces.push(Header::read(&message[..length]).unwrap().1.to_vec());
    }
    let mut list = Vec::new();
    for (nth, piece) in pieces.iter().enumerate() {
        let Ok(Message::Info(Info::List { left, data })) = Message::read(piece) else {
            unreachable!("a list");
        };
        assert_eq!(usize::from(left), pieces.len() - 1 - nth);
        list.extend_from_slice(data);
    }
    let indices: Vec<_> = list
        .chunks_exact(2)
        .map(|it| u16::from_le_bytes([it[0], it[1]]))
        .collect();
    assert_eq!(indices[0], 1, "the list's type stands first");
    let expected: Vec<_> = pair
        .dictionary
        .objects()
        .iter()
        .map(|it| it.index)
        .collect();
    assert_eq!(indices[1..], expected);
}

#[test]
fn an_entry_is_described_and_an_absent_one_is_not() {
    let mut pair = pair(64);
    let mut ask = |sub| {
        pair.ask(|it| {
            Info::<&[u8]>::EntryRequest {
                index: 0x6000,
                sub,
                values: 0,
            }
            .write(it)
        })
    };
    let data = ask(2);
    let Ok(Message::Info(Info::Entry(entry))) = Message::read(&data) else {
        unreachable!("an entry");
    };
    assert_eq!((entry.bits, entry.data), (2, &b"Two"[..]));
    assert_eq!(
        Message::read(&ask(9)),
        Ok(Message::Info(Info::Error(InfoError(Abort::NO_SUB_INDEX))))
    );
}

#[test]
fn a_message_with_the_number_of_the_one_before_is_its_repetition() {
    let mut pair = pair(32);
    let mut serve = |number: u8| {
        let mut message = [0; 32];
        mailbox::write(
            &mut message,
            Protocol::Coe,
            Counter::from_bits(number),
            |it| {
                Request::Upload {
                    address: ASSIGN,
                    complete: false,
                }
                .write(it)
            },
        )
        .unwrap();
        let mut room = [0; 32];
        pair.server
            .serve(
                &mut pair.dictionary,
                State::PreOp,
                &message,
                &mut room,
                &mut |_, _, _| Ok(()),
            )
            .length
    };
    let answers = [1, 1, 2, 2, 2, 1, 0, 0, 1].map(|it| serve(it) > 0);
    assert_eq!(
        answers,
        [true, false, true, false, false, true, true, true, true],
        "0 is not counted"
    );
    pair.server.reset();
    assert!(serve_once(&mut pair), "in INIT all is forgotten");
}

fn serve_once(pair: &mut Pair) -> bool {
    pair.counter = Counter::NONE;
    pair.upload(ASSIGN, false).is_ok()
}

#[test]
fn another_protocol_is_answered_by_a_mailbox_error() {
    let mut pair = pair(32);
    let mut message = [0; 32];
    mailbox::write(&mut message, Protocol::Foe, Counter::from_bits(1), |_| {
        Ok(4)
    })
    .unwrap();
    let mut room = [0; 32];
    let answer = pair.server.serve(
        &mut pair.dictionary,
        State::PreOp,
        &message,
        &mut room,
        &mut |_, _, _| Ok(()),
    );
    let (header, data) = Header::read(&room[..answer.length]).unwrap();
    assert_eq!(header.protocol(), Some(Protocol::Error));
    assert_eq!(
        ErrorDetail::read(data),
        Some(ErrorDetail::UNSUPPORTED_PROTOCOL)
    );
}
