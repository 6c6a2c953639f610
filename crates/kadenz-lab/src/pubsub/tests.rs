#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::path::Path;
use std::time::Duration;

use kadenz_msg::bus::Bus;
use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::labels::{SUBSCRIBER, VALUE};
use kadenz_record::run::model::{EndedBy, Run, TuningMeasure};
use kadenz_rt::beat::Interval;
use kadenz_rt::clock::{self, ClockKind};
use kadenz_rt::sleep::{self, SleeperKind, SleeperOptions};

use super::listener::BusListener;
use super::series::Stages;
use super::*;
use crate::measuring::Measuring;
use crate::measuring_threads::{LoopContext, NoWatch};
use crate::session::SessionPlan;
use crate::stop::Stop;

fn measuring(out: &Path) -> Measuring {
    let session = SessionPlan {
        interval: Duration::from_millis(50),
        examine: false,
        ..SessionPlan::new("msg-latency", out)
    };
    Measuring {
        deadline: Some(Duration::from_secs(60)),
        ..Measuring::new(session)
    }
}

fn plan(subscribers: usize) -> LatencyPlan {
    LatencyPlan {
        url: "memq://".to_owned(),
        channel: CHANNEL.to_owned(),
        publish: PublishPlan {
            run: run_number(),
            interval: Interval::try_from(Duration::from_millis(1)).unwrap(),
            warm_up: 5,
            count: 200,
            message_bytes: 200,
        },
        subscribers,
        subscriber: None,
        receiving: Receiving::Blocking,
        // No pause of a busy machine may lose a message here.
        queue: 1000,
        timeout: Duration::from_secs(10),
    }
}

fn recorded(run: &Run, name: &str) -> u64 {
    let series = run.series.iter().find(|it| it.name == name);
    series
        .unwrap_or_else(|| panic!("no {name}"))
        .counts
        .recorded
}

#[test]
fn every_message_to_every_subscriber_is_a_sample_of_each_series() {
    for subscribers in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let plan = plan(subscribers);
        let (measuring, stop) = (measuring(&out), Stop::default());
        let run = latency(&measuring, &plan, None, &stop, &mut NoWatch).unwrap();
        assert_eq!(run.ended_by, Some(EndedBy::Finished));
        let messages = run.messages.clone().unwrap();
        assert_eq!((messages.published, messages.refused), (200, 0));
        assert_eq!(messages.subscribers.len(), subscribers);
        for subscriber in &messages.subscribers {
            assert_eq!((subscriber.received, subscriber.lost), (200, 0), "{run:?}");
            for value in ["one-way", "one-way-from-send", "queue", "decode"] {
                let name = subscriber.series(value, subscribers);
                assert_eq!(recorded(&run, &name), 200, "{name}");
                let series = run.series.iter().find(|it| it.name == name).unwrap();
                assert_eq!(series.label(VALUE), Some(value));
                let several = (subscribers > 1).then_some(subscriber.name.as_str());
                assert_eq!(series.label(SUBSCRIBER), several);
            }
        }
        assert_eq!(recorded(&run, "publish-lateness"), 200);
        assert_eq!(recorded(&run, "publish"), 199, "the last has none after it");
        let stamped = run.series.iter().any(|it| it.name.contains("kernel"));
        assert!(!stamped, "no kernel is between two threads");
    }
}

#[test]
fn a_stop_keeps_what_there_is_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut plan = plan(1);
    plan.publish.count = 1_000_000;
    let stop = Stop::default();
    let later = stop.clone();
    let stopping = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        later.request();
    });
    let run = latency(&measuring(&out), &plan, None, &stop, &mut NoWatch).unwrap();
    stopping.join().unwrap();
    assert_eq!(run.ended_by, Some(EndedBy::Interrupted));
    let messages = run.messages.unwrap();
    assert!(messages.published < plan.publish.count);
    let subscriber = &messages.subscribers[0];
    assert_eq!(
        (subscriber.received, subscriber.lost),
        (messages.published, 0)
    );
}

#[test]
fn a_bus_on_which_nothing_comes_is_an_error_and_leaves_no_folder() {
    /// A source that runs, and publishes nothing.
    struct Mute;
    impl Source for Mute {
        fn begin(&mut self) -> std::io::Result<()> {
            Ok(())
        }
        fn has_ended(&mut self) -> bool {
            false
        }
        fn end(&mut self) {}
        fn finish(self: Box<Self>) -> Result<(Published, Vec<TuningMeasure>), String> {
            Ok((Published::default(), Vec::new()))
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut plan = plan(1);
    plan.timeout = Duration::from_millis(50);
    let source: Option<Box<dyn Source>> = Some(Box::new(Mute));
    let stop = Stop::default();
    let error = latency(&measuring(&out), &plan, source, &stop, &mut NoWatch).unwrap_err();
    assert!(error.to_string().contains("kadenz msg doctor"), "{error}");
    assert!(!out.exists());
    plan.publish.message_bytes = MIN - 1;
    let error = latency(&measuring(&out), &plan, None, &stop, &mut NoWatch).unwrap_err();
    assert!(error.to_string().contains("at least 52"), "{error}");
}

#[test]
fn neither_loop_allocates() {
    let folder = tempfile::tempdir().unwrap();
    let measuring = measuring(&folder.path().join("run"));
    let plan = plan(1);
    let mut run = RunWriter::create(&measuring.session.out, Run::default()).unwrap();
    let stages = Stages::FromInlet;
    let (mut recorders, _) = series::create(&measuring, &mut run, &plan, 0, stages).unwrap();
    let running = run.start(Duration::from_millis(20)).unwrap();
    let bus = Bus::open(&plan.url).unwrap();
    let mut publisher = bus.publisher(CHANNEL).unwrap();
    let mut listener = BusListener::open(&plan, "subscriber-1".to_owned(), bus).unwrap();
    // Every place of the queue between the threads has held a message once.
    for _ in 0..2000 {
        greet(&plan.publish, &mut publisher).unwrap();
        assert!(listener.has_heard(&plan));
    }
    let clock = clock::open(ClockKind::Monotonic).unwrap();
    let mut sleeper = sleep::open(SleeperKind::Spin, SleeperOptions::default()).unwrap();
    let mut context = LoopContext {
        start: clock::now(),
        origin: clock::now(),
        clock: clock.as_ref(),
        sleeper: sleeper.as_mut(),
        stop: &Stop::default(),
        owed: 0,
    };
    let mut published = Published::default();
    let of_publisher = allocation_counter::measure(|| {
        published = publish_on_beat(&plan.publish, &mut publisher, &mut context);
    });
    assert_eq!(of_publisher.count_total, 0);
    assert_eq!(published.published, plan.publish.count);
    let quit = Stop::default();
    let of_listener = allocation_counter::measure(|| {
        listener.run(&mut recorders, &quit, context.origin);
    });
    assert_eq!(of_listener.count_total, 0);
    let subscriber = listener.close(published.published);
    assert_eq!((subscriber.received, subscriber.lost), (200, 0));
    drop(running);
}

#[test]
fn messages_of_others_that_never_pause_do_not_keep_a_subscriber_from_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let (measuring, plan) = (measuring(&folder.path().join("run")), plan(1));
    let mut run = RunWriter::create(&measuring.session.out, Run::default()).unwrap();
    let made = series::create(&measuring, &mut run, &plan, 0, Stages::FromInlet);
    let (mut recorders, _) = made.unwrap();
    let bus = Bus::open(&plan.url).unwrap();
    let other = bus.clone();
    let mut listener = BusListener::open(&plan, "subscriber-1".to_owned(), bus).unwrap();
    let (quit, over) = (Stop::default(), Stop::default());
    quit.request();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.requested() {
                let _ = other.publish_bytes(CHANNEL, b"of another program");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        listener.run(&mut recorders, &quit, clock::now());
        over.request();
    });
    assert!(listener.close(0).foreign > 0);
}

#[test]
fn no_time_of_a_message_on_the_bus_overflows() {
    let folder = tempfile::tempdir().unwrap();
    let (measuring, plan) = (measuring(&folder.path().join("run")), plan(1));
    let mut run = RunWriter::create(&measuring.session.out, Run::default()).unwrap();
    let made = series::create(&measuring, &mut run, &plan, 0, Stages::None);
    let (mut recorders, _) = made.unwrap();
    let running = run.start(Duration::from_millis(20)).unwrap();
    for ns in [i64::MIN, -1, i64::MAX] {
        let written = LatencyProbe {
            sequence: 1,
            intended_ns: ns,
            sent_ns: ns.wrapping_neg(),
            before_ns: ns,
            ..LatencyProbe::default()
        };
        recorders.times(&written, clock::now().as_ns().cast_signed(), clock::now());
    }
    drop(recorders);
    let run = running.finish(EndedBy::Finished).unwrap();
    assert_eq!(recorded(&run, "one-way"), 3);
}

#[test]
fn what_the_publisher_gave_up_counts_as_lost() {
    let mut plan = plan(1);
    plan.publish.warm_up = 0;
    let bus = Bus::open(&plan.url).unwrap();
    let mut publisher = bus.publisher(CHANNEL).unwrap();
    let listener = BusListener::open(&plan, "subscriber-1".to_owned(), bus).unwrap();
    let clock = clock::open(ClockKind::Monotonic).unwrap();
    let mut sleeper = sleep::open(SleeperKind::Spin, SleeperOptions::default()).unwrap();
    // Its time was over long ago.
    let start = clock::now().offset_by_ns(-3_600_000_000_000);
    let mut context = LoopContext {
        start,
        origin: start,
        clock: clock.as_ref(),
        sleeper: sleeper.as_mut(),
        stop: &Stop::default(),
        owed: 0,
    };
    let published = publish_on_beat(&plan.publish, &mut publisher, &mut context);
    let expected = Published {
        published: 200,
        refused: 0,
        not_run: 199,
    };
    assert_eq!((published, context.owed), (expected, 199));
    assert_eq!(listener.close(published.published).lost, 200);
}
