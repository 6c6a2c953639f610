use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kadenz_rt::clock::MonotonicTime;

use super::*;
use crate::control::cyclic::{CycleContext, Free, VirtualTime, operate};
use crate::main_device::bring_up::{find, prepare};
use crate::main_device::exchange::{Exchange as _, ExchangeError, ExchangeResult, FrameBuffer};
use crate::motion::{AxisGroup, Policy};
use crate::port::Side;
use crate::sim::WirePort;
use crate::sim::fault::{Fault, WireFault};
use crate::sim::humanoid::humanoid;
use crate::wire::{AlStatusCode, Datagrams};

fn threads(shutdown_cycles: u64) -> (LoopThreads, LoopSettings) {
    let settings = LoopSettings {
        shutdown_cycles,
        ..LoopSettings::every(Duration::from_millis(1)).unwrap()
    };
    (
        LoopThreads::new(&settings, RetryPolicy::default()),
        settings,
    )
}

fn prepared() -> Prepared<WirePort> {
    let port = WirePort::new(humanoid(3).build().unwrap());
    let mut link = Link::new(port, 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut found = find(&mut registers).unwrap();
    let cycle = prepare(&mut registers, &mut found, None).unwrap();
    Prepared { link, cycle }
}

/// The states of all devices, ORed.
fn states(prepared: &mut Prepared<WirePort>) -> u16 {
    let mut exchange = BlockingExchange::over(&mut prepared.link);
    // The devices take some time to get to their states.
    exchange.pause(Duration::from_secs(1));
    Registers::by(&mut exchange)
        .get_u16(Target::All(3), AL_STATUS)
        .unwrap()
}

/// Asks as the last question of a thread beside a loop that has ended.
fn request(threads: &LoopThreads) -> ExchangeResult<bool> {
    let mut exchange = AcyclicClient::of(&threads.queue, RetryPolicy::default());
    exchange.exchange_once(&mut FrameBuffer::default())
}

#[test]
fn a_loop_that_ends_leaves_its_devices_in_pre_op_and_ends_those_beside_it() {
    let (threads, settings) = threads(0);
    let mut prepared = prepared();
    assert_eq!(states(&mut prepared), State::SafeOp as u16);
    let mut controller = |context: &mut CycleContext<'_>| context.stop();
    let (time, phase) = (&mut VirtualTime, &mut Free);
    let ended = threads.run_loop(&mut prepared, &settings, time, phase, &mut controller, ());
    assert_eq!(ended.cycles, 1);
    assert_eq!(threads.timing.snapshot().cycles, 1);
    assert_eq!(states(&mut prepared), State::PreOp as u16);
    assert!(threads.halt.load(Ordering::Relaxed));
    assert!(matches!(request(&threads), Err(ExchangeError::Ended)));
}

#[test]
fn a_controller_that_panics_leaves_no_device_in_op_either() {
    let (threads, settings) = threads(0);
    let mut prepared = prepared();
    let mut controller = |_: &mut CycleContext<'_>| panic!("the controller fails");
    let work = || {
        let (time, phase) = (&mut VirtualTime, &mut Free);
        threads.run_loop(&mut prepared, &settings, time, phase, &mut controller, ())
    };
    assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
    assert_eq!(states(&mut prepared), State::PreOp as u16);
    assert!(threads.halt.load(Ordering::Relaxed));
}

#[test]
fn devices_with_an_older_request_to_read_are_left_in_pre_op_as_well() {
    let (threads, settings) = threads(0);
    let mut prepared = prepared();
    let segment = prepared.link.port_mut().segment_mut();
    for device in segment.positions(Side::Primary) {
        segment.device_mut(device).unwrap().set_reaction(20_000_000);
    }
    let op = AlControl::request(State::Op).0.to_le_bytes();
    let mut exchange = BlockingExchange::over(&mut prepared.link);
    let asked = Registers::by(&mut exchange).count_writing(Target::All(0), AL_CONTROL, &op);
    assert_eq!(asked.unwrap(), 3);
    let mut controller = |context: &mut CycleContext<'_>| context.stop();
    let (time, phase) = (&mut VirtualTime, &mut Free);
    threads.run_loop(&mut prepared, &settings, time, phase, &mut controller, ());
    assert_eq!(states(&mut prepared), State::PreOp as u16);
}

/// A port that refuses the first frame that writes AL control.
struct Refusing {
    port: WirePort,
    has_refused: bool,
}

impl Port for Refusing {
    fn now(&self) -> MonotonicTime {
        self.port.now()
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        let mut datagrams = Datagrams::of(frame).unwrap().map(Result::unwrap);
        let asks = datagrams.any(|it| it.address.register() == AL_CONTROL);
        if asks && !std::mem::replace(&mut self.has_refused, true) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.port.send(frame)
    }

    fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        self.port.receive(frame)
    }

    fn wait(&mut self, until: MonotonicTime) -> io::Result<bool> {
        self.port.wait(until)
    }
}

impl Timekeeper<Refusing> for VirtualTime {
    fn wait_until(&mut self, port: &mut Refusing, time: MonotonicTime) {
        self.wait_until(&mut port.port, time);
    }
}

#[test]
fn a_wire_that_refuses_the_last_request_gets_it_again() {
    let (threads, settings) = threads(0);
    let Prepared { link, cycle } = prepared();
    let port = Refusing {
        port: link.into_port(),
        has_refused: false,
    };
    let link = Link::new(port, 1);
    let mut prepared = Prepared { link, cycle };
    let mut controller = |context: &mut CycleContext<'_>| context.stop();
    let (time, phase) = (&mut VirtualTime, &mut Free);
    threads.run_loop(&mut prepared, &settings, time, phase, &mut controller, ());
    let port = prepared.link.into_port();
    assert!(port.has_refused);
    let mut prepared = Prepared {
        link: Link::new(port.port, 1),
        cycle: prepared.cycle,
    };
    assert_eq!(states(&mut prepared), State::PreOp as u16);
}

#[test]
fn devices_with_an_error_are_left_in_pre_op_as_well() {
    let (threads, settings) = threads(0);
    let mut prepared = prepared();
    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let mut bus = Loop::new(&mut prepared.link, &mut prepared.cycle, &queue, &stop);
    operate(&mut bus, 3, &settings, &mut VirtualTime).unwrap();
    let port = prepared.link.port_mut();
    let now = port.time();
    for device in port.segment_mut().positions(Side::Primary) {
        let leave = WireFault::Leave(device, State::SafeOp, AlStatusCode::WATCHDOG);
        port.segment_mut().inject(Fault::Wire(leave), now);
    }
    let mut controller = |context: &mut CycleContext<'_>| context.stop();
    let (time, phase) = (&mut VirtualTime, &mut Free);
    threads.run_loop(&mut prepared, &settings, time, phase, &mut controller, ());
    assert_eq!(states(&mut prepared), State::PreOp as u16);
}

#[test]
fn a_fault_monitor_that_panics_ends_the_loop() {
    let (threads, settings) = threads(0);
    let mut prepared = prepared();
    threads.handle.stop_by("the operator");
    let mut group = AxisGroup::new(Vec::new(), Policy::default(), &threads.handle);
    let mut controller = |context: &mut CycleContext<'_>| {
        group.beat(context);
        if context.number() == 3 {
            context.stop();
        }
    };
    let (time, phase) = (&mut VirtualTime, &mut Free);
    threads.run_loop(&mut prepared, &settings, time, phase, &mut controller, ());
    // As if the loop went on.
    threads.halt.store(false, Ordering::Relaxed);
    let health = Arc::clone(&threads.health);
    let devices = SegmentSupervisor::new(Vec::new(), prepared.cycle.layout(), health);
    let monitor =
        || threads.monitor_faults(&devices.device_table(), |_| panic!("the callback fails"));
    assert!(catch_unwind(AssertUnwindSafe(monitor)).is_err());
    assert!(threads.halt.load(Ordering::Relaxed));
}

#[test]
fn a_panic_beside_the_loop_ends_all_once_the_axes_are_at_rest() {
    let (threads, _) = threads(0);
    let at_rest = AtomicBool::new(false);
    let until_over = || {
        while !threads.halt.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    std::thread::scope(|scope| {
        let at_work = RunningGuard::begin(&threads.at_work);
        // The loop, whose axes take some time to stop.
        let (until_over, at_rest) = (&until_over, &at_rest);
        scope.spawn(move || {
            until_over();
            std::thread::sleep(Duration::from_millis(200));
            at_rest.store(true, Ordering::Relaxed);
            drop(at_work);
        });
        let together = || {
            std::thread::scope(|scope| {
                let _guard = threads.shutdown_guard();
                scope.spawn(until_over);
                panic!("what tells how it goes fails");
            });
        };
        // Without the guard this would wait forever.
        assert!(catch_unwind(AssertUnwindSafe(together)).is_err());
        assert!(
            at_rest.load(Ordering::Relaxed),
            "the program would have gone"
        );
    });
    assert!(matches!(request(&threads), Err(ExchangeError::Ended)));
}
