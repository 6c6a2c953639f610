use super::*;
use crate::description::Hardware;
use crate::sim::{Decision, Passive, StateChange};
use crate::wire::sync_manager::SyncManagerControl;
use crate::wire::{
    Addressing, AlControl, AlStatusCode, Command, Configured, DatagramAddress, DatagramMut,
    Datagrams, DatagramsMut, Fmmu, FrameWriter, Position, SyncManager,
};

impl Arrival {
    /// An arrival at port 0 alone, as for a single device.
    pub(in crate::sim) const fn at(time: Time) -> Self {
        Self {
            unit: time,
            ports: [time, Time::NEVER, Time::NEVER, Time::NEVER],
        }
    }
}

impl SubDeviceController {
    /// Passes a datagram as a single device on a wire does, without any further effects: due events, and the
    /// application. A segment does the same, faster.
    pub(in crate::sim) fn pass(&mut self, datagram: &mut DatagramMut<'_>, arrival: &Arrival) {
        let Some(command) = datagram.command() else {
            return;
        };
        let address = datagram.address();
        datagram.add_events(self.events());
        let multiple = matches!(command, Command::Armw | Command::Frmw);
        let role = match command.addressing() {
            Addressing::None => None,
            Addressing::Logical => {
                let grown = self.serve_logical(command, address.raw(), datagram.data);
                return datagram.count(grown);
            }
            Addressing::Broadcast => Some(Role::OneOfMany),
            Addressing::Position if address.device() == 0 => Some(Role::Meant),
            Addressing::Configured if self.is(address.device()) => Some(Role::Meant),
            _ => multiple.then_some(Role::OneOfMany),
        };
        if matches!(
            command.addressing(),
            Addressing::Position | Addressing::Broadcast
        ) {
            datagram.set_address(address.passed());
        }
        if let Some(role) = role {
            let grown = self.serve(command, role, address, datagram.data, arrival);
            datagram.count(grown);
        }
    }
}

/// A device on a wire of its own, and a MainDevice that sends one datagram a frame.
pub(super) struct Bench {
    device: SubDeviceController,
    now: Time,
}

pub(super) fn sii() -> Vec<u8> {
    let mut image = vec![0; 256];
    // CRC-8 of seven words of zero.
    image[14] = 0x30;
    image
}

impl Bench {
    fn new(application: impl Application) -> Self {
        let model = Model {
            hardware: Hardware::et1100(),
            sii: sii(),
            application: Box::new(application),
        };
        Self {
            device: SubDeviceController::new(model, DeviceSettings::default(), Time::ZERO),
            now: Time::ZERO,
        }
    }

    /// Sends a datagram; returns its data on return, and the working counter.
    fn send(&mut self, command: Command, address: DatagramAddress, data: &[u8]) -> (Vec<u8>, u16) {
        let mut frame = [0; 1514];
        let mut writer = FrameWriter::new(&mut frame, [0x10; 6]).unwrap();
        let slot = writer.push(command, 0, address, data.len()).unwrap();
        writer.data(slot).copy_from_slice(data);
        let length = writer.finish();
        self.now = self.now.after(10_000);
        self.device.advance(self.now);
        for datagram in DatagramsMut::of(&mut frame[..length]).unwrap() {
            self.device
                .pass(&mut datagram.unwrap(), &Arrival::at(self.now));
        }
        self.device.finish_frame(self.now);
        let back = Datagrams::of(&frame[..length]).unwrap().next().unwrap();
        let back = back.unwrap();
        (back.data.to_vec(), back.working_counter)
    }

    fn write(&mut self, register: u16, data: &[u8]) -> u16 {
        self.send(
            Command::Apwr,
            DatagramAddress::position(Position(0), register),
            data,
        )
        .1
    }

    fn read<const N: usize>(&mut self, register: u16) -> ([u8; N], u16) {
        let (data, count) = self.send(
            Command::Aprd,
            DatagramAddress::position(Position(0), register),
            &[0; N],
        );
        (data.try_into().unwrap(), count)
    }

    fn ask(&mut self, control: AlControl) -> (u8, u16) {
        self.write(register::AL_CONTROL, &control.0.to_le_bytes());
        let (status, _) = self.read::<6>(register::AL_STATUS);
        (status[0], u16::from_le_bytes([status[4], status[5]]))
    }

    fn manager(&mut self, number: u16, manager: SyncManager) {
        let at = register::SYNC_MANAGER + number * register::SYNC_MANAGER_SIZE;
        assert_eq!(self.write(at, &manager.to_bytes()), 1);
    }
}

/// Answers each message with its bytes reversed, refuses OP, adds one to outputs for inputs.
#[derive(Default)]
struct Echo {
    expired: u32,
    pulses: Vec<(Signal, u64)>,
    later: bool,
    run_at: Option<Time>,
}

impl Application for Echo {
    fn change(&mut self, change: StateChange, pdi: &mut dyn Pdi) -> Decision {
        match change.to {
            State::Op => Decision::Refuse(AlStatusCode::NO_OUTPUTS),
            State::SafeOp if self.later => {
                self.run_at = Some(pdi.now().after(1_000_000));
                Decision::Later
            }
            _ => Decision::Accept,
        }
    }

    fn mailbox(&mut self, message: &[u8], pdi: &mut dyn Pdi) {
        let answer: Vec<u8> = message.iter().rev().copied().collect();
        pdi.send(&answer, 0).unwrap();
    }

    fn outputs_written(&mut self, sync_manager: u8, pdi: &mut dyn Pdi) {
        let mut bytes = [0; 4];
        assert_eq!(pdi.outputs(sync_manager, &mut bytes), Ok(4));
        pdi.set_inputs(3, &bytes.map(|it| it + 1)).unwrap();
    }

    fn watchdog_expired(&mut self, _pdi: &mut dyn Pdi) {
        self.expired += 1;
    }

    fn sync(&mut self, signal: Signal, pdi: &mut dyn Pdi) {
        self.pulses.push((signal, pdi.system_time()));
    }

    fn next_run(&self) -> Time {
        self.run_at.unwrap_or(Time::NEVER)
    }

    fn run(&mut self, pdi: &mut dyn Pdi) {
        self.run_at = None;
        pdi.settle(Ok(()));
    }
}

fn echo(bench: &mut Bench) -> &mut Echo {
    let any: &mut dyn std::any::Any = bench.device.application_mut();
    any.downcast_mut().unwrap()
}

#[test]
fn commands_count_as_the_standard_says() {
    let mut bench = Bench::new(Passive);
    let ram = 0x1000;
    let here = DatagramAddress::position(Position(0), ram);
    assert_eq!(bench.send(Command::Apwr, here, &[1, 2]).1, 1);
    assert_eq!(bench.send(Command::Aprd, here, &[0, 0]), (vec![1, 2], 1));
    assert_eq!(bench.send(Command::Aprw, here, &[8, 9]), (vec![1, 2], 3));
    assert_eq!(
        bench.send(Command::Brd, DatagramAddress::broadcast(ram), &[0x80, 0]),
        (vec![0x88, 9], 1),
        "a broadcast adds bits"
    );
    let other = DatagramAddress::position(Position(1), ram);
    assert_eq!(bench.send(Command::Aprd, other, &[0, 0]), (vec![0, 0], 0));
    assert_eq!(bench.send(Command::Armw, other, &[5, 5]).1, 1);
    assert_eq!(bench.send(Command::Armw, here, &[0, 0]), (vec![5, 5], 1));
    bench.write(register::STATION_ADDRESS, &[0x01, 0x10]);
    let named = DatagramAddress::configured(Configured(0x1001), ram);
    assert_eq!(bench.send(Command::Fprd, named, &[0, 0]), (vec![5, 5], 1));
    assert_eq!(bench.send(Command::Fprw, named, &[1, 1]).1, 3);
    let unknown = DatagramAddress::configured(Configured(0x1002), ram);
    assert_eq!(bench.send(Command::Fprd, unknown, &[0, 0]).1, 0);
}

#[test]
fn what_is_not_there_does_not_count() {
    let mut bench = Bench::new(Passive);
    assert_eq!(bench.write(0x2FFF, &[1, 2]), 0, "behind 8 KiB");
    assert_eq!(bench.read::<2>(0x2FFE).1, 1, "the last two bytes");
    assert_eq!(bench.write(register::TYPE, &[9]), 0, "read only");
    assert_eq!(bench.read::<1>(register::TYPE), ([0x11], 1));
}

#[test]
fn states_go_up_one_by_one_and_errors_are_acknowledged() {
    let mut bench = Bench::new(Echo::default());
    let (request, acknowledge) = (AlControl::request, AlControl::acknowledge);
    assert_eq!(bench.ask(request(State::SafeOp)), (0x11, 0x0011), "no leap");
    assert_eq!(bench.ask(request(State::PreOp)), (0x11, 0x0011), "not yet");
    assert_eq!(bench.ask(acknowledge(State::Init)), (0x01, 0));
    assert_eq!(bench.ask(request(State::PreOp)), (0x02, 0));
    assert_eq!(bench.ask(AlControl(5)), (0x12, 0x0012), "no such state");
    assert_eq!(bench.ask(acknowledge(State::SafeOp)), (0x04, 0));
    assert_eq!(bench.ask(request(State::Op)), (0x14, 0x0019), "refused");
    let refused = bench.ask(request(State::PreOp));
    assert_eq!(refused, (0x14, 0x0019), "not acknowledged");
    assert_eq!(bench.ask(request(State::Init)), (0x01, 0), "INIT always");
}

#[test]
fn al_control_takes_nothing_until_the_application_has_looked() {
    let mut bench = Bench::new(Echo::default());
    bench.device.chip.settings.firmware_ns = 1_000_000;
    let write = |bench: &mut Bench, control: AlControl| {
        bench.write(register::AL_CONTROL, &control.0.to_le_bytes())
    };
    let status = |bench: &mut Bench| bench.read::<1>(register::AL_STATUS).0[0];
    assert_eq!(write(&mut bench, AlControl::request(State::Op)), 1);
    assert_eq!(write(&mut bench, AlControl::request(State::PreOp)), 0);
    assert_eq!(status(&mut bench), 0x01, "it has not looked");
    bench.now = bench.now.after(1_000_000);
    assert_eq!(status(&mut bench), 0x11, "what was written first");
    assert_eq!(write(&mut bench, AlControl::acknowledge(State::Init)), 1);
    assert_eq!(write(&mut bench, AlControl::request(State::PreOp)), 0);
    assert_eq!(status(&mut bench), 0x11, "the old error stands");
    bench.now = bench.now.after(1_000_000);
    assert_eq!(status(&mut bench), 0x01);
    assert_eq!(write(&mut bench, AlControl::request(State::PreOp)), 1);
    bench.now = bench.now.after(1_000_000);
    assert_eq!(status(&mut bench), 0x02);
}

#[test]
fn a_change_may_take_its_time() {
    let mut bench = Bench::new(Echo {
        later: true,
        ..Echo::default()
    });
    bench.ask(AlControl::request(State::PreOp));
    assert_eq!(bench.ask(AlControl::request(State::SafeOp)), (0x02, 0));
    bench.now = bench.now.after(1_000_000);
    assert_eq!(bench.read::<1>(register::AL_STATUS).0, [0x04]);
}

#[test]
fn a_mailbox_is_written_once_and_read_once() {
    let mut bench = Bench::new(Echo::default());
    bench.manager(
        0,
        SyncManager::new(0x1000, 8, SyncManagerControl::MAILBOX_OUT),
    );
    bench.manager(
        1,
        SyncManager::new(0x1080, 8, SyncManagerControl::MAILBOX_IN),
    );
    assert_eq!(bench.read::<8>(0x1080).1, 0, "empty");
    assert_eq!(bench.write(0x1000, &[1, 2, 3, 4, 5, 6, 7, 8]), 1);
    assert_eq!(
        bench.read::<1>(0x0805).0[0] & 8,
        8,
        "no application takes it in INIT"
    );
    assert_eq!(bench.write(0x1000, &[0; 8]), 0, "full");
    bench.ask(AlControl::request(State::PreOp));
    assert_eq!(bench.read::<1>(0x0805).0[0] & 8, 0);
    assert_eq!(bench.read::<1>(0x080D).0[0] & 8, 8);
    assert_eq!(bench.read::<8>(0x1080), ([8, 7, 6, 5, 4, 3, 2, 1], 1));
    assert_eq!(bench.read::<8>(0x1080).1, 0, "empty again");
    assert_eq!(bench.write(0x080E, &[0x03]), 1, "it got lost: once more");
    assert_eq!(bench.read::<1>(0x080F).0[0] & 2, 2);
    assert_eq!(bench.read::<8>(0x1080), ([8, 7, 6, 5, 4, 3, 2, 1], 1));
}

#[test]
fn a_message_that_got_lost_comes_again_before_the_one_that_waits() {
    let mut bench = Bench::new(Echo::default());
    bench.manager(
        0,
        SyncManager::new(0x1000, 8, SyncManagerControl::MAILBOX_OUT),
    );
    bench.manager(
        1,
        SyncManager::new(0x1080, 8, SyncManagerControl::MAILBOX_IN),
    );
    bench.ask(AlControl::request(State::PreOp));
    for number in 1..=3 {
        assert_eq!(bench.write(0x1000, &[number; 8]), 1);
    }
    assert_eq!(bench.read::<8>(0x1080), ([1; 8], 1));
    assert_eq!(bench.read::<1>(0x080D).0[0] & 8, 8, "the second lies there");
    bench.write(0x080E, &[0x03]);
    assert_eq!(bench.read::<1>(0x080F).0[0] & 2, 2);
    // The repeat bit of the other mailbox changes nothing.
    bench.write(0x080E, &[0x01]);
    assert_eq!(bench.read::<1>(0x080F).0[0] & 2, 0);
    for number in 1..=3 {
        assert_eq!(bench.read::<8>(0x1080), ([number; 8], 1));
    }
    assert_eq!(bench.read::<8>(0x1080).1, 0);
}

#[test]
fn a_mailbox_is_begun_at_its_first_byte_and_full_at_its_last() {
    let mut bench = Bench::new(Echo::default());
    bench.manager(
        0,
        SyncManager::new(0x1000, 8, SyncManagerControl::MAILBOX_OUT),
    );
    bench.manager(
        1,
        SyncManager::new(0x1080, 8, SyncManagerControl::MAILBOX_IN),
    );
    bench.ask(AlControl::request(State::PreOp));
    assert_eq!(bench.write(0x1004, &[5, 6, 7, 8]), 0, "from the middle");
    assert_eq!(bench.write(0x1000, &[1, 2, 3, 4]), 1);
    assert_eq!(bench.read::<1>(0x080D).0[0] & 8, 0, "half a message");
    assert_eq!(bench.write(0x1004, &[5, 6, 7, 8]), 1);
    assert_eq!(bench.read::<4>(0x1080), ([8, 7, 6, 5], 1));
    assert_eq!(bench.read::<4>(0x1084), ([4, 3, 2, 1], 1));
    assert_eq!(bench.read::<4>(0x1084).1, 0);
}

#[test]
fn process_data_is_whole_and_the_newest() {
    let mut bench = Bench::new(Echo::default());
    bench.manager(2, SyncManager::new(0x1100, 4, SyncManagerControl::OUTPUTS));
    bench.manager(3, SyncManager::new(0x1200, 4, SyncManagerControl::INPUTS));
    bench.write(
        register::FMMU,
        &Fmmu::bytes(0x100, 4, 0x1100).writing().to_bytes(),
    );
    bench.write(
        register::FMMU + 16,
        &Fmmu::bytes(0x100, 4, 0x1200).reading().to_bytes(),
    );
    let logical = DatagramAddress::from_raw(0x100);
    assert_eq!(
        bench.send(Command::Lrw, logical, &[1, 2, 3, 4]),
        (vec![0; 4], 3)
    );
    assert_eq!(
        bench.send(Command::Lrd, logical, &[9; 4]),
        (vec![2, 3, 4, 5], 1)
    );
    assert_eq!(bench.write(0x1100, &[7, 7]), 1, "the first half");
    assert_eq!(bench.send(Command::Lrd, logical, &[0; 4]).0, [2, 3, 4, 5]);
    assert_eq!(bench.write(0x1102, &[7, 7]), 1, "the second");
    assert_eq!(bench.send(Command::Lrd, logical, &[0; 4]).0, [8; 4]);
    assert_eq!(bench.write(0x1104, &[1]), 0, "the second buffer is hidden");
    assert_eq!(bench.read::<4>(0x1100).1, 0, "outputs are not read back");
    assert_eq!(bench.write(0x1200, &[1; 4]), 0, "nor inputs written");
}

#[test]
fn late_outputs_are_noticed_once_and_counted() {
    let mut bench = Bench::new(Echo::default());
    bench.manager(2, SyncManager::new(0x1100, 4, SyncManagerControl::OUTPUTS));
    bench.manager(3, SyncManager::new(0x1200, 4, SyncManagerControl::INPUTS));
    bench.write(0x1100, &[0; 4]);
    assert_eq!(bench.read::<2>(register::WATCHDOG_STATUS).0, [1, 0]);
    bench.now = bench.now.after(300_000_000);
    assert_eq!(bench.read::<3>(register::WATCHDOG_STATUS).0, [0, 0, 1]);
    assert_eq!(echo(&mut bench).expired, 1);
}

#[test]
fn sync0_pulses_at_the_system_s_times() {
    let mut bench = Bench::new(Echo::default());
    bench.write(register::DC_OFFSET, &5_000_000_u64.to_le_bytes());
    bench.write(register::DC_START_TIME, &7_000_000_u64.to_le_bytes());
    bench.write(register::DC_SYNC0_CYCLE, &1_000_000_u32.to_le_bytes());
    bench.write(register::DC_ACTIVATION, &[3]);
    bench.now = Time(4_500_000);
    bench.read::<1>(0);
    let times = [7, 8, 9].map(|it| (Signal::Sync0, it * 1_000_000));
    assert_eq!(echo(&mut bench).pulses, times);
}

#[test]
fn a_controller_is_reset_by_three_letters_in_three_frames() {
    let mut bench = Bench::new(Passive);
    bench.write(register::STATION_ADDRESS, &[1, 1]);
    for letter in *b"REX" {
        bench.write(0x0040, &[letter]);
    }
    assert_eq!(bench.read::<2>(register::STATION_ADDRESS).0, [1, 1]);
    for letter in *b"RES" {
        bench.write(0x0040, &[letter]);
    }
    assert_eq!(bench.read::<2>(register::STATION_ADDRESS).0, [0, 0]);
}

#[test]
fn a_device_without_a_clock_does_not_answer_there() {
    let model = Model {
        hardware: Hardware::et1100().without_clock(),
        sii: sii(),
        application: Box::new(Passive),
    };
    let mut bench = Bench {
        device: SubDeviceController::new(model, DeviceSettings::default(), Time::ZERO),
        now: Time::ZERO,
    };
    assert_eq!(bench.read::<8>(register::DC_SYSTEM_TIME).1, 0);
    assert_eq!(bench.write(register::DC_RECEIVE_TIME, &[0; 4]), 0);
}

#[test]
fn errors_are_shown_only_until_they_are_cleared() {
    let mut bench = Bench::new(Passive);
    bench.device.count_error(register::RX_ERRORS);
    assert_eq!(bench.read::<1>(register::RX_ERRORS).0, [1]);
    bench.write(register::RX_ERRORS, &[0]);
    assert_eq!(bench.read::<1>(register::RX_ERRORS).0, [0]);
}

#[test]
fn events_ride_on_datagrams_where_the_mask_lets_them() {
    let mut bench = Bench::new(Passive);
    bench.write(register::ECAT_EVENT_MASK, &[0x08, 0]);
    bench.read::<2>(register::AL_STATUS);
    assert_eq!(bench.device.events(), 0, "reading the state ends it");
    bench.write(register::AL_CONTROL, &[2, 0]);
    assert_eq!(bench.device.events(), 0x08);
}
