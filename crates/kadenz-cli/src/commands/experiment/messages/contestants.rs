//! Contestants of the measurement: Kadenz's providers, and other middlewares through the probes that come with
//! Kadenz.

use kadenz::lab::probes::{self, ServerKind};
use kadenz::msg::provider::SCHEMES;

/// A transport from one program to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contestant {
    /// Name in tables and for `--only`.
    pub(super) name: &'static str,
    /// Description in words.
    pub(super) what: &'static str,
    /// The probe that measures it; Kadenz's own providers have none.
    probe: Option<&'static str>,
    /// URL of both sides, unless the probe sets its own.
    url: Option<&'static str>,
    /// The server at that URL.
    server: Option<ServerKind>,
    /// For one of Kadenz's providers: the clients of other libraries with the same protocol, or the same way of
    /// moving messages.
    pub(super) beside: &'static [&'static str],
    /// Published figures of another machine, 200 B at 1 kHz, ordinary and at FIFO 80: p50/p90/p99/p99.9/max in us.
    pub(super) published: Option<[&'static str; 2]>,
}

/// URL of a ROS topic, with the type and the MD5 sum that a node must state; Kadenz encodes the bytes.
const ROS: &str =
    "ros1://127.0.0.1:{port}?type=std_msgs/UInt8MultiArray&md5=82373f1612381bb6ee473b5cd6f5d89c";

const fn ours(name: &'static str, what: &'static str, url: &'static str) -> Contestant {
    Contestant {
        name,
        what,
        probe: None,
        url: Some(url),
        server: None,
        beside: &[],
        published: None,
    }
}

const fn probe(name: &'static str, what: &'static str) -> Contestant {
    Contestant {
        probe: Some(name),
        url: None,
        ..ours(name, what, "")
    }
}

const fn probe_at(
    name: &'static str,
    what: &'static str,
    probe: &'static str,
    url: &'static str,
    server: Option<ServerKind>,
) -> Contestant {
    Contestant {
        probe: Some(probe),
        server,
        ..ours(name, what, url)
    }
}

impl Contestant {
    const fn at(self, server: ServerKind) -> Self {
        Self {
            server: Some(server),
            ..self
        }
    }

    const fn beside(self, beside: &'static [&'static str]) -> Self {
        Self { beside, ..self }
    }

    const fn published(self, ordinary: &'static str, fifo: &'static str) -> Self {
        Self {
            published: Some([ordinary, fifo]),
            ..self
        }
    }

    /// The options of `kadenz msg latency` that select it.
    pub(super) fn options(&self) -> String {
        let server = self.server.map(ServerKind::name);
        let words = [("with", self.probe), ("url", self.url), ("serve", server)];
        let words = words.into_iter();
        let words = words.filter_map(|(option, value)| Some(format!("--{option} {}", value?)));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Why it cannot be measured here; builds the probe if needed.
    pub(super) fn missing(&self) -> Option<String> {
        let mut server = self.server;
        if let Some(probe) = self.probe {
            let probe = probes::probe(probe)?;
            if let Some(why) = unbuilt(probe) {
                return Some(why);
            }
            if self.url.is_none() {
                server = probe.server;
            }
        } else {
            let scheme = self.url?.split(':').next().unwrap_or_default();
            if !SCHEMES.contains(&scheme) {
                return Some(format!(
                    "this program was built without it: cargo build --features {scheme}"
                ));
            }
        }
        let absent = server.filter(|it| !it.is_here())?;
        Some(format!(
            "the server {absent} is not here: {}",
            absent.remedy()
        ))
    }

    /// Whether it supports this message size and number of subscribers.
    pub(super) fn fits(&self, bytes: u64, subscribers: u16) -> bool {
        probes::probe(self.name).is_none_or(|probe| {
            bytes <= probe.max_bytes as u64 && subscribers <= probe.max_subscribers
        })
    }
}

/// Why a probe cannot be built.
fn unbuilt(probe: &'static probes::Probe) -> Option<String> {
    let error = probes::build(probe, &probes::cache()).err()?;
    Some(error.to_string().replace('\n', ";"))
}

/// Baseline of the ratios, unless an option names another.
pub(super) const FLOOR: &str = "unix";

/// All contestants: the floor, which is the system itself, then groups of those with the same task.
pub(super) const ALL: &[Contestant] = &[
    probe("ring", "shared memory and a futex").published("6/8/14/59/968", "11/14/33/278/489"),
    probe("unix", "Unix sockets").published("8/11/18/53/1009", "18/21/45/1045/6944"),
    probe("pipe", "named pipes"),
    probe("mqueue", "POSIX message queues"),
    probe("udp", "UDP").published("10/13/21/61/131", "21/24/54/178/2714"),
    probe("multicast", "UDP multicast").published("12/16/25/57/77", "18/21/32/111/1010"),
    probe("tcp", "TCP").published("16/20/29/66/93", "29/33/42/150/1506"),
    ours("kadenz-memq", "two threads of one process", "memq://"),
    ours("kadenz-shm", "shared memory", "shm://experiment-{own}").beside(&["iceoryx2"]),
    ours(
        "kadenz-shm-polled",
        "shared memory, spinning",
        "shm://polled-{own}?wait=poll",
    )
    .beside(&["iceoryx2-polled"]),
    probe_at(
        "iceoryx2-polled",
        "iceoryx2, spinning",
        "iceoryx2",
        "iox2://polled-{own}?wait=poll",
        None,
    ),
    probe("iceoryx2", "iceoryx2, event").published("12/14/24/66/515", "18/24/44/65/1962"),
    ours(
        "kadenz-udpm",
        "LCM's multicast",
        "udpm://239.255.76.69:{port}?ttl=0&recv_buf_size=33554432",
    )
    .beside(&["lcm"]),
    probe("lcm", "LCM").published("29/37/67/392/1822", "32/41/57/207/1202"),
    ours("kadenz-tcpq", "LCM's server", "tcpq://127.0.0.1:{port}")
        .at(ServerKind::Tcpq)
        .beside(&["lcm-tcpq"]),
    probe_at(
        "lcm-tcpq",
        "LCM by LCM's server",
        "lcm",
        "tcpq://127.0.0.1:{port}",
        Some(ServerKind::Tcpq),
    ),
    ours("kadenz-zmq", "ZeroMQ's wire", "zmq://127.0.0.1:{port}").beside(&["zmq"]),
    probe("zmq", "ZeroMQ").published("43/55/81/872", "51/63/94/376"),
    probe("nng", "nng").published("57/65/94/320", "49/61/83/168"),
    ours("kadenz-ros1", "ROS 1's wire", ROS)
        .at(ServerKind::RosMaster)
        .beside(&["roscpp"]),
    probe("roscpp", "ROS 1 (roscpp)").published("58/77/113/211/2460", "65/81/133/3464/10658"),
    probe("rclcpp", "ROS 2 (rclcpp)"),
    ours(
        "kadenz-dds",
        "DDS by RustDDS",
        "dds://?bus=experiment_{own}",
    )
    .beside(&["rustdds"]),
    probe("rustdds", "RustDDS"),
    probe("cyclonedds", "Cyclone DDS").published("22/26/47/99/462", "21/29/51/93/1086"),
    probe("fastdds", "Fast DDS"),
    ours(
        "kadenz-zenoh",
        "Zenoh",
        "zenoh://?listen=tcp/127.0.0.1:0&multicast=yes&interface=lo",
    )
    .beside(&["zenoh", "zenoh-queue"]),
    probe_at(
        "zenoh-queue",
        "Zenoh, by its queue",
        "zenoh",
        "tcp/127.0.0.1:{port}?recv=queue",
        None,
    ),
    probe("zenoh", "Zenoh, called back").published("68/80/112/619", "60/72/99/394"),
    ours(
        "kadenz-amqp",
        "AMQP",
        "amqp://127.0.0.1:{port}?exchange=experiment-{own}",
    )
    .at(ServerKind::RabbitMq)
    .beside(&["rabbitmq"]),
    probe("rabbitmq", "RabbitMQ").published("119/141/191/373", "120/140/189/1202"),
    probe("mosquitto", "Mosquitto (MQTT)").published("62/70/100/699", "72/90/120/699"),
    probe("nats", "NATS").published("64/77/108/730", "63/74/113/509"),
];

/// The selected contestants, in their order.
pub(super) fn chosen(only: &[String]) -> anyhow::Result<Vec<Contestant>> {
    for name in only {
        let known = || ALL.iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
        anyhow::ensure!(
            ALL.iter().any(|it| it.name == name),
            "nothing is called `{name}`; there are {}",
            known()
        );
    }
    let is_chosen = |it: &&Contestant| only.is_empty() || only.iter().any(|name| name == it.name);
    Ok(ALL.iter().filter(is_chosen).copied().collect())
}

#[cfg(test)]
mod tests {
    use kadenz::lab::probes::Measures;

    use super::*;

    #[test]
    fn each_probe_of_the_catalogue_is_measured_and_ours_stand_beside_others() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), ALL.len());
        for it in ALL {
            match it.probe {
                Some(probe) => assert!(probes::probe(probe).is_some(), "{}", it.name),
                None => assert!(it.name.starts_with("kadenz-"), "{}", it.name),
            }
            assert!(
                it.beside.iter().all(|name| names.contains(name)),
                "{}",
                it.name
            );
        }
        let is_of_messages =
            |it: &&probes::Probe| it.measures == Measures::Messages && !it.is_example;
        for it in probes::ALL.iter().filter(is_of_messages) {
            assert!(names.contains(it.name), "{}", it.name);
        }
    }

    #[test]
    fn what_is_not_known_is_said_with_what_there_is() {
        let error = chosen(&["carrier-pigeon".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("kadenz-udpm, lcm"), "{error}");
        assert_eq!(
            chosen(&["lcm".to_owned()]).unwrap()[0].options(),
            "--with lcm"
        );
    }
}
