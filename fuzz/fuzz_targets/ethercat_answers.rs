//! A SubDevice that answers anything, with frames lost and any working counters: reading objects, their list and the
//! PDO mapping ends, and keeps no more bytes than the answers hold.
#![no_main]

use std::time::Duration;

use kadenz_ethercat::main_device::device::{ProcessData, SubDevice};
use kadenz_ethercat::main_device::exchange::{Exchange, ExchangeError, FrameBuffer, Registers};
use kadenz_ethercat::main_device::mailbox::Numbering;
use kadenz_ethercat::main_device::{dictionary, mapping, sdo};
use kadenz_ethercat::wire::coe::{Address, ListType};
use kadenz_ethercat::wire::sii::{Area, Identity, Mailboxes, Protocols};
use kadenz_ethercat::wire::{Configured, DatagramsMut, DlStatus, Position};
use kadenz_rt::clock::MonotonicTime;
use libfuzzer_sys::fuzz_target;

/// Bytes of either mailbox.
const MAILBOX: u16 = 32;

fuzz_target!(|bytes: &[u8]| {
    let mut way = AnyAnswers { bytes, now: 0 };
    let mut registers = Registers::by(&mut way);
    let mut device = device();
    for complete in [false, true] {
        let mut mail = device.mail().expect("mailboxes of a usual size");
        let address = Address::new(0x1008, 0);
        if let Ok(value) = sdo::read(&mut registers, &mut mail, address, complete) {
            assert!(value.len() <= 1 << 20);
        }
        let _ = sdo::get::<1>(&mut registers, &mut mail, address);
        let _ = sdo::write(&mut registers, &mut mail, address, complete, &[1; 40]);
        if let Ok(all) = dictionary::list(&mut registers, &mut mail, ListType::ALL) {
            assert!(all.len() <= 65_536);
        }
        let _ = dictionary::entry(&mut registers, &mut mail, address);
        let _ = mapping::read(&mut registers, &mut device);
    }
    assert!(device.emergencies.len() <= 64);
});

/// Answers with the fuzzer's bytes, until they are used up.
struct AnyAnswers<'b> {
    bytes: &'b [u8],
    now: u64,
}

impl Exchange for AnyAnswers<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> Result<(), ExchangeError> {
        match self.exchange_once(frame)? {
            true => Ok(()),
            false => Err(ExchangeError::Lost(Duration::from_millis(1), 1)),
        }
    }

    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> Result<bool, ExchangeError> {
        self.now += 1_000_000;
        let Some((kind, rest)) = self.bytes.split_first() else {
            return Ok(false);
        };
        self.bytes = rest;
        if kind & 0x80 != 0 {
            return Ok(false);
        }
        for datagram in DatagramsMut::of(frame.bytes_mut())? {
            let mut datagram = datagram?;
            let length = datagram.data.len().min(self.bytes.len());
            let (came, rest) = self.bytes.split_at(length);
            datagram.data[..length].copy_from_slice(came);
            self.bytes = rest;
            datagram.count(u16::from(kind & 0x40 == 0));
        }
        Ok(true)
    }

    fn pause(&mut self, span: Duration) {
        self.now += span.as_nanos() as u64;
    }

    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_ns(self.now)
    }
}

fn device() -> SubDevice {
    let area = |start| Area {
        start,
        size: MAILBOX,
    };
    SubDevice {
        position: Position(0),
        station: Configured(0x1001),
        alias: 0,
        name: String::new(),
        identity: Identity::default(),
        protocols: Protocols::COE,
        mailboxes: Mailboxes {
            receive: area(0x1000),
            send: area(0x1080),
        },
        features: 0,
        fmmus: 4,
        sync_managers: 4,
        links: DlStatus(0),
        sii: kadenz_ethercat::sim::model::terminal::el3004()
            .description()
            .sii()
            .expect("it fits"),
        process_data: ProcessData::default(),
        counter: Numbering::fresh(),
        emergencies: Vec::new(),
    }
}
