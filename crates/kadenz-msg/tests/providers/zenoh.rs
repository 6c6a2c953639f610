//! `zenoh://`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::{Guarantees, Inlet, Outlet, Provider, ProviderError, zenoh::Zenoh};

use crate::ends::{
    a_new_subscription_gets_no_old_messages, channel, free_port, joined_pair, look, wants,
};
use crate::promises::{Open, promises};

/// Outlets of one session and inlets of another, connected over the network.
#[derive(Debug)]
struct Two {
    near: Zenoh,
    far: Zenoh,
}

impl Provider for Two {
    fn guarantees(&self) -> Guarantees {
        self.near.guarantees()
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        self.near.outlet()
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        self.far.inlet()
    }
}

fn open(url: &str) -> Zenoh {
    Zenoh::open(&Address::parse(url).unwrap()).unwrap()
}

fn two() -> Two {
    let port = free_port();
    Two {
        near: open(&format!(
            "zenoh://?multicast=no&listen=tcp/127.0.0.1:{port}"
        )),
        far: open(&format!("zenoh://127.0.0.1:{port}?listen=tcp/127.0.0.1:0")),
    }
}

#[test]
fn zenoh_keeps_its_promises() {
    promises(|| -> Open {
        let two = Arc::new(two());
        Box::new(move || Arc::clone(&two) as Arc<dyn Provider>)
    });
}

#[test]
fn a_new_subscription_gets_no_message_of_before() {
    // Within one session no message is under way when publishing returns.
    let bus = open("zenoh://?multicast=no&listen=tcp/127.0.0.1:0");
    a_new_subscription_gets_no_old_messages(&bus);
}

#[test]
fn a_change_between_one_channel_and_all_loses_and_doubles_no_message() {
    // Within one session Zenoh drops nothing, and the publisher waits so that the inlet's queue never fills.
    let bus = open("zenoh://?multicast=no&listen=tcp/127.0.0.1:0&queue=1048576");
    let (mut outlet, mut inlet) = joined_pair(&bus, &["A"]);
    let ends = AtomicBool::new(false);
    let (published, received) = thread::scope(|scope| {
        let publisher = scope.spawn(|| {
            let mut number = 0_u32;
            while !ends.load(Ordering::Relaxed) {
                let payload = number.to_be_bytes();
                outlet.publish(&channel("A"), &payload).unwrap();
                number += 1;
                thread::sleep(Duration::from_micros(10));
            }
            number
        });
        let mut received = Vec::new();
        for _ in 0..100 {
            for wanted in [".*", "A"] {
                inlet.want(&wants(&[wanted])).unwrap();
                received.extend(look(&mut *inlet, Duration::from_millis(1)));
            }
        }
        ends.store(true, Ordering::Relaxed);
        (publisher.join().unwrap(), received)
    });
    let rest = std::iter::from_fn(|| {
        let more = look(&mut *inlet, Duration::from_millis(50));
        (!more.is_empty()).then_some(more)
    });
    let all = received.into_iter().chain(rest.flatten());
    let numbers = all.filter_map(|it| Some(u32::from_be_bytes(it.payload.try_into().ok()?)));
    assert!(numbers.eq(0..published), "{published} were published");
}

#[test]
fn without_a_peer_the_error_says_where_to_look() {
    let url = format!("zenoh://127.0.0.1:{}?mode=client", free_port());
    let error = Zenoh::open(&Address::parse(&url).unwrap()).unwrap_err();
    assert!(error.remedy.contains("listens"), "{error}");
}
