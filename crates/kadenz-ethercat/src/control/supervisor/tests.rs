//! The supervisor in virtual time, by a rig with unusual ways and clocks.

use std::sync::Mutex;
use std::time::Instant;

use super::*;
use crate::control::inline_loop::InlineLoop;
use crate::control::notice::Subscription;
use crate::main_device::acyclic::{AcyclicClient, AcyclicQueue};
use crate::main_device::bring_up::{find, prepare};
use crate::main_device::clocks::{self, Bounds, Clocks, Epoch};
use crate::main_device::exchange::{BlockingExchange, FrameBuffer, RetryPolicy, Target};
use crate::main_device::link::Link;
use crate::port::Side;
use crate::sim::DeviceId;
use crate::sim::WirePort;
use crate::sim::fault::{Fault, WireFault};
use crate::sim::humanoid::humanoid;
use crate::wire::coe::Address;
use crate::wire::register::{
    AL_STATUS, FMMU, FMMU_SIZE, RX_ERRORS, WATCHDOG_DEFAULTS, WATCHDOG_PROCESS_DATA,
};
use crate::wire::{
    AlStatus, AlStatusCode, Command, Configured, DATAGRAM_OVERHEAD, Datagrams, DatagramsMut,
};

const MS: Duration = Duration::from_millis(1);
const DEVICES: usize = 10;

/// Clocks that follow the first one; the others are set whenever they come back.
fn aligned(registers: &mut Registers<'_>, devices: &[SubDevice]) -> Clocks {
    let clocks = clocks::measure(registers, devices, &clocks::ClockSettings::default()).unwrap();
    let epoch = Epoch::Now(1_000_000_000_000_000);
    clocks.set(registers, epoch).unwrap();
    let bounds = Bounds::default();
    clocks.align(registers, &bounds, &mut |_| {}).unwrap();
    clocks
}

fn set_again(clocks: Clocks) -> Setup {
    Box::new(move |device, registers| {
        let set = clocks.set_again(registers, device.position);
        set.map_err(|error| ConfigureError::Setup(error.into()))
    })
}

struct Rig {
    inline_loop: InlineLoop<WirePort>,
    supervisor: SegmentSupervisor,
    device_table: Arc<DeviceTable>,
    notices: Subscription,
}

impl Rig {
    /// All in OP for half a second.
    fn in_op() -> Self {
        let mut link = Link::new(WirePort::new(humanoid(DEVICES).build().unwrap()), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        let mut devices = find(&mut registers).unwrap();
        let clocks = aligned(&mut registers, &devices);
        let cycle = prepare(&mut registers, &mut devices, clocks.reference()).unwrap();
        let layout = cycle.layout().clone();
        let inline_loop = InlineLoop::new(link, cycle, MS);
        let supervisor = SegmentSupervisor::new(devices, &layout, inline_loop.health())
            .with_setup(set_again(clocks));
        let mut rig = Self {
            device_table: supervisor.device_table(),
            notices: supervisor.notices().subscribe(10_000),
            inline_loop,
            supervisor,
        };
        rig.until_well("at the start");
        rig.run(MS * 500);
        rig
    }

    fn run(&mut self, span: Duration) {
        let end = self.inline_loop.now() + span;
        while self.inline_loop.now() < end {
            let pause = self.supervisor.step(&mut self.inline_loop).unwrap();
            self.inline_loop.pause(pause);
        }
    }

    fn until_well(&mut self, what: &str) {
        let end = self.inline_loop.now() + MS * 10_000;
        loop {
            self.run(MS);
            if self.device_table.is_well() && self.inline_loop.health().snapshot().is_whole {
                return;
            }
            assert!(
                self.inline_loop.now() < end,
                "{what}: {:#?}",
                self.device_table.all()
            );
        }
    }

    fn inject(&mut self, position: usize, fault: impl FnOnce(DeviceId) -> WireFault) {
        let port = self.inline_loop.link_mut().port_mut();
        let now = port.time();
        let device = port.segment_mut().positions(Side::Primary)[position];
        let fault = Fault::Wire(fault(device));
        port.segment_mut().inject(fault, now);
    }

    /// The most bytes of datagrams in a frame of what the supervisor does.
    fn measuring(&mut self, act: impl FnOnce(&mut SegmentSupervisor, &mut Measuring<'_>)) -> usize {
        let mut exchange = Measuring {
            inline_loop: &mut self.inline_loop,
            most: 0,
        };
        act(&mut self.supervisor, &mut exchange);
        exchange.most
    }

    fn power_cycle(&mut self, position: usize, ns: u64) {
        self.inject(position, |device| WireFault::PowerCycle(device, ns));
        self.run(Duration::from_nanos(ns));
        self.until_well("power cycle");
    }

    fn events(&mut self) -> Vec<Event> {
        let notices = std::iter::from_fn(|| self.notices.try_next());
        notices.map(|it| it.event).collect()
    }

    fn recoveries(&self) -> Vec<u32> {
        self.device_table
            .all()
            .iter()
            .map(|it| it.recoveries)
            .collect()
    }
}

#[test]
fn only_a_device_that_was_brought_back_is_counted() {
    let mut rig = Rig::in_op();
    assert_eq!(rig.recoveries(), [0; DEVICES]);
    let last = DEVICES - 1;
    let of_last = |times| {
        let mut all = [0; DEVICES];
        all[last] = times;
        all
    };
    rig.power_cycle(last, 100_000_000);
    assert_eq!(rig.recoveries(), of_last(1));
    for state in [State::PreOp, State::Op] {
        rig.device_table.want(last, state).unwrap();
        rig.run(MS * 300);
        assert!(rig.device_table.is_well(), "{state}");
    }
    assert_eq!(rig.recoveries(), of_last(1));
    let leave = |device| WireFault::Leave(device, State::SafeOp, AlStatusCode::WATCHDOG);
    rig.inject(last, leave);
    rig.run(MS * 20);
    rig.until_well("the ones that left");
    assert_eq!(rig.recoveries(), of_last(2));
}

#[test]
fn a_watchdog_that_was_switched_off_is_on_again_in_a_device_that_was_configured_again() {
    let mut rig = Rig::in_op();
    let last = DEVICES - 1;
    rig.device_table.want(last, State::Init).unwrap();
    rig.run(MS * 300);
    let target = Target::Of(Configured(rig.supervisor.watched[last].label.station));
    let mut registers = Registers::by(&mut rig.inline_loop);
    registers.put_u16(target, WATCHDOG_PROCESS_DATA, 0).unwrap();
    rig.device_table.want(last, State::Op).unwrap();
    rig.until_well("after INIT");
    let mut registers = Registers::by(&mut rig.inline_loop);
    for (register, value) in WATCHDOG_DEFAULTS {
        assert_eq!(registers.get_u16(target, register).unwrap(), value);
    }
}

#[test]
fn a_device_on_its_way_back_is_refused_to_further_clients_while_one_has_it() {
    let mut rig = Rig::in_op();
    let (last, address) = (DEVICES - 1, Address::new(0x1018, 1));
    let device_table = Arc::clone(&rig.device_table);
    let read = || {
        // A loop that has ended answers at once.
        let queue = AcyclicQueue::default();
        queue.end();
        let mut exchange = AcyclicClient::of(&queue, RetryPolicy::default());
        device_table.read_object(&mut exchange, last, address)
    };
    let refused = std::thread::scope(|scope| {
        let has_device = |_: &mut SubDevice| {
            rig.inject(last, |device| WireFault::PowerCycle(device, 100_000_000));
            rig.run(MS * 500);
            let client = scope.spawn(read);
            let end = Instant::now() + MS * 5_000;
            while !client.is_finished() && Instant::now() < end {
                std::thread::sleep(MS);
            }
            client
        };
        let client = device_table.with(last, has_device).unwrap();
        client.join().unwrap()
    });
    assert!(matches!(refused, Err(ObjectError::SetUp(_))), "{refused:?}");
    rig.until_well("once no client has it");
    let answered = read();
    assert!(matches!(answered, Err(ObjectError::Sdo(_))), "{answered:?}");
}

#[test]
fn of_two_devices_with_one_address_the_one_that_is_as_before_keeps_it() {
    let rig = Rig::in_op();
    let device = &rig.supervisor.watched[7];
    let rows = rig.supervisor.watched.iter().map(|it| it.row.unwrap());
    let rows: Vec<_> = rows.collect();
    let thief = |position: usize, status: AlStatus| {
        let mut rows = rows.clone();
        let station = device.label.station;
        let row = StationStatus {
            station,
            status,
            ..rows[position]
        };
        rows.insert(position, row);
        rows
    };
    let (op, stopped) = (
        AlStatus::new(State::Op, false),
        AlStatus::new(State::SafeOp, true),
    );
    // Behind it, and before it, where the device is a position further on.
    assert_eq!(device.position_in(&thief(9, op)), Some(7));
    assert_eq!(device.position_in(&thief(3, stopped)), Some(8));
    assert_eq!(device.position_in(&thief(7, stopped)), Some(8));
    assert_eq!(
        device.position_in(&thief(3, op)),
        None,
        "either may be the device"
    );
}

/// A way that notes the most bytes of datagrams in a frame.
struct Measuring<'f> {
    inline_loop: &'f mut InlineLoop<WirePort>,
    most: usize,
}

impl Exchange for Measuring<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        let datagrams = Datagrams::of(frame.bytes())?.flatten();
        let bytes = datagrams.map(|it| it.data.len() + DATAGRAM_OVERHEAD).sum();
        self.most = self.most.max(bytes);
        self.inline_loop.exchange(frame)
    }

    fn pause(&mut self, span: Duration) {
        self.inline_loop.pause(span);
    }

    fn now(&self) -> MonotonicTime {
        self.inline_loop.now()
    }
}

#[test]
fn an_unknown_device_is_taken_out_by_frames_for_which_a_short_cycle_has_room() {
    let mut rig = Rig::in_op();
    let station = Configured(rig.supervisor.watched[7].label.station);
    let target = Target::Of(station);
    let fmmus = |rig: &mut Rig| {
        let mut registers = Registers::by(&mut rig.inline_loop);
        registers.get::<256>(target, FMMU).unwrap()
    };
    assert_ne!(fmmus(&mut rig), [0; 256]);
    let settings = SupervisorSettings::for_cycle(Duration::from_micros(125));
    rig.supervisor = rig.supervisor.with_settings(settings);
    let most = rig.measuring(|supervisor, exchange| {
        supervisor.leave_unconfigured(exchange, station).unwrap();
    });
    assert!((1..=settings.frame_bytes).contains(&most));
    rig.inline_loop.pause(MS);
    assert_eq!(fmmus(&mut rig), [0; 256]);
    let status = Registers::by(&mut rig.inline_loop).get_u16(target, AL_STATUS);
    assert_eq!(AlStatus(status.unwrap()), AlStatus::new(State::Init, false));
}

#[test]
fn a_known_device_recovers_by_frames_for_which_a_short_cycle_has_room() {
    let mut rig = Rig::in_op();
    let settings = SupervisorSettings::for_cycle(Duration::from_micros(125));
    rig.supervisor = rig.supervisor.with_settings(settings);
    let station = Configured(rig.supervisor.watched[7].label.station);
    let left = rig
        .supervisor
        .leave_unconfigured(&mut rig.inline_loop, station);
    left.unwrap();
    // The last FMMU, which the device does not use.
    let unused = FMMU + 7 * FMMU_SIZE;
    let target = Target::Of(station);
    let written = Registers::by(&mut rig.inline_loop).write(target, unused, &[1; 16]);
    written.unwrap();
    let recoveries = rig.recoveries()[7];
    let most = rig.measuring(|supervisor, exchange| {
        let end = exchange.now() + MS * 2_000;
        while exchange.now() < end {
            let pause = supervisor.step(exchange).unwrap();
            exchange.pause(pause);
        }
    });
    rig.until_well("after INIT");
    assert_eq!(rig.recoveries()[7], recoveries + 1);
    assert!((1..=settings.frame_bytes).contains(&most), "{most} bytes");
    let cleared = Registers::by(&mut rig.inline_loop).get::<16>(target, unused);
    assert_eq!(cleared.unwrap(), [0; 16]);
}

/// A way on which all devices report `invalid` frames at port 0, and as many errors of the application's
/// interface as a counter holds.
struct Counting<'f> {
    inline_loop: &'f mut InlineLoop<WirePort>,
    invalid: u8,
}

impl Exchange for Counting<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        self.inline_loop.exchange(frame)?;
        for datagram in DatagramsMut::of(frame.bytes_mut())? {
            let datagram = datagram?;
            let reads = datagram.command() == Some(Command::Fprd);
            if reads && datagram.address().register() == RX_ERRORS {
                datagram.data[0] = self.invalid;
                datagram.data[0x0D] = u8::MAX;
            }
        }
        Ok(())
    }

    fn pause(&mut self, span: Duration) {
        self.inline_loop.pause(span);
    }

    fn now(&self) -> MonotonicTime {
        self.inline_loop.now()
    }
}

impl Rig {
    /// Runs while all devices report `invalid` frames at port 0; returns the reported errors.
    fn errors_of(&mut self, invalid: u8, span: Duration) -> Vec<u32> {
        self.events();
        let mut exchange = Counting {
            inline_loop: &mut self.inline_loop,
            invalid,
        };
        let end = exchange.now() + span;
        while exchange.now() < end {
            let pause = self.supervisor.step(&mut exchange).unwrap();
            exchange.pause(pause);
        }
        let events = self.events();
        let errors = events.iter().filter_map(|it| match it {
            Event::PortErrors { invalid, .. } => Some(*invalid),
            _ => None,
        });
        errors.collect()
    }
}

#[test]
fn errors_at_ports_are_reported_however_full_the_counters_beside_them_are() {
    let mut rig = Rig::in_op();
    for (invalid, more) in [(10, None), (14, Some(4)), (19, Some(5))] {
        let errors = rig.errors_of(invalid, MS * 1_500);
        if let Some(more) = more {
            assert_eq!(errors, [more; DEVICES]);
        }
    }
}

#[test]
fn counters_that_are_full_after_each_reset_are_reported_each_time() {
    let mut rig = Rig::in_op();
    let errors = rig.errors_of(u8::MAX, MS * 4_500);
    assert!(errors.len() >= 3 * DEVICES, "{errors:?}");
    assert!(
        errors.iter().all(|it| *it == u32::from(u8::MAX)),
        "{errors:?}"
    );
}

/// A time, and what each clock showed then.
type Sample = (u64, Vec<u64>);

/// How far a clock is from its place, had it gone on as from the first sample to the second, in ns.
fn clock_deviation(first: &Sample, second: &Sample, now: &Sample, clock: usize) -> f64 {
    let since = |a: &Sample, b: &Sample| (b.1[clock] - a.1[clock]) as f64 - (b.0 - a.0) as f64;
    let rate = since(first, second) / (second.0 - first.0) as f64;
    since(first, now) - rate * (now.0 - first.0) as f64
}

#[test]
fn a_reference_that_comes_back_leads_no_clock_astray() {
    let mut rig = Rig::in_op();
    let port = rig.inline_loop.link_mut().port_mut();
    let now = port.time();
    let all = port.segment_mut().positions(Side::Primary);
    let segment = port.segment();
    let time = |it: &DeviceId| segment.device(*it).unwrap().system_time(now);
    // A device without power for its clock shows any value.
    let with_clock = all
        .iter()
        .filter(|it| time(it).abs_diff(time(&all[0])) < 1_000);
    let with_clock: Vec<_> = with_clock.copied().collect();
    assert!(with_clock.len() > DEVICES / 2 && with_clock[0] == all[0]);

    let samples = Arc::new(Mutex::new(Vec::<Sample>::new()));
    let noted = Arc::clone(&samples);
    rig.inline_loop.after_beat(move |link, _, _| {
        let port = link.port_mut();
        let now = port.time();
        let time = |it: &DeviceId| port.segment().device(*it).unwrap().system_time(now);
        let times = with_clock.iter().map(time).collect();
        noted.lock().unwrap().push((now.0, times));
    });
    rig.run(MS * 1_000);
    let before = samples.lock().unwrap().len() - 1;
    rig.power_cycle(0, 200_000_000);
    rig.run(MS * 1_000);

    let samples = samples.lock().unwrap();
    let (first, second) = (&samples[0], &samples[before]);
    for sample in &samples[before..] {
        for clock in 1..sample.1.len() {
            let clock_deviation = clock_deviation(first, second, sample, clock);
            assert!(
                clock_deviation.abs() < 1_000.0,
                "{clock_deviation} ns, clock {clock}"
            );
        }
    }
    let last = samples.last().unwrap();
    let apart = |it: &u64| it.abs_diff(last.1[0]);
    assert!(last.1.iter().all(|it| apart(it) < 1_000), "{last:?}");
}
