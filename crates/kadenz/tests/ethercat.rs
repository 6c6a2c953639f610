//! A network with the user's control law: in this process, without allocations, and over a cable that is cut.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use kadenz::Recording;
use std::time::Duration;

use kadenz::ethercat::control::cyclic::EndedBy;
use kadenz::ethercat::{
    Drive as DriveHandles, DriveState, Flow, Goal, Input, Io, Network, OperationMode, Output,
    Readers,
};

const SECOND: Duration = Duration::from_secs(1);

/// A drive that the law switches on and moves along a ramp from its first position.
struct Drive {
    handles: DriveHandles,
    actual: Input<i32>,
    target: Output<i32>,
    /// The target position, once the first position is known.
    at: Option<i32>,
}

/// Increments per cycle.
const STEP: i32 = 3;

impl Drive {
    fn of(net: &Network<'_>, name: &str) -> Self {
        let device = net.device(name).unwrap();
        Self {
            handles: device.drive().unwrap(),
            actual: device.input(0x6064).unwrap(),
            target: device.output(0x607A).unwrap(),
            at: None,
        }
    }

    /// Runs a cycle; returns whether the drive is enabled.
    fn step(&mut self, io: &mut Io<'_, '_>) -> bool {
        // A drive that lost its process data has a fault, which is reset.
        let state = io.control(self.handles, Goal::Enabled, true);
        let is_enabled = Goal::Enabled.is_reached(state) && io.is_fresh(self.actual);
        let at = match (self.at, is_enabled) {
            (Some(at), true) => at + STEP,
            _ => io.get(self.actual),
        };
        self.at = is_enabled.then_some(at);
        io.set(self.target, at);
        is_enabled
    }
}

#[test]
fn a_drive_follows_a_law_and_the_run_records_the_loop() {
    let folder = tempfile::tempdir().unwrap();
    let run = Recording::create(folder.path().join("run")).unwrap();
    let builder = Network::sim(59).unwrap().cycle("500Hz").unwrap();
    let builder = builder.deadline("1ms").unwrap().record(&run);
    let net = builder.bring_up().unwrap();
    let mut knee = Drive::of(&net, "left knee");
    let (mut enabled, mut first, mut last) = (0, None, 0);
    let report = net.run(|io| {
        if knee.step(io) {
            enabled += 1;
            last = io.get(knee.actual);
            first.get_or_insert(last);
        }
        // A busy machine may need long to bring all devices to OP.
        match enabled < 500 && io.number() < 30_000 {
            true => Flow::Continue,
            false => Flow::Stop,
        }
    });
    let report = report.unwrap();
    assert_eq!(enabled, 500, "{report}");
    let moved = last - first.unwrap();
    assert!(moved > 100 * STEP, "it moved by {moved}");
    assert_eq!(report.devices, 59);

    let recorded = run.finish().unwrap();
    let names: Vec<_> = recorded
        .run()
        .series
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["wake-up", "period", "exchange", "controller"]);
    let controller = &recorded.run().series[3];
    assert_eq!(controller.counts.recorded, report.ended.cycles);
    assert_eq!(recorded.run().series[0].deadline_ns, Some(1_000_000));
    assert_eq!(recorded.run().parameters["devices"], 59);
    assert_eq!(recorded.run().parameters["segment"], "sim:59");
    assert_eq!(
        recorded.run().parameters["bus"]["cycles"],
        report.ended.cycles
    );
}

#[test]
fn a_law_enables_a_drive_moves_it_and_brings_it_to_rest() {
    let builder = Network::sim(12).unwrap().shutdown(20 * SECOND);
    let builder = builder.setup(|device| match device.name().as_str() {
        "left knee" => device.write(0x6060, OperationMode::CyclicPosition.number()),
        _ => Ok(()),
    });
    let net = builder.bring_up().unwrap();
    let knee = net.device("left knee").unwrap();
    let drive = knee.drive().unwrap();
    let (actual, target) = (knee.input::<i32>(0x6064), knee.output::<i32>(0x607A));
    let (actual, target) = (actual.unwrap(), target.unwrap());
    let (mut states, mut steps) = (Vec::with_capacity(64), 0);
    let report = net.run(|io| {
        let goal = match io.is_ending() {
            true => Goal::QuickStop,
            false => Goal::Enabled,
        };
        let state = io.control(drive, goal, true);
        if states.last() != Some(&state) {
            states.push(state);
        }
        let is_moving = state == DriveState::OperationEnabled && !io.is_ending();
        steps += i32::from(is_moving);
        io.set(target, io.get(actual) + if is_moving { STEP } else { 0 });
        match io.is_ending() {
            true => Flow::until(!state.has_torque()),
            false if steps < 100 && io.number() < 30_000 => Flow::Continue,
            false => Flow::ShutDown,
        }
    });
    let report = report.unwrap();
    assert_eq!(steps, 100, "{report}, {states:?}");
    assert_eq!(report.ended.by, EndedBy::Controller, "{states:?}");
}

/// Counts the allocations of this thread in a run of so many cycles, and those of the law among them.
fn allocations(cycles: u64, run: Option<&Recording>) -> (u64, u64) {
    let mut builder = Network::sim(10).unwrap().cycle("2kHz").unwrap();
    if let Some(run) = run {
        builder = builder.record(run);
    }
    let net = builder.bring_up().unwrap();
    let mut waist = Drive::of(&net, "waist yaw");
    let mut of_law = 0;
    let all = allocation_counter::measure(|| {
        net.run(|io| {
            let step = || {
                waist.step(io);
            };
            of_law += allocation_counter::measure(step).count_total;
            Flow::until(io.number() >= cycles)
        })
        .unwrap();
    });
    (all.count_total, of_law)
}

#[test]
fn neither_the_law_nor_the_loop_allocates() {
    let (few, many) = (allocations(500, None), allocations(1_500, None));
    assert_eq!((few.1, many.1), (0, 0), "of the law");
    assert_eq!(few.0, many.0, "a thousand cycles more allocate nothing");

    let folder = tempfile::tempdir().unwrap();
    let recorded = |cycles: u64| {
        let run = Recording::create(folder.path().join(cycles.to_string())).unwrap();
        allocations(cycles, Some(&run)).0
    };
    // The notes at the end have different lengths; one allocation in ten cycles would be 500.
    assert!(recorded(500).abs_diff(recorded(5_500)) < 200);
}

#[test]
fn a_motion_and_the_reference_clock_allocate_nothing_either() {
    let allocations = |cycles: u64| {
        let net = Network::sim(10).unwrap().cycle("2kHz").unwrap();
        let net = net.demo_motion().reference_clock();
        let net = net.process_image(Readers::PiMutex).bring_up().unwrap();
        let work = || drop(net.run(|io| Flow::until(io.number() >= cycles)).unwrap());
        allocation_counter::measure(work).count_total
    };
    // The notes about the axes have different lengths.
    assert!(allocations(500).abs_diff(allocations(5_500)) < 200);
}

#[cfg(target_os = "linux")]
mod cable {
    use std::process::{Child, Command, Stdio};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use kadenz::ethercat::port::Side;
    use kadenz::ethercat::port::{InterfacePort, WaitMode};
    use kadenz::ethercat::sim::fault::{Fault, WireFault};
    use kadenz::ethercat::sim::humanoid::humanoid;
    use kadenz::ethercat::sim::serve::{Pace, Server};
    use kadenz::ethercat::sim::{CableId, End};
    use kadenz::ethercat::wire::State;
    use kadenz::record::run::folder::RunReader;
    use kadenz::rt::net::cable::Cable;
    use kadenz::rt::net::namespace::Namespace;

    use super::*;

    /// More cycles than even a very busy machine needs.
    const MANY: u64 = 60_000;

    /// The cable before the device at a position.
    fn cable_before(position: usize) -> CableId {
        let mut segment = humanoid(20).build().unwrap();
        let device = segment.positions(Side::Primary)[position];
        segment.cable_at(End::Device(device, 0)).unwrap()
    }

    /// Serves the humanoid with the faults of `orders`, until `done` is set.
    fn serve(port: InterfacePort, orders: &Mutex<Vec<Fault>>, done: &AtomicBool) {
        let mut server = Server::new(port, humanoid(20).build().unwrap(), Pace::AtOnce);
        while !done.load(Ordering::Relaxed) {
            let _ = server.step();
            let now = server.now();
            for fault in orders.lock().unwrap().drain(..) {
                server.segment_mut().inject(fault, now);
            }
        }
    }

    /// The stages of the test: all devices in OP, then those behind a cut cable away, then back.
    #[derive(Debug, PartialEq)]
    enum Stage {
        Begin,
        Cut(u64),
        Healed,
        Back(u64),
    }

    fn drive(folder: &std::path::Path, orders: &Mutex<Vec<Fault>>) {
        let run = Recording::create(folder).unwrap();
        let net = Network::open("near")
            .unwrap()
            .record(&run)
            .bring_up()
            .unwrap();
        // The cut is before this device.
        let mut ankle = Drive::of(&net, "left ankle pitch");
        let cable = cable_before(net.device("left ankle pitch").unwrap().position());
        let order = |fault| orders.lock().unwrap().push(Fault::Wire(fault));
        let mut stage = Stage::Begin;
        let report = net.run(|io| {
            let is_enabled = ankle.step(io);
            let is_fresh = io.is_fresh(ankle.actual);
            match stage {
                Stage::Begin if is_enabled => {
                    order(WireFault::Cut(cable));
                    stage = Stage::Cut(0);
                }
                Stage::Cut(cycles) if !is_fresh && cycles > 300 => {
                    order(WireFault::Heal(cable));
                    stage = Stage::Healed;
                }
                Stage::Cut(cycles) if !is_fresh => stage = Stage::Cut(cycles + 1),
                Stage::Healed if is_enabled => stage = Stage::Back(0),
                Stage::Back(cycles) if cycles < 100 => stage = Stage::Back(cycles + 1),
                _ => {}
            }
            match stage == Stage::Back(100) || io.number() > MANY {
                true => Flow::Stop,
                false => Flow::Continue,
            }
        });
        let report = report.unwrap();
        assert_eq!(stage, Stage::Back(100), "{report}");
        let recorded = run.finish().unwrap();
        let mut warnings = recorded.run().warnings.iter();
        let lost = warnings.find(|it| it.id == "frames_lost").unwrap();
        assert!(lost.text.contains("wrong working counter"), "{}", lost.text);
        let frames = report.timing.frames;
        assert!(
            frames.lost + frames.working_counter_mismatches >= 300,
            "{report}"
        );
    }

    /// Runs work in a network of its own with a cable from `near` to `far`; skips the test where that is not permitted.
    fn with_cable(test: &str, work: impl FnOnce(InterfacePort) + Send) {
        let network = match Namespace::create() {
            Ok(network) => network,
            Err(error) => {
                assert!(error.is_refusal(), "{error}");
                let must = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
                assert!(!must, "{error}");
                eprintln!("skipped: {test}: {error}");
                return;
            }
        };
        let with_cable = || {
            let _cable = Cable::create("near", "far").unwrap();
            work(InterfacePort::open("far", WaitMode::Blocking).unwrap());
        };
        network.run(with_cable).unwrap();
    }

    #[test]
    fn a_cut_cable_ends_no_loop_and_the_devices_behind_it_come_back_to_op() {
        let folder = tempfile::tempdir().unwrap();
        with_cable("a cut cable ends no loop", |port| {
            let (orders, done) = (Mutex::default(), AtomicBool::new(false));
            std::thread::scope(|scope| {
                scope.spawn(|| serve(port, &orders, &done));
                let work = std::panic::AssertUnwindSafe(|| drive(folder.path(), &orders));
                let outcome = std::panic::catch_unwind(work);
                done.store(true, Ordering::Relaxed);
                outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            });
        });
    }

    /// How long after the first device is in OP the cable is cut, and how long after it is plugged in again.
    const CUT: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

    /// Serves the humanoid to a program, with a cable cut for a while; returns whether it was.
    fn serve_to(program: &mut Child, port: InterfacePort) -> bool {
        let mut server = Server::new(port, humanoid(20).build().unwrap(), Pace::AtOnce);
        let first = server.segment_mut().positions(Side::Primary)[0];
        let faults = [WireFault::Cut, WireFault::Heal].map(|of| of(cable_before(10)));
        let mut faults = CUT.into_iter().zip(faults).peekable();
        let mut operational = None;
        while program.try_wait().unwrap().is_none() {
            let _ = server.step();
            let now = server.now();
            let segment = server.segment_mut();
            if segment.device(first).unwrap().state() == State::Op {
                operational.get_or_insert_with(Instant::now);
            }
            let passed = operational.map_or(Duration::ZERO, |it| it.elapsed());
            if let Some((_, fault)) = faults.next_if(|(after, _)| passed >= *after) {
                segment.inject(Fault::Wire(fault), now);
            }
        }
        faults.peek().is_none()
    }

    #[test]
    fn the_printed_program_outlives_a_cut_cable() {
        let folder = tempfile::tempdir().unwrap();
        with_cable("the printed program over a cable", |port| {
            let test = std::env::current_exe().unwrap();
            let built = test.ancestors().nth(2).unwrap().join("examples/ethercat");
            assert!(
                built.is_file(),
                "{} is not built; `cargo test --workspace` builds it",
                built.display()
            );
            let mut program = Command::new(built)
                .arg("near")
                .current_dir(folder.path())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let was_cut = serve_to(&mut program, port);
            assert!(program.wait().unwrap().success());
            let run = RunReader::open(folder.path().join("run")).unwrap();
            let run = run.run();
            assert!(run.complete);
            assert_eq!(run.parameters["bus"]["cycles"], 2_000);
            // A busy machine may need the whole two seconds to bring a device to OP.
            let lost = run.warnings.iter().any(|it| it.id == "frames_lost");
            assert!(lost || !was_cut, "{:?}", run.warnings);
        });
    }
}
