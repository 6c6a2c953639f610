//! rustdds by itself, reliable, on loopback, with the bytes as they are for a sample. URL: the topic's
//! name.

#[path = "../../common/peer.rs"]
mod peer;

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

use rustdds::bytes::Bytes;
use rustdds::no_key::{Decode, DefaultDecoder, DeserializerAdapter, SerializerAdapter};
use rustdds::policy::{History, ResourceLimits};
use rustdds::{
    DomainParticipant, DomainParticipantBuilder, Duration, QosPolicies, RepresentationIdentifier,
    Topic, TopicKind,
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

fn join(topic: &str) -> (DomainParticipant, Topic, QosPolicies) {
    let builder = DomainParticipantBuilder::new(0).with_only_networks([[127, 0, 0, 1]]);
    let participant = builder.build().expect("a participant");
    let policies = QosPolicies::builder()
        .reliable(Duration::from_millis(100))
        .history(History::KeepLast { depth: 256 })
        .resource_limits(ResourceLimits {
            max_samples: 256,
            max_instances: 1,
            max_samples_per_instance: 256,
        })
        .build();
    let (name, kind) = (topic.to_owned(), "peer::Bytes".to_owned());
    let topic = participant.create_topic(name, kind, &policies, TopicKind::NoKey);
    (participant, topic.expect("a topic"), policies)
}

fn main() -> ExitCode {
    peer::run(
        |wishes| {
            let (participant, topic, policies) = join(&wishes.url);
            let publisher = participant.create_publisher(&policies).expect("a publisher");
            let writer = publisher.create_datawriter_no_key::<Bytes, Raw>(&topic, None);
            let writer = writer.expect("a writer");
            move |message: &[u8]| {
                let _ = writer.write(Bytes::copy_from_slice(message), None);
                let _ = &participant;
            }
        },
        |wishes| {
            let (participant, topic, policies) = join(&wishes.url);
            let subscriber = participant.create_subscriber(&policies).expect("a subscriber");
            let reader = subscriber.create_simple_datareader_no_key::<Vec<u8>, Raw>(&topic, None);
            let reader = reader.expect("a reader");
            let waker = Waker::from(Arc::new(Unpark(thread::current())));
            move |timeout, heard| {
                let mut some = false;
                while let Ok(Some(sample)) = reader.try_take_one() {
                    heard.message(&sample.into_value());
                    some = true;
                }
                if some {
                    return;
                }
                reader.set_waker(Some(waker.clone()));
                match reader.try_take_one() {
                    Ok(Some(sample)) => heard.message(&sample.into_value()),
                    _ => thread::park_timeout(timeout),
                }
                let _ = &participant;
            }
        },
    )
}
