//! Measures what a virtual segment costs: the time that one frame of process data takes through 59 devices.
//!
//! `cargo run --release -p kadenz-ethercat --example segment_cost [devices]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example that prints"
)]

use kadenz_ethercat::description::Hardware;
use kadenz_ethercat::sim::{Model, Passive, Segment, Time};
use kadenz_ethercat::wire::sync_manager::SyncManagerControl;
use kadenz_ethercat::wire::{
    Command, Configured, DatagramAddress, Fmmu, FrameWriter, Position, SyncManager, register,
};
use kadenz_rt::clock;

const FRAMES: u64 = 100_000;

fn one(segment: &mut Segment, command: Command, address: DatagramAddress, data: &[u8]) {
    let mut frame = [0; 200];
    let mut writer = FrameWriter::new(&mut frame, [0x10; 6]).unwrap();
    let slot = writer.push(command, 0, address, data.len()).unwrap();
    writer.data(slot).copy_from_slice(data);
    let length = writer.finish();
    segment.pass(&mut frame[..length], Time::ZERO);
}

/// Sets station addresses, and maps process data of `each` bytes out and as many in.
fn configure(segment: &mut Segment, devices: u16, each: u16) {
    for device in 0..devices {
        let at = |register| DatagramAddress::position(Position(device), register);
        let station = (0x1000 + device).to_le_bytes();
        one(
            segment,
            Command::Apwr,
            at(register::STATION_ADDRESS),
            &station,
        );
        let managers = [
            SyncManager::new(0x1100, each, SyncManagerControl::OUTPUTS).to_bytes(),
            SyncManager::new(0x1400, each, SyncManagerControl::INPUTS).to_bytes(),
        ];
        one(
            segment,
            Command::Apwr,
            at(register::SYNC_MANAGER + 16),
            &managers.concat(),
        );
        let logical = u32::from(device) * u32::from(each);
        let maps = [
            Fmmu::bytes(logical, each, 0x1100).writing().to_bytes(),
            Fmmu::bytes(logical, each, 0x1400).reading().to_bytes(),
        ];
        one(segment, Command::Apwr, at(register::FMMU), &maps.concat());
    }
}

fn measure(name: &str, segment: &mut Segment, build: impl Fn(&mut FrameWriter<'_>)) {
    let mut frame = [0; 1514];
    let mut writer = FrameWriter::new(&mut frame, [0x10; 6]).unwrap();
    build(&mut writer);
    let length = writer.finish();
    let mut took = Vec::with_capacity(FRAMES as usize);
    for number in 0..FRAMES {
        let mut sent = frame;
        let start = clock::now();
        segment.pass(&mut sent[..length], Time(number * 1_000_000));
        took.push(clock::now().since(start));
    }
    took.sort_unstable();
    let of = |part: f64| took[((took.len() - 1) as f64 * part) as usize];
    println!(
        "{name}, {length} bytes: p50 {} ns, p99 {} ns, max {} ns of {FRAMES} frames",
        of(0.5),
        of(0.99),
        of(1.0)
    );
}

fn main() {
    let devices: u16 = std::env::args().nth(1).map_or(59, |it| it.parse().unwrap());
    let model = || Model {
        hardware: Hardware::et1100(),
        sii: Vec::new(),
        application: Box::new(Passive),
    };
    let mut segment = Segment::line((0..devices).map(|_| model()), 1).unwrap();
    let each = 1_400 / devices.max(1);
    configure(&mut segment, devices, each);
    let data = usize::from(each * devices);
    let clock = DatagramAddress::configured(Configured(0x1000), register::DC_SYSTEM_TIME);
    measure("LRW of all", &mut segment, |frame| {
        frame
            .push(Command::Lrw, 0, DatagramAddress::from_raw(0), data)
            .unwrap();
    });
    measure("LRW of all and FRMW of the clock", &mut segment, |frame| {
        frame.push(Command::Frmw, 0, clock, 8).unwrap();
        frame
            .push(Command::Lrw, 1, DatagramAddress::from_raw(0), data)
            .unwrap();
    });
    measure("a state of each by FPRD", &mut segment, |frame| {
        for device in 0..devices.min(100) {
            let address =
                DatagramAddress::configured(Configured(0x1000 + device), register::AL_STATUS);
            frame.push(Command::Fprd, 0, address, 2).unwrap();
        }
    });
    measure("BRD of 1400 bytes", &mut segment, |frame| {
        frame
            .push(Command::Brd, 0, DatagramAddress::broadcast(0x1000), 1_400)
            .unwrap();
    });
}
