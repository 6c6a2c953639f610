//! The guarantees of a bus when the provider delivers late, fails or ends: the provider follows a script of the test.
#![allow(clippy::unwrap_used, reason = "a panic is the answer of a test")]

mod pose;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use kadenz_msg::arrival::{Arrival, MessageInfo, Payload, SenderId, SourceInfo, Stamps};
use kadenz_msg::bus::{Bus, Contract, RecvError, SubscriptionOptions};
use kadenz_msg::channel::Pattern;
use kadenz_msg::message::Message as _;
use kadenz_msg::provider::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, Outlet, Provider,
    ProviderError, ReceiveError, Received, Take, Wait, Wake,
};
use kadenz_msg::service::heartbeat::{CHANNEL, Event, HeartbeatOptions};
use kadenz_msg::service::messages::Heartbeat;
use kadenz_rt::clock;
use kadenz_rt::tuning::Tuning;
use pose::{Pose, pose};

const LONG: Duration = Duration::from_secs(10);

/// The next action of the inlet.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A message of this number arrives, whose first byte the kernel received this long ago.
    Message(i64, Duration),
    /// The connection is lost for a moment.
    Lost,
    /// The log has ended.
    End,
    /// A node beats once.
    Beat,
    /// Another node's beats arrive without end.
    Flood,
}

#[derive(Debug, Default)]
struct Script {
    steps: VecDeque<Step>,
    woken: bool,
    /// The most patterns that the inlet accepts.
    most_patterns: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct Scripted(Arc<(Mutex<Script>, Condvar)>);

impl Scripted {
    fn bus(steps: &[Step]) -> (Bus, Self) {
        let provider = Self::default();
        provider.play(steps);
        (
            Bus::over("scripted://", Arc::new(provider.clone())),
            provider,
        )
    }

    fn play(&self, steps: &[Step]) {
        self.0.0.lock().unwrap().steps.extend(steps);
        self.0.1.notify_all();
    }

    /// Waits for the next step; `None` after the wait.
    fn next(&self, wait: Wait) -> Option<Step> {
        let mut script = self.0.0.lock().unwrap();
        loop {
            match script.steps.front() {
                Some(step @ (Step::End | Step::Flood)) => return Some(*step),
                Some(_) => return script.steps.pop_front(),
                None => {}
            }
            let left = match wait {
                Wait::Poll => Duration::ZERO,
                Wait::Until(until) => until.remaining(clock::now()),
                Wait::Forever => Duration::from_millis(10),
            };
            let over = left.is_zero() && wait != Wait::Forever;
            if over || std::mem::take(&mut script.woken) {
                return None;
            }
            script = self.0.1.wait_timeout(script, left).unwrap().0;
        }
    }
}

impl Wake for Scripted {
    fn wake(&self) {
        self.0.0.lock().unwrap().woken = true;
        self.0.1.notify_all();
    }
}

impl Provider for Scripted {
    fn guarantees(&self) -> Guarantees {
        Guarantees {
            order: DeliveryOrder::Kept,
            loss: Loss::None,
            back_pressure: BackPressure::None,
            history: History::None,
            discovery: Discovery::Process,
            longest_payload: 1000,
            real_time: false,
            zero_copy: false,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        Err(refused())
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        Ok(Box::new(self.clone()))
    }
}

impl Inlet for Scripted {
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError> {
        let most = self.0.0.lock().unwrap().most_patterns;
        match most {
            Some(most) if patterns.len() > most => Err(refused()),
            _ => Ok(()),
        }
    }

    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        match self.next(wait) {
            None => Ok(Received::Nothing),
            Some(Step::End) => Ok(Received::Ended),
            Some(Step::Lost) => Err(ReceiveError::Disconnected {
                peer: "the script".to_owned(),
                reason: std::io::ErrorKind::ConnectionReset,
            }),
            Some(Step::Message(number, age)) => {
                arrive("POSE", pose(number).encode().unwrap(), age, take);
                Ok(Received::Messages(1))
            }
            Some(Step::Beat) => {
                arrive(CHANNEL, beat("arm", 1).encode().unwrap(), NEW, take);
                Ok(Received::Messages(1))
            }
            Some(Step::Flood) => {
                let beat = beat("flood", clock::now().as_ns() as i64);
                arrive(CHANNEL, beat.encode().unwrap(), NEW, take);
                Ok(Received::Messages(1))
            }
        }
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::new(self.clone())
    }
}

fn arrive(channel: &str, mut payload: Vec<u8>, age: Duration, take: Take<'_>) {
    let now = clock::now();
    take(Arrival {
        channel,
        payload: Payload::Owned(&mut payload),
        info: MessageInfo {
            source: SourceInfo::new(SenderId(1), None),
            stamps: Stamps {
                published: None,
                kernel: Some(now - age),
                taken: now,
            },
        },
    });
}

fn beat(name: &str, number: i64) -> Heartbeat {
    Heartbeat {
        name: name.to_owned(),
        number,
        interval_us: 1000,
        ..Heartbeat::default()
    }
}

fn refused() -> ProviderError {
    ProviderError {
        url: "scripted://".to_owned(),
        reason: "the script says so".to_owned(),
        remedy: "change the script".to_owned(),
    }
}

const NEW: Duration = Duration::ZERO;
const OLD: Duration = Duration::from_secs(3600);

/// Options that hand over no message older than a minute, and count a silence of an hour.
fn fresh_alone() -> SubscriptionOptions {
    SubscriptionOptions {
        contract: Contract {
            deadline: Some(OLD),
            max_age: Some(Duration::from_secs(60)),
        },
        ..SubscriptionOptions::default()
    }
}

#[test]
fn a_message_that_is_too_old_never_takes_the_place_of_the_latest() {
    // A long message whose first fragment came long ago may be complete only after a short one.
    let (bus, _) = Scripted::bus(&[Step::Message(1, NEW), Step::Message(2, OLD)]);
    let mut poses = bus.subscribe_with::<Pose>("POSE", &fresh_alone()).unwrap();
    let latest = poses.latest().unwrap().unwrap();
    assert_eq!((latest.message.number, latest.is_new), (1, true));
    let counters = poses.counters();
    assert_eq!((counters.too_old, counters.superseded), (1, 0));
}

#[test]
fn the_latest_message_comes_before_the_error_behind_it() {
    let steps = [
        Step::Message(1, NEW),
        Step::Lost,
        Step::Message(2, NEW),
        Step::End,
    ];
    let (bus, _) = Scripted::bus(&steps);
    let mut poses = bus.subscribe::<Pose>("POSE").unwrap();
    assert_eq!(poses.latest().unwrap().unwrap().message.number, 1);
    let lost = poses.latest().unwrap_err();
    assert!(matches!(lost, RecvError::Provider(_)), "{lost}");
    assert_eq!(poses.latest().unwrap().unwrap().message.number, 2);
    assert_eq!(poses.latest().unwrap_err(), RecvError::Ended);
    assert_eq!(poses.latest().unwrap_err(), RecvError::Ended);
    assert_eq!(poses.counters().received, 2);
}

#[test]
fn a_message_seen_in_place_keeps_the_contract_and_ends_the_silence() {
    let (bus, _) = Scripted::bus(&[Step::Message(1, OLD), Step::Message(2, NEW)]);
    let mut poses = bus.subscribe_with::<Pose>("POSE", &fresh_alone()).unwrap();
    assert_eq!(poses.silence(), None);
    let seen = poses.recv_in_place(LONG, |it| Pose::decode(it.payload).unwrap().number);
    assert_eq!(seen.unwrap(), Some(2));
    assert!(poses.silence().is_some());
    let counters = poses.counters();
    assert_eq!(
        (counters.arrived, counters.received, counters.too_old),
        (2, 1, 1)
    );
}

#[test]
fn a_pattern_that_is_refused_leaves_the_others_as_they_were() {
    let (bus, script) = Scripted::bus(&[]);
    let mut received = bus.aggregator("POSE").unwrap();
    script.0.0.lock().unwrap().most_patterns = Some(1);
    assert!(received.add("OTHER").is_err());
    script.play(&[Step::Message(1, NEW)]);
    let first = received.next_message(Duration::from_secs(5)).unwrap();
    assert_eq!(
        first.map(|it| it.channel.to_string()),
        Some("POSE".to_owned())
    );
}

#[test]
fn a_flood_of_beats_does_not_hide_that_another_node_is_dead() {
    let (bus, script) = Scripted::bus(&[]);
    let mut nodes = bus.watch_nodes(&HeartbeatOptions::default()).unwrap();
    script.play(&[Step::Beat, Step::Flood]);
    let until = clock::now() + LONG;
    while clock::now() < until {
        let happened = nodes.next_event(LONG).unwrap();
        let died = happened.is_some_and(|it| it.name == "arm" && it.event == Event::Died);
        if died {
            return;
        }
    }
    panic!("it was never told");
}

#[test]
fn the_end_of_a_log_ends_an_endless_wait_also_beside_a_receiving_thread() {
    let (bus, script) = Scripted::bus(&[]);
    // The background thread receives only while no other thread does.
    let mut poses = bus.subscribe::<Pose>("POSE").unwrap();
    let background = std::thread::scope(|scope| {
        let leading = scope.spawn(|| poses.recv(Duration::from_millis(300)).unwrap());
        std::thread::sleep(Duration::from_millis(100));
        let background = bus.receive_in_background(Tuning::default()).unwrap();
        assert!(leading.join().unwrap().is_none());
        background
    });
    std::thread::sleep(Duration::from_millis(300));
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || sender.send(poses.recv(Duration::MAX).map(|it| it.is_some())));
    std::thread::sleep(Duration::from_millis(100));
    script.play(&[Step::End]);
    assert_eq!(receiver.recv_timeout(LONG).unwrap(), Err(RecvError::Ended));
    drop(background);
}
