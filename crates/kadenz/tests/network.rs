//! The options of a network before bring-up: vendors' files, expected devices, the reference clock, a motion, a control
//! socket; and a loop on a thread of the caller's own.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use kadenz::Recording;
use kadenz::ethercat::control::cyclic::EndedBy;
use kadenz::ethercat::main_device::from_esi::Choice;
use kadenz::ethercat::motion;
use kadenz::ethercat::sim::file::SegmentPlan;
use kadenz::ethercat::sim::humanoid::humanoid;
use kadenz::ethercat::{
    BringUpNetworkError, Flow, Goal, Missing, Network, NetworkBuilder, NetworkEvent,
    OpenNetworkError,
};

const MS: Duration = Duration::from_millis(1);
/// More cycles than even a very busy machine needs to bring all devices to OP.
const MANY: u64 = 30_000;

/// Writes a file into a folder.
fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// A humanoid of ten devices, the last of which has no power.
fn without_the_last(folder: &Path) -> (SegmentPlan, PathBuf) {
    let all = humanoid(10).to_toml().unwrap();
    let expected = file(folder, "expected.toml", &all);
    let off = format!(
        "\n[[fault]]\nwhat = \"power-off\"\ndevice = \"{}\"\nat_ms = 0\n",
        last()
    );
    let faulty = file(folder, "faulty.toml", &(all + &off));
    (SegmentPlan::read(&faulty).unwrap(), expected)
}

/// The name of the device without power.
fn last() -> String {
    humanoid(10).devices[9].name.clone()
}

/// The builder with its events sent to the receiver.
fn heard(builder: NetworkBuilder<'_>) -> (NetworkBuilder<'_>, mpsc::Receiver<String>) {
    let (sender, events) = mpsc::sync_channel(64);
    let send = move |event: &NetworkEvent<'_>| {
        let _ = sender.try_send(event.to_string());
    };
    (builder.on_event(send), events)
}

#[test]
fn an_expected_device_that_is_missing_ends_bring_up_or_joins_later() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, expected) = without_the_last(folder.path());
    let builder = |missing| {
        let builder = Network::simulated(&plan).unwrap();
        let builder = builder.bring_up_timeout(200 * MS);
        heard(builder.expected(&expected, missing).unwrap())
    };
    let (refused, events) = builder(Missing::Refused);
    let refused = refused.bring_up().unwrap_err().to_string();
    assert!(refused.contains(&last()), "{refused}");
    let event = events.recv().unwrap();
    assert!(
        event.starts_with("bring-up, tried again for up to 200 ms: "),
        "{event}"
    );

    let (late, events) = builder(Missing::JoinLater);
    let net = late.bring_up().unwrap();
    assert_eq!(net.devices().count(), 10);
    assert!(net.device(&last()).is_ok(), "configured by the file");
    let event = events.try_iter().last().unwrap();
    assert!(
        event.starts_with(&format!("bring-up: starts without {}", last())),
        "{event}"
    );

    let (both, _) = builder(Missing::JoinLater);
    let refused = both.reference_clock().bring_up().unwrap_err();
    assert!(matches!(refused, BringUpNetworkError::ClockOfMissing));
}

#[test]
fn a_file_of_expected_devices_that_is_not_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(
        folder.path(),
        "robot.toml",
        "[[device]]\nmodel = \"nonsense\"\n",
    );
    let refused = Network::sim(3).unwrap().expected(path, Missing::Refused);
    assert!(matches!(refused, Err(OpenNetworkError::File(_))));
}

const GRIPPER: &str = include_str!("../../../conformance/ethercat/esi/gripper.xml");

/// A segment of one gripper.
fn gripper(folder: &Path) -> (NetworkBuilder<'static>, PathBuf) {
    let esi = file(folder, "gripper.xml", GRIPPER);
    let segment = "[[device]]\nname = \"a\"\nesi = \"gripper.xml\"\nproduct = 18\n";
    let segment = file(folder, "one.toml", segment);
    let plan = SegmentPlan::read(&segment).unwrap();
    (Network::simulated(&plan).unwrap(), esi)
}

#[test]
fn a_device_carries_the_pdos_that_were_chosen_in_its_vendor_s_file() {
    let folder = tempfile::tempdir().unwrap();
    let choosing = |pdos: &'static [u16]| {
        let (builder, esi) = gripper(folder.path());
        let choice = Choice {
            pdos: Some(pdos.to_vec()),
            mode: None,
        };
        let builder = builder.esi(esi).unwrap();
        heard(builder.choose(move |devices, matched| matched.choose(&devices[0], &choice)))
    };
    let (builder, events) = choosing(&[0x1600, 0x1602, 0x1A00]);
    let net = builder.bring_up().unwrap();
    assert_eq!(
        events.recv().unwrap(),
        "1 of 1 devices are described by ESI files"
    );
    let device = net.device_at(0).unwrap();
    assert!(device.output::<i16>((0x7000, 3)).is_ok());
    let refused = device.output::<i32>((0x7000, 2)).unwrap_err().to_string();
    assert!(
        refused.contains("Target force"),
        "the file's name: {refused}"
    );

    let (builder, _) = choosing(&[0x1601, 0x1602]);
    let refused = builder.bring_up().unwrap_err();
    assert!(
        matches!(refused, BringUpNetworkError::Choice(_)),
        "{refused}"
    );
    let empty = tempfile::tempdir().unwrap();
    let refused = Network::sim(1).unwrap().esi(empty.path()).unwrap_err();
    assert!(
        refused.to_string().contains("describes no device"),
        "{refused}"
    );
}

#[test]
fn a_loop_on_the_reference_clock_records_its_offset_and_what_comes_after_the_warm_up() {
    let folder = tempfile::tempdir().unwrap();
    let run = Recording::create(folder.path().join("run")).unwrap();
    let run = run.keep_samples();
    let builder = Network::sim(10).unwrap().cycle("500Hz").unwrap();
    let (builder, events) = heard(builder.reference_clock());
    let builder = builder.warm_up(200 * MS).duration(400 * MS);
    let net = builder.record(&run).bring_up().unwrap();
    let event = events.recv().unwrap();
    assert!(event.starts_with("clocks: after "), "{event}");
    let report = net.run(|io| Flow::until(io.is_ending())).unwrap();
    assert_eq!(report.ended.by, EndedBy::Controller, "{report}");
    let recorded = run.finish().unwrap();
    let count = |name: &str| {
        let mut series = recorded.run().series.iter();
        series.find(|it| it.name == name).unwrap().counts.recorded
    };
    // The run has 300 cycles; the reference clock moves those of the warm-up a little.
    for name in ["wake-up", "exchange"] {
        assert!((1..250).contains(&count(name)), "{name}: {report}");
    }
    assert!(count("clock-offset") > 0 && count("clock-drift") > 0);
    assert!(folder.path().join("run/wake-up.samples.arrow").exists());
}

#[test]
fn pulses_that_no_device_asks_for_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (builder, esi) = gripper(folder.path());
    let choice = Choice {
        pdos: None,
        mode: Some("SM".to_owned()),
    };
    let builder = builder.sync0(Duration::ZERO).esi(esi).unwrap();
    let builder = builder.choose(move |devices, matched| matched.choose(&devices[0], &choice));
    let outcome = builder.bring_up().map(drop);
    assert!(
        matches!(outcome, Err(BringUpNetworkError::NoPulses)),
        "{outcome:?}"
    );
}

#[test]
fn pulses_later_than_a_cycle_are_refused() {
    let cycle = Duration::from_millis(4);
    let builder = Network::sim(3).unwrap().cycle("250Hz").unwrap();
    let outcome = builder.sync0(cycle).bring_up().map(drop);
    assert!(
        matches!(outcome, Err(BringUpNetworkError::Shift { shift, .. }) if shift == cycle),
        "{outcome:?}"
    );
}

/// A motion of the left knee back and forth, which a busy machine does not stop.
const MOTION: &str = r#"
cycle_us = 4000
[safety]
lost_cycles = 100000
late_cycles = 100000
[[axis]]
device = "left knee"
repeat = true
moves = [ { to = 0.1, velocity = 0.5 }, { to = 0.0 } ]
"#;

#[test]
fn a_motion_moves_its_axes_beside_a_law() {
    let plan = motion::file::parse("motion.toml", MOTION).unwrap();
    let builder = Network::sim(12).unwrap().motion(plan).unwrap();
    let net = builder.bring_up().unwrap();
    assert_eq!(net.axes(), 1);
    let actual = net
        .device("left knee")
        .unwrap()
        .input::<i32>(0x6064)
        .unwrap();
    let (stop, monitor) = (net.stop_handle(), net.monitor());
    let (mut first, mut greatest) = (None, 0);
    let report = net.run(|io| {
        assert_eq!(io.step().as_millis() % 4, 0, "the file's cycle");
        let at = io.get(actual);
        greatest = greatest.max((at - *first.get_or_insert(at)).abs());
        if greatest > 1_000 || io.number() > MANY {
            stop.stop();
        }
        Flow::Continue
    });
    let report = report.unwrap();
    assert!(greatest > 1_000, "{report}");
    assert_eq!(
        report.ended.by,
        EndedBy::Controller,
        "the axes came to rest"
    );
    assert_eq!((report.axes.axes[0].position, report.axes.stops), (8, 0));
    assert!(report.axes.axes[0].cycles > 0, "{report}");
    assert!(
        report
            .to_string()
            .contains("\n1 axis; largest following error: position 8, "),
        "{report}"
    );
    assert!(monitor.axes.status().is_some());

    let plan = motion::file::parse("motion.toml", &MOTION.replace("left knee", "third knee"));
    let builder = Network::sim(12).unwrap().motion(plan.unwrap()).unwrap();
    let refused = builder.bring_up_timeout(Duration::ZERO).bring_up();
    assert!(refused.unwrap_err().to_string().contains("no device is"));
}

#[test]
fn a_law_that_stops_ends_the_loop_once_its_axes_rest() {
    let plan = motion::file::parse("motion.toml", MOTION).unwrap();
    let builder = Network::sim(12).unwrap().motion(plan).unwrap();
    let net = builder.bring_up().unwrap();
    let knee = net.device("left knee").unwrap();
    let (actual, velocity) = (knee.input::<i32>(0x6064), knee.input::<i32>(0x606C));
    let (actual, velocity) = (actual.unwrap(), velocity.unwrap());
    let (mut first, mut asked, mut last) = (None, None, i32::MAX);
    let report = net.run(|io| {
        let at = io.get(actual);
        last = io.get(velocity);
        let moved = (at - *first.get_or_insert(at)).abs();
        if asked.is_none() && (moved > 1_000 || io.number() > MANY) {
            asked = Some((io.number(), last));
        }
        Flow::until(asked.is_some())
    });
    let ended = report.unwrap().ended;
    let (number, moving) = asked.unwrap();
    assert!(moving.abs() > 1_000, "it moved: {moving}");
    // An axis at rest stays within a small range; it need not have no velocity at all.
    assert!(last.abs() * 10 < moving.abs(), "it came to rest: {last}");
    assert!(ended.cycles > number + 2, "{ended:?}");
    assert_eq!(ended.by, EndedBy::Controller);
}

#[test]
fn a_listener_hears_of_a_cut_cable_and_of_the_devices_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let flap = "[[fault]]\nwhat = \"flap\"\ndevice = \"left knee\"\nat_ms = 3000\nvalue = 500\n";
    let text = format!("{}\n{flap}", humanoid(10).to_toml().unwrap());
    let plan = SegmentPlan::read(&file(folder.path(), "flap.toml", &text)).unwrap();
    let (builder, events) = heard(Network::simulated(&plan).unwrap());
    let mut heard = Vec::new();
    let is_back = |it: &String| it.starts_with("back: 8 (left knee)");
    let net = builder.bring_up().unwrap();
    let report = net.run(|io| {
        heard.extend(events.try_iter());
        Flow::until(heard.iter().any(is_back) || io.number() > MANY)
    });
    drop(report.unwrap());
    let is_lost = |it: &String| it.starts_with("lost: 8 (left knee)");
    assert!(heard.iter().any(is_lost), "{heard:?}");
    assert!(heard.iter().any(is_back), "{heard:?}");
}

#[test]
fn a_drive_with_a_target_and_no_controlword_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let warned = |name: &str, enables: bool| {
        let run = Recording::create(folder.path().join(name)).unwrap();
        let (builder, events) = heard(Network::sim(12).unwrap().record(&run));
        let net = builder.bring_up().unwrap();
        let knee = net.device("left knee").unwrap();
        let target = knee.output::<i32>(0x607A).unwrap();
        let drive = enables.then(|| knee.drive().unwrap());
        net.run(|io| {
            io.set(target, 0);
            if let Some(drive) = drive {
                io.control(drive, Goal::Enabled, false);
            }
            Flow::until(io.number() == 10)
        })
        .unwrap();
        let recorded = run.finish().unwrap();
        let mut warnings = recorded.run().warnings.iter();
        let warning = warnings.find(|it| it.id == "drives_not_enabled");
        let is_told = events
            .try_iter()
            .any(|it| it.contains("the drive is not enabled"));
        assert_eq!(warning.is_some(), is_told);
        warning.map(|it| it.text.clone())
    };
    let text = warned("idle", false).unwrap();
    assert!(text.contains("a target of left knee and not"), "{text}");
    assert_eq!(warned("enabled", true), None);
}

#[test]
fn a_loop_runs_on_another_thread_and_may_be_left_alone() {
    let net = Network::sim(5).unwrap().bring_up().unwrap();
    let (number, report) = net
        .with_loop(|network_loop| {
            let work = move || {
                let kind = kadenz::rt::sleep::SleeperKind::recommended();
                let mut sleeper = kadenz::rt::sleep::open(kind, Default::default()).unwrap();
                network_loop.run(None, sleeper.as_mut(), |io| Flow::until(io.number() == 50));
                7
            };
            std::thread::spawn(work).join().unwrap()
        })
        .unwrap();
    assert_eq!((number, report.unwrap().ended.cycles), (7, 50));

    let net = Network::sim(5).unwrap().bring_up().unwrap();
    let ((), report) = net.with_loop(drop).unwrap();
    assert!(report.is_none());
}

#[cfg(target_os = "linux")]
mod control_socket {
    use kadenz::ethercat::Readers;
    use kadenz::ethercat::running_loop::control_socket::{Answer, ControlClient, Question};

    use super::*;

    /// A name that no other test uses.
    fn name(of: &str) -> String {
        format!("test-library-{of}-{}", std::process::id())
    }

    fn ask(client: &mut ControlClient, question: &Question) -> Answer {
        client.request(question).unwrap()
    }

    /// Waits until the loop's socket gives the wanted answer, as long as even a very busy machine needs.
    fn wait_for<T>(
        client: &mut ControlClient,
        mut wanted: impl FnMut(&mut ControlClient) -> Option<T>,
    ) -> T {
        for _ in 0..6_000 {
            if let Some(it) = wanted(client) {
                return it;
            }
            std::thread::sleep(10 * MS);
        }
        panic!("the loop did not answer so within a minute");
    }

    #[test]
    fn other_programs_see_the_process_image_set_outputs_and_are_refused_a_name_in_use() {
        for (readers, is_shared) in [(Readers::Seqlock, true), (Readers::PiMutex, false)] {
            let name = name(&format!("{readers:?}"));
            let open = || Network::sim(10).unwrap().control_socket(&name);
            let net = open().unwrap().process_image(readers);
            assert!(open().unwrap_err().to_string().contains(&name));
            let net = net.bring_up().unwrap();
            let stop = net.stop_handle();
            let other = std::thread::spawn({
                let name = name.clone();
                move || {
                    let mut client = ControlClient::connect(&name).unwrap();
                    let Answer::Devices(devices) = ask(&mut client, &Question::Devices {}) else {
                        panic!("no devices");
                    };
                    assert_eq!(devices.len(), 10);
                    let Answer::Layout(layout) = ask(&mut client, &Question::Layout {}) else {
                        panic!("no layout");
                    };
                    assert_eq!(layout.memory.is_some(), is_shared);
                    assert_eq!(layout.interval_ns, 1_000_000);
                    let question = Question::Output {
                        device: 4,
                        index: 0x607A,
                        sub: 0,
                        value: vec![7, 0, 0, 0],
                    };
                    assert!(matches!(ask(&mut client, &question), Answer::Set { .. }));
                    wait_for(&mut client, |client| {
                        let Ok(Answer::ProcessImage { bytes, .. }) =
                            client.request(&Question::ProcessImage {})
                        else {
                            return None;
                        };
                        bytes.windows(4).any(|it| it == [7, 0, 0, 0]).then_some(())
                    });
                    stop.stop();
                }
            });
            let mut seen = false;
            let report = net.run(|io| {
                // The law writes no outputs: they keep the value that the other program has set.
                seen |= io
                    .context()
                    .outputs()
                    .windows(4)
                    .any(|it| it == [7, 0, 0, 0]);
                Flow::until(io.number() > MANY)
            });
            other.join().unwrap();
            assert_eq!(report.unwrap().ended.by, EndedBy::Flag);
            assert!(seen);
        }
    }

    #[test]
    fn a_stop_at_the_socket_ends_a_bring_up_and_names_the_client() {
        let folder = tempfile::tempdir().unwrap();
        let (plan, expected) = without_the_last(folder.path());
        let name = name("bring-up");
        let builder = Network::simulated(&plan)
            .unwrap()
            .bring_up_timeout(3_600_000 * MS);
        let builder = builder.expected(expected, Missing::Refused).unwrap();
        let builder = builder.control_socket(&name).unwrap();
        let other = std::thread::spawn(move || {
            let mut client = ControlClient::connect(&name).unwrap();
            let by = Some("a test".to_owned());
            ask(&mut client, &Question::Stop { by });
        });
        let refused = builder.bring_up().unwrap_err();
        other.join().unwrap();
        let words = "ended by a test: bring-up was ended before all devices were configured";
        assert_eq!(refused.to_string(), words);
    }

    #[test]
    fn axes_that_are_stopped_at_the_socket_are_an_event_and_stay_so_in_the_report() {
        let name = name("axes");
        let plan = motion::file::parse("motion.toml", MOTION).unwrap();
        let builder = Network::sim(12).unwrap().motion(plan).unwrap();
        let (builder, events) = heard(builder.control_socket(&name).unwrap());
        let net = builder.bring_up().unwrap();
        let stop = net.stop_handle();
        let other = std::thread::spawn(move || {
            let mut client = ControlClient::connect(&name).unwrap();
            let by = Some("a test".to_owned());
            ask(&mut client, &Question::Stop { by });
            let event = events.recv().unwrap();
            stop.stop();
            event
        });
        let report = net.run(|_| Flow::Continue).unwrap();
        let event = other.join().unwrap();
        assert!(event.starts_with("all axes are stopped: "), "{event}");
        assert_eq!(report.axes.stops, 1, "{report}");
        assert!(report.axes.stopped.is_some());
    }
}
