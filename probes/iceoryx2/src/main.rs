//! iceoryx2: publish and subscribe of bytes, and an event that wakes. URL: iox2://NAME, or iox2://NAME?wait=poll
//! to spin instead; the channel is a part of the service's name.

#[path = "../../kadenz_probe.rs"]
mod kadenz_probe;

use iceoryx2::port::{
    listener::Listener, notifier::Notifier, publisher::Publisher, subscriber::Subscriber,
};
use iceoryx2::prelude::*;
use kadenz_probe::Probe;

type Service = ipc::Service;

fn main() {
    let mut probe = Probe::open(&format!(
        "iceoryx2 {}",
        kadenz_probe::version(include_str!("../Cargo.lock"), "iceoryx2")
    ));
    set_log_level(LogLevel::Fatal);
    let url = probe.url.clone();
    let Some(url) = url.strip_prefix("iox2://") else {
        probe.fail("the URL is iox2://NAME")
    };
    let (name, wait) = url.split_once('?').unwrap_or((url, ""));
    let node = NodeBuilder::new().create::<Service>();
    let node = probe.must(node);
    let name = ServiceName::new(&format!("{name}/{}", probe.channel));
    let name = probe.must(name);
    let messages = node.service_builder(&name).publish_subscribe::<[u8]>();
    let messages = messages
        .subscriber_max_buffer_size(probe.queue)
        .open_or_create();
    let messages = probe.must(messages);
    let events = node.service_builder(&name).event().open_or_create();
    let events = probe.must(events);
    let polls = wait == "wait=poll";
    if probe.publishes {
        let publisher = messages
            .publisher_builder()
            .initial_max_slice_len(probe.bytes)
            .create();
        let notifier = events.notifier_builder().create();
        let (publisher, notifier) = (probe.must(publisher), probe.must(notifier));
        publish(&mut probe, &publisher, (!polls).then_some(&notifier));
    } else {
        let (listener, subscriber) = (
            events.listener_builder().create(),
            messages.subscriber_builder().create(),
        );
        let (listener, subscriber) = (probe.must(listener), probe.must(subscriber));
        receive(&mut probe, &subscriber, (!polls).then_some(&listener));
    }
    probe.close();
}

fn publish(
    probe: &mut Probe,
    publisher: &Publisher<Service, [u8], ()>,
    notifier: Option<&Notifier<Service>>,
) {
    probe.ready();
    while probe.next_beat() {
        let sample = publisher.loan_slice_uninit(probe.bytes);
        let taken = sample.is_ok_and(|it| it.write_from_slice(probe.message()).send().is_ok());
        if let Some(notifier) = notifier {
            let _ = notifier.notify();
        }
        probe.sent(taken);
    }
}

fn receive(
    probe: &mut Probe,
    subscriber: &Subscriber<Service, [u8], ()>,
    listener: Option<&Listener<Service>>,
) {
    probe.ready();
    while probe.waits() {
        while let Ok(Some(sample)) = subscriber.receive() {
            probe.received(sample.payload());
        }
        if let Some(listener) = listener {
            let _ = listener.timed_wait(|_| {}, kadenz_probe::POLL_TIMEOUT);
        }
    }
}
