//! `zenoh://`.

use std::sync::Arc;

use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::{Guarantees, Inlet, Outlet, Provider, ProviderError, zenoh::Zenoh};

use crate::ends::{a_new_subscription_gets_no_old_messages, free_port};
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
fn without_a_peer_the_error_says_where_to_look() {
    let url = format!("zenoh://127.0.0.1:{}?mode=client", free_port());
    let error = Zenoh::open(&Address::parse(&url).unwrap()).unwrap_err();
    assert!(error.remedy.contains("listens"), "{error}");
}
