//! iceoryx2 by itself: publish and subscribe of bytes, and an event that wakes. URL: the service's
//! name; `NAME?wait=poll` spins instead.

#[path = "../../common/peer.rs"]
mod peer;

use std::process::ExitCode;

use iceoryx2::prelude::*;

type Service = ipc::Service;

struct Bus {
    node: Node<Service>,
    messages: iceoryx2::service::port_factory::publish_subscribe::PortFactory<Service, [u8], ()>,
    events: iceoryx2::service::port_factory::event::PortFactory<Service>,
    polls: bool,
}

impl Bus {
    fn open(url: &str) -> Self {
        let (name, wait) = url.split_once('?').unwrap_or((url, ""));
        set_log_level(LogLevel::Fatal);
        let node = NodeBuilder::new().create::<Service>().expect("a node");
        let name = ServiceName::new(name).expect("a name");
        let messages = node.service_builder(&name).publish_subscribe::<[u8]>();
        let messages = messages.subscriber_max_buffer_size(64).open_or_create();
        let events = node.service_builder(&name).event().open_or_create();
        let (messages, events) = (messages.expect("messages"), events.expect("events"));
        Self { node, messages, events, polls: wait == "wait=poll" }
    }
}

fn main() -> ExitCode {
    peer::run(
        |wishes| {
            let bus = Bus::open(&wishes.url);
            let publisher = bus.messages.publisher_builder().initial_max_slice_len(wishes.bytes);
            let publisher = publisher.create().expect("a publisher");
            let notifier = bus.events.notifier_builder().create().expect("a notifier");
            move |message: &[u8]| {
                let sample = publisher.loan_slice_uninit(message.len()).expect("memory");
                let _ = sample.write_from_slice(message).send();
                if !bus.polls {
                    let _ = notifier.notify();
                }
                let _ = &bus.node;
            }
        },
        |wishes| {
            let bus = Bus::open(&wishes.url);
            let listener = bus.events.listener_builder().create().expect("a listener");
            let subscriber = bus.messages.subscriber_builder().create().expect("a subscriber");
            move |timeout, heard| {
                let until = peer::now() + timeout.as_nanos() as i64;
                loop {
                    let mut came = false;
                    while let Ok(Some(sample)) = subscriber.receive() {
                        heard.message(sample.payload());
                        came = true;
                    }
                    if came || peer::now() >= until {
                        return;
                    }
                    if !bus.polls {
                        let _ = listener.timed_wait(|_| {}, timeout);
                    }
                }
            }
        },
    )
}
