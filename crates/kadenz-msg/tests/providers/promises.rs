//! Tests of the promises of every provider, for one provider.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kadenz_msg::arrival::Scope;
use kadenz_msg::channel::Pattern;
use kadenz_msg::provider::{
    BackPressure, DeliveryOrder, Inlet, Loss, More, Provider, PublishError, Received, Wait,
};
use kadenz_rt::clock;

use crate::ends::{
    MARK, ReceivedMessage, channel, collect, inlet, is_mark, join_all, joined_pair, look, wants,
};

/// Opens one more handle of the same bus, as another program would.
pub(crate) type Open = Box<dyn Fn() -> Arc<dyn Provider>>;

/// A promise in words, with its test.
type Promise = (&'static str, fn(&Open));

const PROMISES: &[Promise] = &[
    ("payloads of all lengths arrive whole", all_lengths),
    ("what is too long is refused, not cut", too_long),
    ("messages arrive in order and none is missing", in_order),
    ("a plain name and a pattern get what they want", patterns),
    ("what is wanted can change", wants_change),
    (
        "two senders are told apart, and each counts for itself",
        two_senders,
    ),
    ("every inlet gets every message", two_inlets),
    ("a waker ends a wait, also one that has not begun", waker),
    (
        "without a message the wait ends when it should",
        nothing_comes,
    ),
    (
        "an outlet may be opened before or after an inlet",
        either_first,
    ),
    ("an outlet and an inlet may be opened again", restarts),
    ("what is left of a batch comes at the next call", enough),
    ("a message can be written in place, or given up", in_place),
    (
        "where real time is promised, nothing is allocated",
        no_allocation,
    ),
    ("what a slow inlet loses is counted or refused", slow_inlet),
];

/// Tests every promise on a bus of its own; a failure names the broken promise.
pub(crate) fn promises(fresh: impl Fn() -> Open) {
    for (name, promise) in PROMISES {
        let open = fresh();
        let outcome = catch_unwind(AssertUnwindSafe(|| promise(&open)));
        assert!(outcome.is_ok(), "broken: {name} (the reason stands above)");
    }
}

fn all_lengths(open: &Open) {
    let provider = open();
    let longest = provider.guarantees().longest_payload;
    let (mut outlet, mut inlet) = joined_pair(&*provider, &["DATA"]);
    for length in [0, 1, 200, 70_000, 1_000_000] {
        if length > longest {
            continue;
        }
        let payload: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        outlet.publish(&channel("DATA"), &payload).unwrap();
        let received = collect(&mut *inlet, 1);
        assert_eq!(received[0].channel, "DATA");
        assert!(received[0].payload == payload, "{length} bytes changed");
    }
    let counters = inlet.counters();
    assert_eq!((counters.incomplete, counters.malformed), (0, 0));
}

fn too_long(open: &Open) {
    let provider = open();
    let longest = provider.guarantees().longest_payload;
    let Some(length) = longest.checked_add(1) else {
        return; // Nothing is too long.
    };
    let mut outlet = provider.outlet().unwrap();
    let refused = outlet.publish_in_place(&channel("DATA"), length, &mut |_| {
        panic!("there is no room to fill")
    });
    let expected = PublishError::TooLong {
        channel: channel("DATA"),
        length,
        longest,
    };
    assert_eq!(refused, Err(expected));
}

fn in_order(open: &Open) {
    let provider = open();
    let guarantees = provider.guarantees();
    let (mut outlet, mut inlet) = joined_pair(&*provider, &["A", "B"]);
    for number in 0..16_u8 {
        let name = if number % 3 == 0 { "B" } else { "A" };
        outlet.publish(&channel(name), &[number; 200]).unwrap();
    }
    let received = collect(&mut *inlet, 16);
    let mut numbers: Vec<u8> = received
        .iter()
        .map(|received| received.payload[0])
        .collect();
    match guarantees.order {
        DeliveryOrder::Kept => assert!(numbers.is_sorted(), "{numbers:?}"),
        DeliveryOrder::KeptPerChannel => {
            for name in ["A", "B"] {
                let of_it = received.iter().filter(|received| received.channel == name);
                assert!(of_it.is_sorted_by_key(|received| received.payload[0]));
            }
        }
        DeliveryOrder::AsDelivered => {}
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..16).collect::<Vec<_>>());
    sequences_step_by_one(&received);
}

/// Asserts that the sequence numbers of one sender (and channel) go up by one, where the provider has any.
fn sequences_step_by_one(received: &[ReceivedMessage]) {
    let key = |received: &ReceivedMessage| {
        let sequence = received.sequence?;
        let per_channel = sequence.scope == Scope::Channel;
        Some((
            received.sender,
            per_channel.then(|| received.channel.clone()),
        ))
    };
    for (at, later) in received.iter().enumerate() {
        let mut before = received[..at].iter().rev();
        let Some(earlier) = before.find(|it| key(it) == key(later)) else {
            continue;
        };
        let (Some(earlier), Some(later)) = (earlier.sequence, later.sequence) else {
            continue;
        };
        assert_eq!(later.number, earlier.number.wrapping_add(1));
    }
}

fn patterns(open: &Open) {
    let provider = open();
    let mut outlet = provider.outlet().unwrap();
    let mut inlet = inlet(&*provider, &["ARM_(LEFT|RIGHT)", "robot/head-1"]);
    let wanted = ["ARM_LEFT", "ARM_RIGHT", "robot/head-1"];
    for name in wanted {
        // Providers with resources per channel may lose the first messages of a channel.
        reach(&mut *outlet, &mut *inlet, name);
    }
    for name in [
        "ARM_UP",
        "robot/head-10",
        "ARM_LEFT",
        "ARM_RIGHT",
        "robot/head-1",
    ] {
        outlet.publish(&channel(name), b"last").unwrap();
    }
    let mut names = Vec::new();
    while names.len() < 3 {
        let last = collect(&mut *inlet, 1).into_iter();
        let last = last.filter(|received| received.payload == b"last");
        let asked = last.filter(|received| wanted.contains(&received.channel.as_str()));
        names.extend(asked.map(|received| received.channel));
    }
    names.sort();
    assert_eq!(names, wanted);
}

/// Publishes to a channel until a message of it arrives.
fn reach(outlet: &mut dyn kadenz_msg::provider::Outlet, inlet: &mut dyn Inlet, name: &str) {
    let end = clock::now() + Duration::from_secs(10);
    while clock::now() < end {
        outlet.publish(&channel(name), b"first").unwrap();
        let received = look(inlet, Duration::from_millis(50));
        if received.iter().any(|received| received.channel == name) {
            return;
        }
    }
    panic!("nothing arrived on {name}");
}

fn wants_change(open: &Open) {
    let provider = open();
    let (mut outlet, mut inlet) = joined_pair(&*provider, &["A"]);
    reach(&mut *outlet, &mut *inlet, "A");
    inlet.want(&wants(&["B"])).unwrap();
    reach(&mut *outlet, &mut *inlet, "B");
    inlet.want(&[Pattern::new(".*").unwrap()]).unwrap();
    reach(&mut *outlet, &mut *inlet, "A");
    reach(&mut *outlet, &mut *inlet, "C");
}

fn two_senders(open: &Open) {
    let provider = open();
    let mut first = provider.outlet().unwrap();
    let mut second = provider.outlet().unwrap();
    let mut inlet = inlet(&*provider, &["A"]);
    join_all(&mut *first, &mut [&mut *inlet], &["A"]);
    join_all(&mut *second, &mut [&mut *inlet], &["A"]);
    drain(&mut *inlet);
    for number in 0..8 {
        first.publish(&channel("A"), &[1, number]).unwrap();
        second.publish(&channel("A"), &[2, number]).unwrap();
    }
    let received = collect(&mut *inlet, 16);
    sequences_step_by_one(&received);
    let [one, two] = [1, 2].map(|outlet_byte| {
        let of_it = received
            .iter()
            .filter(move |received| received.payload[0] == outlet_byte);
        let of_it: Vec<&ReceivedMessage> = of_it.collect();
        let sender = of_it[0].sender;
        assert!(of_it.iter().all(|received| received.sender == sender));
        let numbers: Vec<u8> = of_it.iter().map(|received| received.payload[1]).collect();
        if provider.guarantees().order != DeliveryOrder::AsDelivered {
            assert_eq!(numbers, (0..8).collect::<Vec<_>>());
        }
        sender
    });
    if received[0].sequence.is_some() {
        assert_ne!(one, two, "their numbers could not be told apart");
    }
}

fn two_inlets(open: &Open) {
    let provider = open();
    let mut outlet = provider.outlet().unwrap();
    let mut inlets = [inlet(&*provider, &["A"]), inlet(&*provider, &["A"])];
    let [one, two] = &mut inlets;
    join_all(&mut *outlet, &mut [&mut **one, &mut **two], &["A"]);
    for number in 0..8_u8 {
        outlet.publish(&channel("A"), &[number]).unwrap();
    }
    for inlet in &mut inlets {
        assert_eq!(collect(&mut **inlet, 8).len(), 8);
    }
}

fn waker(open: &Open) {
    let provider = open();
    let mut inlet = inlet(&*provider, &["A"]);
    let waker = inlet.waker();
    waker.wake();
    assert_eq!(woken(&mut *inlet), Received::Woken, "used before the wait");
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        waker.wake();
    });
    assert_eq!(woken(&mut *inlet), Received::Woken, "used during the wait");
    thread.join().unwrap();
}

/// Waits for messages or the waker; the provider's own traffic does not end the wait.
fn woken(inlet: &mut dyn Inlet) -> Received {
    let end = clock::now() + Duration::from_secs(10);
    while clock::now() < end {
        match inlet.receive(Wait::Until(end), &mut |_| More::GoOn) {
            Ok(Received::Nothing) | Err(_) => {}
            Ok(other) => return other,
        }
    }
    Received::Nothing
}

fn nothing_comes(open: &Open) {
    let provider = open();
    let (_outlet, mut inlet) = joined_pair(&*provider, &["A"]);
    drain(&mut *inlet);
    let poll = without_marks(&mut *inlet, Wait::Poll);
    assert_eq!(poll, Received::Nothing);
    let now = without_marks(&mut *inlet, Wait::Until(clock::now()));
    assert_eq!(now, Received::Nothing);
    let end = clock::now() + Duration::from_millis(20);
    while clock::now() < end {
        let waited = without_marks(&mut *inlet, Wait::Until(end));
        assert_eq!(waited, Received::Nothing);
    }
}

/// Receives again as long as only marks come, which may be late.
fn without_marks(inlet: &mut dyn Inlet, wait: Wait) -> Received {
    loop {
        let (mut marks, mut others) = (0, 0);
        let outcome = inlet.receive(wait, &mut |arrival| {
            if arrival.payload.bytes().starts_with(MARK) {
                marks += 1;
            } else {
                others += 1;
            }
            More::GoOn
        });
        let received = outcome.unwrap();
        if marks == 0 || others > 0 {
            return received;
        }
    }
}

fn either_first(open: &Open) {
    let provider = open();
    let mut early = inlet(&*provider, &["A"]);
    let mut outlet = provider.outlet().unwrap();
    join_all(&mut *outlet, &mut [&mut *early], &["A"]);
    let mut late = inlet(&*provider, &["A"]);
    join_all(&mut *outlet, &mut [&mut *early, &mut *late], &["A"]);
}

fn restarts(open: &Open) {
    let provider = open();
    let (outlet, mut inlet) = joined_pair(&*provider, &["A"]);
    drop(outlet);
    let mut outlet = provider.outlet().unwrap();
    join_all(&mut *outlet, &mut [&mut *inlet], &["A"]);
    drop(inlet);
    for _ in 0..100 {
        outlet.publish(&channel("A"), b"no inlet hears it").unwrap();
    }
    let mut inlet = crate::ends::inlet(&*provider, &["A"]);
    join_all(&mut *outlet, &mut [&mut *inlet], &["A"]);
    outlet.publish(&channel("A"), b"after both").unwrap();
    let after = |received: &ReceivedMessage| received.payload == b"after both";
    while !collect(&mut *inlet, 1).iter().any(after) {}
}

fn in_place(open: &Open) {
    let provider = open();
    let (mut outlet, mut inlet) = joined_pair(&*provider, &["A"]);
    let given_up = outlet.publish_in_place(&channel("A"), 10, &mut |_| false);
    assert_eq!(given_up, Ok(false));
    for length in [0, 7, 100_000] {
        let sent = outlet.publish_in_place(&channel("A"), length, &mut |bytes| {
            assert_eq!(bytes.len(), length);
            bytes.fill(7);
            true
        });
        assert_eq!(sent, Ok(true));
        let received = collect(&mut *inlet, 1);
        assert!(received[0].payload == vec![7; length]);
    }
}

fn enough(open: &Open) {
    let provider = open();
    let (mut outlet, mut inlet) = joined_pair(&*provider, &["A"]);
    drain(&mut *inlet);
    for number in 0..4 {
        outlet.publish(&channel("A"), &[number]).unwrap();
    }
    let mut numbers = Vec::new();
    let end = clock::now() + Duration::from_secs(10);
    while numbers.len() < 4 && clock::now() < end {
        let before = numbers.len();
        let outcome = inlet.receive(Wait::Until(end), &mut |arrival| {
            let payload = arrival.payload.bytes();
            if !payload.starts_with(MARK) {
                numbers.push(payload[0]);
            }
            More::Enough
        });
        assert!(numbers.len() <= before + 1, "{outcome:?}");
    }
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3]);
}

fn no_allocation(open: &Open) {
    let provider = open();
    if !provider.guarantees().real_time {
        return;
    }
    let (mut outlet, mut inlet) = joined_pair(&*provider, &["A"]);
    let name = channel("A");
    let mut both = |count: usize| {
        let mut received = 0;
        for _ in 0..count {
            outlet.publish(&name, &[1; 200]).unwrap();
            let end = clock::now() + Duration::from_secs(5);
            let outcome = inlet.receive(Wait::Until(end), &mut |_| More::GoOn);
            received += usize::from(matches!(outcome, Ok(Received::Messages(_))));
        }
        received
    };
    // One round through all slots that keep memory for a message.
    both(1500);
    let allocations = allocation_counter::measure(|| assert!(both(100) > 0));
    assert_eq!(allocations.count_total, 0, "for 100 messages");
}

/// Sends far more than fits while the inlet takes nothing.
fn slow_inlet(open: &Open) {
    let provider = open();
    let guarantees = provider.guarantees();
    let (mut outlet, mut inlet) = joined_pair(&*provider, &["A"]);
    drain(&mut *inlet);
    let mut sent = 0;
    let mut refused = 0;
    let payload = vec![1; 20_000.min(guarantees.longest_payload)];
    for _ in 0..1000 {
        match outlet.publish(&channel("A"), &payload) {
            Ok(()) => sent += 1,
            Err(PublishError::Full { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    let least = if guarantees.loss == Loss::None {
        sent
    } else {
        1
    };
    let mut received = until_quiet(&mut *inlet, least);
    let overrun = inlet.counters().overrun as usize;
    let account = format!("{sent} sent, {refused} refused, {received} received, {overrun} overrun");
    assert!(received > 0, "{account}");
    if guarantees.loss == Loss::None {
        assert_eq!(received, sent, "{account}");
    } else if guarantees.loss == Loss::WhenSlow {
        assert!(received + overrun <= sent, "{account}");
        // Only a later message shows losses at the very end.
        let end = clock::now() + Duration::from_secs(60);
        while received + (inlet.counters().overrun as usize) < sent && clock::now() < end {
            // Where the bus is still full, the next look makes room.
            let _ = outlet.publish(&channel("A"), MARK);
            received += count_others(&look(&mut *inlet, Duration::from_millis(50)));
        }
        reach(&mut *outlet, &mut *inlet, "A");
        let overrun = inlet.counters().overrun as usize;
        let later = format!("{received} and {overrun} later");
        assert!(received + overrun >= sent, "{account}, {later}");
    }
    if guarantees.back_pressure == BackPressure::None {
        assert_eq!(refused, 0, "{account}");
    }
}

/// Takes the remaining marks of joining.
fn drain(inlet: &mut dyn Inlet) {
    loop {
        let received = look(inlet, Duration::from_millis(100));
        if received.is_empty() {
            return;
        }
        assert!(received.iter().all(is_mark));
    }
}

/// Counts messages until no more come; fewer than `least` are waited for.
fn until_quiet(inlet: &mut dyn Inlet, least: usize) -> usize {
    let mut count = 0;
    let end = clock::now() + Duration::from_secs(60);
    loop {
        let received = look(inlet, Duration::from_millis(500));
        if received.is_empty() && (count >= least || clock::now() >= end) {
            return count;
        }
        count += count_others(&received);
    }
}

/// How many are not marks of joining.
fn count_others(received: &[ReceivedMessage]) -> usize {
    received.iter().filter(|it| !is_mark(it)).count()
}
