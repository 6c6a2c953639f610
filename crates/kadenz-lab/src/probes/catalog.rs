//! The probes: what each measures, how it is built, and at which address both sides of it meet.

use super::server::ServerKind;

/// A probe that comes with Kadenz.
#[derive(Debug)]
pub struct Probe {
    /// Its name in options, and in the names of its files and folders.
    pub name: &'static str,
    /// The name of the middleware that it measures.
    pub middleware: &'static str,
    /// What it measures: messages or timers.
    pub measures: Measures,
    /// How it is built.
    pub language: Language,
    /// Its sources, by name; the first is the program.
    pub files: &'static [(&'static str, &'static str)],
    /// Further arguments of the compiler, mostly libraries. For a probe in Python: the modules that it imports.
    pub arguments: &'static [&'static str],
    /// Address at which both sides meet unless an option names another: `{port}` is a free port or the server's,
    /// `{folder}` an empty folder, `{own}` a number that no other measurement has.
    pub url: &'static str,
    /// The server through which both sides communicate.
    pub server: Option<ServerKind>,
    /// How to get what its build needs.
    pub remedy: &'static str,
    /// How many subscribers one publisher serves.
    pub max_subscribers: u16,
    /// The longest message, in bytes.
    pub max_bytes: usize,
    /// Whether it repeats the measurement of another probe, in another language.
    pub is_example: bool,
}

/// What a probe does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measures {
    /// It publishes or receives: `kadenz msg latency --with`.
    Messages,
    /// It sets timers: `kadenz timer --with`.
    Timers,
}

/// How a probe is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C, built by `cc`.
    C,
    /// C++, built by `c++`.
    CPlusPlus,
    /// C with types from the second file, built by `idlc` and `cc`.
    CWithIdl,
    /// C++, built by `cmake`.
    CMake,
    /// Rust, built by `cargo`.
    Rust,
    /// Python, which is not built.
    Python,
}

/// Limited by the size of a message only.
const ANY: usize = i32::MAX as usize;
/// The longest datagram of UDP over IPv4.
const DATAGRAM: usize = 65_507;
/// Size that Linux allows for a message of a POSIX queue unless `fs.mqueue.msgsize_max` says more.
const QUEUED: usize = 8192;
/// Maximum number of subscribers of a publisher in C, which keeps them in an array.
const PLACES: u16 = 64;
const COMPILER: &str = "apt-get install gcc libc6-dev";

macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../probes/", $name)))
    };
    (concat $folder:literal, $name:literal) => {
        (
            concat!($folder, $name),
            include_str!(concat!("../../../../probes/", $folder, $name)),
        )
    };
}

const HEADER: (&str, &str) = source!("kadenz_probe.h");

/// Common fields of most probes: one file of C, with only the system's library.
const IN_C: Probe = Probe {
    name: "",
    middleware: "",
    measures: Measures::Messages,
    language: Language::C,
    files: &[],
    arguments: &[],
    url: "",
    server: None,
    remedy: COMPILER,
    max_subscribers: u16::MAX,
    max_bytes: ANY,
    is_example: false,
};

/// The files of a probe in Rust.
macro_rules! crate_of {
    ($name:literal) => {
        &[
            source!(concat $name, "/src/main.rs"),
            source!(concat $name, "/Cargo.toml"),
            source!(concat $name, "/Cargo.lock"),
            source!("kadenz_probe.rs"),
        ]
    };
}

/// Common fields of the probes in Rust.
const IN_RUST: Probe = Probe {
    language: Language::Rust,
    remedy: "install Rust: https://rustup.rs; cargo fetches the rest",
    ..IN_C
};

/// Libraries that roscpp needs.
const ROSCPP: &[&str] = &[
    "-lroscpp",
    "-lrosconsole",
    "-lroscpp_serialization",
    "-lrostime",
    "-lboost_thread",
    "-lboost_system",
];

const STREAM: (&str, &str) = source!("stream.h");

/// All probes: the floor first, which is the system's own communication.
pub const ALL: &[Probe] = &[
    Probe {
        name: "ring",
        middleware: "shared memory and a futex",
        files: &[source!("ring.c"), HEADER],
        url: "shm://probe-{own}",
        ..IN_C
    },
    Probe {
        name: "unix",
        middleware: "Unix sockets",
        files: &[source!("unix.c"), STREAM, HEADER],
        url: "unix://{folder}/socket",
        max_subscribers: PLACES,
        ..IN_C
    },
    Probe {
        name: "pipe",
        middleware: "named pipes",
        files: &[source!("pipe.c"), HEADER],
        url: "fifo://{folder}/pipes",
        max_subscribers: PLACES,
        ..IN_C
    },
    Probe {
        name: "mqueue",
        middleware: "POSIX message queues",
        files: &[source!("mqueue.c"), HEADER],
        url: "mqueue://probe-{own}",
        max_subscribers: PLACES,
        max_bytes: QUEUED,
        ..IN_C
    },
    Probe {
        name: "udp",
        middleware: "UDP",
        files: &[source!("udp.c"), HEADER],
        url: "udp://127.0.0.1:{port}",
        max_subscribers: 1,
        max_bytes: DATAGRAM,
        ..IN_C
    },
    Probe {
        name: "multicast",
        middleware: "UDP multicast",
        files: &[source!("multicast.c"), HEADER],
        url: "udp://239.255.76.80:{port}",
        max_bytes: DATAGRAM,
        ..IN_C
    },
    Probe {
        name: "tcp",
        middleware: "TCP",
        files: &[source!("tcp.c"), STREAM, HEADER],
        url: "tcp://127.0.0.1:{port}",
        max_subscribers: PLACES,
        ..IN_C
    },
    Probe {
        name: "lcm",
        middleware: "LCM (liblcm)",
        files: &[source!("lcm.c"), HEADER],
        arguments: &["-llcm"],
        url: "udpm://239.255.76.68:{port}?ttl=0&recv_buf_size=33554432",
        remedy: "apt-get install gcc liblcm-dev",
        ..IN_C
    },
    Probe {
        name: "zmq",
        middleware: "ZeroMQ (libzmq)",
        files: &[source!("zmq.c"), HEADER],
        arguments: &["-lzmq"],
        url: "tcp://127.0.0.1:{port}",
        remedy: "apt-get install gcc libzmq3-dev",
        ..IN_C
    },
    Probe {
        name: "pyzmq",
        middleware: "ZeroMQ (pyzmq)",
        language: Language::Python,
        files: &[source!("pyzmq.py"), source!("kadenz_probe.py")],
        arguments: &["zmq"],
        url: "tcp://127.0.0.1:{port}",
        remedy: "python3 -m pip install pyzmq",
        is_example: true,
        ..IN_C
    },
    Probe {
        name: "nng",
        middleware: "nng",
        files: &[source!("nng.c"), HEADER],
        arguments: &["-lnng"],
        url: "ipc://{folder}/nng",
        remedy: "apt-get install gcc libnng-dev",
        ..IN_C
    },
    Probe {
        name: "roscpp",
        middleware: "ROS 1 (roscpp)",
        language: Language::CPlusPlus,
        files: &[source!("roscpp.cpp"), HEADER],
        arguments: ROSCPP,
        url: "http://127.0.0.1:{port}",
        server: Some(ServerKind::RosMaster),
        remedy: "apt-get install g++ libroscpp-dev libstd-msgs-dev",
        ..IN_C
    },
    Probe {
        name: "roscpp_timers",
        middleware: "timers of ROS 1 (roscpp)",
        measures: Measures::Timers,
        language: Language::CPlusPlus,
        files: &[source!("roscpp_timers.cpp"), HEADER],
        arguments: ROSCPP,
        url: "http://127.0.0.1:{port}",
        server: Some(ServerKind::RosMaster),
        remedy: "apt-get install g++ libroscpp-dev",
        ..IN_C
    },
    Probe {
        name: "rclcpp",
        middleware: "ROS 2 (rclcpp)",
        language: Language::CMake,
        files: &[
            source!(concat "rclcpp", "/rclcpp.cpp"),
            source!(concat "rclcpp", "/CMakeLists.txt"),
            HEADER,
        ],
        url: "ros2://77",
        remedy: "install ROS 2 (docs.ros.org) and cmake, and source ROS 2's setup.sh in this shell; Debian has no ROS 2",
        ..IN_C
    },
    Probe {
        name: "cyclonedds",
        middleware: "Cyclone DDS",
        language: Language::CWithIdl,
        files: &[
            source!("cyclonedds.c"),
            source!("cyclonedds_type.idl"),
            HEADER,
        ],
        arguments: &["-I.", "-lddsc"],
        url: "dds://0",
        remedy: "apt-get install gcc cyclonedds-dev cyclonedds-tools",
        ..IN_C
    },
    Probe {
        name: "fastdds",
        middleware: "Fast DDS",
        language: Language::CPlusPlus,
        files: &[source!("fastdds.cpp"), HEADER],
        arguments: &["-lfastrtps", "-lfastcdr"],
        url: "dds://0",
        remedy: "apt-get install g++ libfastrtps-dev",
        ..IN_C
    },
    Probe {
        name: "rustdds",
        middleware: "RustDDS",
        files: crate_of!("rustdds"),
        url: "dds://0",
        ..IN_RUST
    },
    Probe {
        name: "iceoryx2",
        middleware: "iceoryx2",
        files: crate_of!("iceoryx2"),
        url: "iox2://probe-{own}",
        ..IN_RUST
    },
    Probe {
        name: "zenoh",
        middleware: "Zenoh",
        files: crate_of!("zenoh"),
        url: "tcp/127.0.0.1:{port}",
        ..IN_RUST
    },
    Probe {
        name: "rabbitmq",
        middleware: "RabbitMQ (librabbitmq)",
        files: &[source!("rabbitmq.c"), HEADER],
        arguments: &["-lrabbitmq"],
        url: "amqp://guest:guest@127.0.0.1:{port}",
        server: Some(ServerKind::RabbitMq),
        remedy: "apt-get install gcc librabbitmq-dev",
        ..IN_C
    },
    Probe {
        name: "mosquitto",
        middleware: "MQTT (libmosquitto)",
        files: &[source!("mosquitto.c"), HEADER],
        arguments: &["-lmosquitto"],
        url: "mqtt://127.0.0.1:{port}",
        server: Some(ServerKind::Mosquitto),
        remedy: "apt-get install gcc libmosquitto-dev",
        ..IN_C
    },
    Probe {
        name: "nats",
        middleware: "NATS",
        files: &[source!("nats.c"), HEADER],
        arguments: &["-lnats"],
        url: "nats://127.0.0.1:{port}",
        server: Some(ServerKind::Nats),
        remedy: "apt-get install gcc libnats-dev",
        max_bytes: 1 << 20,
        ..IN_C
    },
];

/// A probe by its name.
#[must_use]
pub fn probe(name: &str) -> Option<&'static Probe> {
    ALL.iter().find(|it| it.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_probe_has_a_name_of_its_own_and_says_how_to_get_it() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), ALL.len());
        for it in ALL {
            assert!(
                !it.files.is_empty() && !it.remedy.is_empty() && !it.url.is_empty(),
                "{}",
                it.name
            );
            let needs_port = it.server.is_some();
            assert!(!needs_port || it.url.contains("{port}"), "{}", it.name);
        }
        assert!(probe("lcm").is_some() && probe("carrier-pigeon").is_none());
    }
}
