//! DDS by rustdds: reliable, keep last, on loopback; a sample is the unchanged bytes. URL: dds://DOMAIN; the channel is
//! the topic.

#[path = "../../kadenz_probe.rs"]
mod kadenz_probe;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

use kadenz_probe::Probe;
use rustdds::bytes::Bytes;
use rustdds::no_key::{Decode, DefaultDecoder, DeserializerAdapter, SerializerAdapter};
use rustdds::policy::{History, ResourceLimits};
use rustdds::{
    DomainParticipant, DomainParticipantBuilder, Duration, QosPolicies, RepresentationIdentifier,
    TopicKind,
};

/// Bytes as they are.
struct Raw;

impl SerializerAdapter<Bytes> for Raw {
    type Error = Infallible;

    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }

    fn to_bytes(value: &Bytes) -> Result<Bytes, Infallible> {
        Ok(value.clone())
    }
}

impl DeserializerAdapter<Vec<u8>> for Raw {
    type Error = Infallible;
    type Decoded = Vec<u8>;

    fn supported_encodings() -> &'static [RepresentationIdentifier] {
        &[RepresentationIdentifier::CDR_LE]
    }

    fn transform_decoded(decoded: Vec<u8>) -> Vec<u8> {
        decoded
    }
}

#[derive(Clone)]
struct Copied;

impl<'de> Decode<'de, Vec<u8>> for Copied {
    type Error = Infallible;

    fn decode_bytes(
        self,
        bytes: &'de [u8],
        _: RepresentationIdentifier,
    ) -> Result<Vec<u8>, Infallible> {
        Ok(bytes.to_vec())
    }
}

impl DefaultDecoder<Vec<u8>> for Raw {
    type Decoder = Copied;
    const DECODER: Copied = Copied;
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn policies(depth: i32) -> QosPolicies {
    let limits = ResourceLimits {
        max_samples: depth,
        max_instances: 1,
        max_samples_per_instance: depth,
    };
    QosPolicies::builder()
        .reliable(Duration::from_millis(100))
        .history(History::KeepLast { depth })
        .resource_limits(limits)
        .build()
}

fn main() {
    let mut probe = Probe::open(&format!(
        "rustdds {}",
        kadenz_probe::version(include_str!("../Cargo.lock"), "rustdds")
    ));
    let Some(domain) = probe
        .url
        .strip_prefix("dds://")
        .and_then(|it| it.parse().ok())
    else {
        probe.fail("the URL is dds://DOMAIN")
    };
    let participant = DomainParticipantBuilder::new(domain)
        .with_only_networks([[127, 0, 0, 1]])
        .build();
    let participant = probe.must(participant);
    if probe.publishes {
        publish(&mut probe, &participant);
    } else {
        receive(&mut probe, &participant);
    }
    probe.close();
}

fn publish(probe: &mut Probe, participant: &DomainParticipant) {
    let policies = policies(probe.queue as i32);
    let topic = participant.create_topic(
        probe.channel.clone(),
        "probe::Bytes".to_owned(),
        &policies,
        TopicKind::NoKey,
    );
    let topic = probe.must(topic);
    let publisher = participant.create_publisher(&policies);
    let publisher = probe.must(publisher);
    let writer = publisher.create_datawriter_no_key::<Bytes, Raw>(&topic, None);
    let writer = probe.must(writer);
    probe.ready();
    while probe.next_beat() {
        let taken = writer
            .write(Bytes::copy_from_slice(probe.message()), None)
            .is_ok();
        probe.sent(taken);
    }
    let _ = writer.wait_for_acknowledgments(std::time::Duration::from_secs(1));
}

fn receive(probe: &mut Probe, participant: &DomainParticipant) {
    let policies = policies(probe.queue as i32);
    let topic = participant.create_topic(
        probe.channel.clone(),
        "probe::Bytes".to_owned(),
        &policies,
        TopicKind::NoKey,
    );
    let topic = probe.must(topic);
    let subscriber = participant.create_subscriber(&policies);
    let subscriber = probe.must(subscriber);
    let reader = subscriber.create_simple_datareader_no_key::<Vec<u8>, Raw>(&topic, None);
    let reader = probe.must(reader);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    probe.ready();
    while probe.waits() {
        // A sample that comes between setting the waker and this check would otherwise wake no thread.
        reader.set_waker(Some(waker.clone()));
        let mut came = false;
        while let Ok(Some(sample)) = reader.try_take_one() {
            probe.received(&sample.into_value());
            came = true;
        }
        if !came {
            thread::park_timeout(kadenz_probe::POLL_TIMEOUT);
        }
    }
}
