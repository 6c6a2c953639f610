use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use kadenz_msg::bus::Bus;
use kadenz_msg::channel::Channel;
use kadenz_msg::message::Message;
use kadenz_msg::service::messages::{Reply, Request};
use kadenz_msg::service::request::{CallError, Client, Server, ServiceOptions};
use kadenz_rt::tuning::Tuning;

use crate::pose::{Other, Pose, pose};
use crate::{LONG, SHORT, bus, wait_until};

/// Answers with the next number; refuses negative ones.
fn next(pose: &Pose) -> Result<Pose, String> {
    match pose.number {
        0.. => Ok(Pose {
            number: pose.number + 1,
            ..pose.clone()
        }),
        _ => Err("there is no pose before the first".to_owned()),
    }
}

fn serve(bus: &Bus) -> Server {
    bus.serve("NEXT", Tuning::default(), next).unwrap()
}

fn client(bus: &Bus) -> Client<Pose, Pose> {
    bus.client("NEXT").unwrap()
}

#[test]
fn a_call_is_answered_and_a_refusal_says_why() {
    let bus = bus();
    let server = serve(&bus);
    let mut client = client(&bus);
    for number in 0..100 {
        assert_eq!(client.call(&pose(number), LONG).unwrap(), pose(number + 1));
    }
    let error = client.call(&pose(-1), LONG).unwrap_err();
    assert!(matches!(error, CallError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("NEXT refuses: there is no pose"));
    assert_eq!(client.call(&pose(1), LONG).unwrap().number, 2, "it goes on");
    wait_until("all are counted", || {
        let counters = server.counters();
        (counters.answered, counters.refused) == (101, 1)
    });
    assert_eq!(client.ignored(), 0);
}

#[test]
fn clients_on_many_threads_get_their_own_answers() {
    let bus = bus();
    let _server = serve(&bus);
    thread::scope(|scope| {
        for of in 0..8 {
            let mut client = client(&bus);
            scope.spawn(move || {
                for number in of * 1000..of * 1000 + 50 {
                    assert_eq!(client.call(&pose(number), LONG).unwrap().number, number + 1);
                }
            });
        }
    });
}

#[test]
fn without_a_server_the_call_times_out_and_the_next_one_goes_on() {
    let bus = bus();
    let mut client = client(&bus);
    let error = client.call(&pose(1), SHORT).unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }));
    let text = error.to_string();
    assert!(text.contains("NEXT did not answer within 50ms"), "{text}");
    let _server = serve(&bus);
    assert_eq!(client.call(&pose(5), LONG).unwrap().number, 6);
}

#[test]
fn a_server_that_dies_in_the_middle_is_a_timeout_and_its_successor_answers() {
    let bus = bus();
    let dying = bus
        .serve(
            "NEXT",
            Tuning::default(),
            |_: &Pose| -> Result<Pose, String> {
                panic!("this server dies within its handler");
            },
        )
        .unwrap();
    let mut client = client(&bus);
    let error = client.call(&pose(1), SHORT).unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }));
    drop(dying);
    let first = serve(&bus);
    let before = client.ask(&pose(1), LONG).unwrap();
    assert_eq!(before.server, first.number());
    drop(first);
    let second = serve(&bus);
    let after = client.ask(&pose(2), LONG).unwrap();
    assert_eq!((after.server, after.reply.number), (second.number(), 3));
    assert_ne!(after.server, before.server, "a restart shows");
}

#[test]
fn a_late_answer_is_not_taken_for_that_of_the_next_call() {
    let bus = bus();
    let (release, released) = mpsc::sync_channel(1);
    let slow = bus.serve("NEXT", Tuning::default(), move |pose: &Pose| {
        if pose.number == 1 {
            released.recv_timeout(LONG).unwrap();
        }
        next(pose)
    });
    let slow = slow.unwrap();
    let mut client = client(&bus);
    assert!(client.call(&pose(1), SHORT).is_err());
    release.send(()).unwrap();
    assert_eq!(client.call(&pose(10), LONG).unwrap().number, 11);
    assert_eq!(client.ignored(), 1, "the late one came first");
    wait_until("both were answered", || slow.counters().answered == 2);
}

/// A server whose answers to each request the test chooses.
fn by_hand(
    bus: &Bus,
    answers: impl Fn(&Request) -> Vec<Reply> + Send + 'static,
) -> kadenz_msg::bus::Callback {
    let out = bus.clone();
    bus.on_message::<Request, _>(
        "NEXT",
        &Default::default(),
        Tuning::default(),
        move |incoming| {
            let (request, _) = incoming.unwrap();
            let channel = format!("KADENZ/REPLY/{:016x}", request.client);
            for reply in answers(request) {
                out.publish(&channel, &reply).unwrap();
            }
        },
    )
    .unwrap()
}

fn reply(request: &Request, message: &impl Message) -> Reply {
    let payload = message.encode().unwrap();
    Reply {
        client: request.client,
        number: request.number,
        size: i32::try_from(payload.len()).unwrap(),
        payload,
        ..Reply::default()
    }
}

#[test]
fn of_several_answers_the_first_is_taken_and_strange_ones_are_ignored() {
    let bus = bus();
    let _server = by_hand(&bus, |request| {
        let good = reply(request, &pose(100 * (request.number + 1)));
        let foreign = Reply {
            client: request.client ^ 1,
            ..reply(request, &pose(-1))
        };
        let earlier = Reply {
            number: request.number - 1,
            ..reply(request, &pose(-2))
        };
        let second = reply(request, &pose(-3));
        vec![foreign, earlier, good.clone(), good, second]
    });
    let mut client = client(&bus);
    for call in 1..5 {
        let answer = client.call(&pose(0), LONG).unwrap();
        assert_eq!(answer.number, 100 * (call + 1));
    }
    assert!(client.ignored() >= 4 * 2, "{}", client.ignored());
}

#[test]
fn an_answer_of_another_type_is_an_error_with_both_fingerprints() {
    let bus = bus();
    let _server = by_hand(&bus, |request| vec![reply(request, &Other(pose(1)))]);
    let error = client(&bus).call(&pose(1), LONG).unwrap_err();
    assert!(matches!(error, CallError::Decode { .. }));
    let said = error.to_string();
    for part in ["NEXT", "0x123456789abcdef0", "0xfeedbeef00000001"] {
        assert!(said.contains(part), "{part} is missing in: {said}");
    }
}

#[test]
fn a_request_of_another_type_is_refused_with_both_fingerprints() {
    let bus = bus();
    let _server = serve(&bus);
    let mut client: Client<Other, Pose> = bus.client("NEXT").unwrap();
    let said = client.call(&Other(pose(1)), LONG).unwrap_err().to_string();
    for part in ["refuses", "0x123456789abcdef0", "0xfeedbeef00000001"] {
        assert!(said.contains(part), "{part} is missing in: {said}");
    }
}

#[test]
fn of_two_servers_one_name_the_first_answer_is_taken() {
    let bus = bus();
    let first = serve(&bus);
    let second = serve(&bus);
    let mut client = client(&bus);
    for number in 0..20 {
        let answer = client.ask(&pose(number), LONG).unwrap();
        assert_eq!(answer.reply.number, number + 1);
        assert!([first.number(), second.number()].contains(&answer.server));
    }
    wait_until("both answer", || {
        first.counters().answered + second.counters().answered == 40
    });
}

#[test]
fn a_doubled_request_is_worked_on_once_and_answered_once() {
    let bus = bus();
    let worked = Arc::new(AtomicI64::new(0));
    let works = Arc::clone(&worked);
    let server = bus.serve("NEXT", Tuning::default(), move |pose: &Pose| {
        works.fetch_add(1, Ordering::Relaxed);
        next(pose)
    });
    let server = server.unwrap();
    let payload = pose(1).encode().unwrap();
    let request = Request {
        client: 7,
        number: 1,
        size: i32::try_from(payload.len()).unwrap(),
        payload,
    };
    let mut replies = bus.subscribe::<Reply>("KADENZ/REPLY/.*").unwrap();
    for _ in 0..5 {
        bus.publish("NEXT", &request).unwrap();
    }
    wait_until("all five are seen", || server.counters().repeated == 4);
    assert_eq!(worked.load(Ordering::Relaxed), 1);
    let one = replies.recv(LONG).unwrap().unwrap();
    assert_eq!(
        one.delivery.channel,
        Channel::new("KADENZ/REPLY/0000000000000007").unwrap()
    );
    assert!(
        replies.recv(SHORT).unwrap().is_none(),
        "one request, one answer"
    );
}

#[test]
fn what_is_longer_than_agreed_is_refused_at_either_end() {
    let bus = bus();
    let options = ServiceOptions {
        longest_payload: 300,
        ..ServiceOptions::default()
    };
    let grow = |pose: &Pose, _: &_| {
        Ok(Pose {
            image: vec![0; pose.image.len() * 10],
            ..pose.clone()
        })
    };
    let _server = bus
        .serve_with("NEXT", &options, Tuning::default(), grow)
        .unwrap();
    let long = Pose {
        image: vec![0; 1000],
        ..pose(1)
    };
    let mut wide = client(&bus);
    let said = wide.call(&long, LONG).unwrap_err().to_string();
    assert!(
        said.contains("refuses: the request has 1044 bytes"),
        "{said}"
    );
    let said = wide.call(&pose(1), LONG).unwrap_err().to_string();
    assert!(
        said.contains("refuses: the answer has 1544 bytes"),
        "{said}"
    );
    let mut narrow: Client<Pose, Pose> = bus.client_with("NEXT", &options).unwrap();
    let error = narrow.call(&long, LONG).unwrap_err();
    assert!(matches!(error, CallError::TooLong { .. }), "{error}");
}

#[test]
fn a_flood_of_requests_and_of_nonsense_is_bounded_counted_and_survived() {
    let bus = bus();
    let (enter, entered) = std::sync::mpsc::sync_channel(1);
    let (go, goes) = std::sync::mpsc::sync_channel::<()>(1);
    let mut first = true;
    let server = bus.serve("NEXT", Tuning::default(), move |pose: &Pose| {
        if std::mem::take(&mut first) {
            enter.send(()).unwrap();
            goes.recv().unwrap();
        }
        next(pose)
    });
    let server = server.unwrap();
    let payload = pose(1).encode().unwrap();
    let mut request = Request {
        client: 0,
        number: 1,
        size: i32::try_from(payload.len()).unwrap(),
        payload,
    };
    bus.publish("NEXT", &request).unwrap();
    entered.recv_timeout(LONG).unwrap();
    for client in 1..3000 {
        request.client = client;
        bus.publish("NEXT", &request).unwrap();
        bus.publish_bytes("NEXT", &[0xff; 30]).unwrap();
    }
    go.send(()).unwrap();
    // The server counts requests that found no room.
    wait_until("each is counted once", || {
        let counted = server.counters();
        let overrun = bus.beside().inlet_counters().overrun;
        counted.answered + counted.undecodable + counted.dropped + overrun == 1 + 2 * 2999
    });
    assert!(bus.beside().inlet_counters().overrun > 0);
    let mut own = client(&bus);
    assert_eq!(
        own.call(&pose(7), LONG).unwrap().number,
        8,
        "it still serves"
    );
}

#[test]
fn a_flooded_client_gives_up_at_its_timeout() {
    let bus = bus();
    let flood = bus.clone();
    let server = by_hand(&bus, move |request| {
        vec![
            Reply {
                number: request.number + 1,
                ..reply(request, &pose(-1))
            };
            1000
        ]
    });
    let mut client = client(&flood);
    let error = client
        .call(&pose(1), Duration::from_millis(200))
        .unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
    drop(server);
}

#[test]
fn a_service_s_name_is_not_a_pattern() {
    let bus = bus();
    let _server = bus.serve("N.*", Tuning::default(), next).unwrap();
    assert!(client(&bus).call(&pose(1), SHORT).is_err());
    let mut exact: Client<Pose, Pose> = bus.client("N.*").unwrap();
    assert_eq!(exact.call(&pose(1), LONG).unwrap().number, 2);
    assert!(bus.serve(&"x".repeat(64), Tuning::default(), next).is_err());
}
