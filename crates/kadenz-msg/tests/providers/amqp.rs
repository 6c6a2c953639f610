//! `amqp://`, against RabbitMQ.

use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::{Provider, amqp::Amqp};
use kadenz_rt::clock;

use crate::ends::{channel, collect, free_port, inlet, joined_pair};
use crate::outside::{Program, beside, python, skip};
use crate::promises::{Open, promises};
use crate::unique;

/// The path of the server in Debian; the program in PATH requires the user of RabbitMQ.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// A broker of one test, on loopback alone.
struct Broker {
    port: u16,
    /// The port of epmd, Erlang's name server, which starts by itself.
    register: u16,
    server: Child,
    _folder: tempfile::TempDir,
}

impl Broker {
    fn start(test: &str) -> Option<Self> {
        if !Path::new(SERVER).exists() {
            skip(test, "RabbitMQ (apt-get install rabbitmq-server)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let [port, register, inner] = [free_port(), free_port(), free_port()];
        let here = |name: &str| folder.path().join(name);
        let server = Command::new(SERVER)
            .env("HOME", folder.path())
            .env("RABBITMQ_NODENAME", format!("kadenz{port}@localhost"))
            .env("RABBITMQ_NODE_PORT", port.to_string())
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_DIST_PORT", inner.to_string())
            .env("RABBITMQ_MNESIA_BASE", here("mnesia"))
            .env("RABBITMQ_LOG_BASE", here("log"))
            .env("RABBITMQ_CONFIG_FILE", here("none"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", here("plugins"))
            .env("RABBITMQ_PID_FILE", here("pid"))
            .env(
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "-kernel inet_dist_use_interface {127,0,0,1}",
            )
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("ERL_EPMD_PORT", register.to_string())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let broker = Self {
            port,
            register,
            server,
            _folder: folder,
        };
        let end = clock::now() + Duration::from_secs(120);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(clock::now() < end, "RabbitMQ does not listen");
            thread::sleep(Duration::from_millis(50));
        }
        while let Err(error) = broker.bus("").outlet() {
            assert!(clock::now() < end, "{error}");
        }
        Some(broker)
    }

    /// A bus on the broker that no other test uses.
    fn bus(&self, query: &str) -> Amqp {
        let exchange = unique();
        let url = format!("amqp://127.0.0.1:{}?exchange={exchange}{query}", self.port);
        Amqp::open(&Address::parse(&url).unwrap()).unwrap()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let group = format!("-{}", self.server.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.server.wait();
        // epmd refuses to end until it has noticed that the broker is gone.
        let register = self.register.to_string();
        for _ in 0..50 {
            let mut epmd = Command::new("epmd");
            epmd.args(["-port", &register, "-kill"]);
            epmd.stdout(Stdio::null()).stderr(Stdio::null());
            if epmd.status().is_ok_and(|it| it.success()) {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// All tests in sequence, because a broker takes many seconds to start.
#[test]
fn a_broker_keeps_its_promises_and_carries_messages_of_others() {
    let test = "a_broker_keeps_its_promises_and_carries_messages_of_others";
    let Some(broker) = Broker::start(test) else {
        return;
    };
    promises(|| -> Open {
        let bus = Arc::new(broker.bus(""));
        Box::new(move || Arc::clone(&bus) as Arc<dyn Provider>)
    });
    what_a_full_queue_drops_is_counted(&broker);
    what_the_broker_refuses_is_named(&broker);
    pika_takes_part(test, &broker);
}

fn what_a_full_queue_drops_is_counted(broker: &Broker) {
    let bus = broker.bus("&depth=10");
    let (mut outlet, mut inlet) = joined_pair(&bus, &["A"]);
    let payload = vec![0; 100_000];
    // RabbitMQ gives a subscriber's connection 200 messages before they are sent (UNSENT_MESSAGE_LIMIT of its
    // rabbit_queue_consumers), 20 MB, and the kernel's buffers take up to 37 MB; what comes then waits in the queue.
    const ALL: usize = 1000;
    let mut sent = 0;
    while sent < ALL {
        match outlet.publish(&channel("A"), &payload) {
            Ok(()) => sent += 1,
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
    // Each message that was dropped before the last one is counted.
    let mut received = 0;
    let end = clock::now() + Duration::from_secs(60);
    while received + (inlet.counters().overrun as usize) < sent {
        assert!(
            clock::now() < end,
            "{received} of {sent}, {:?}",
            inlet.counters()
        );
        received += crate::ends::look(&mut *inlet, Duration::from_millis(50))
            .iter()
            .filter(|received| received.payload.len() == payload.len())
            .count();
    }
    assert!(inlet.counters().overrun > 0 && received > 0);
}

fn what_the_broker_refuses_is_named(broker: &Broker) {
    for (query, cause) in [("&vhost=none", "vhost"), ("&user=unknown", "log")] {
        let bus = broker.bus(query);
        let error = bus.outlet().unwrap_err();
        assert!(error.to_string().contains(cause), "{error}");
        assert!(bus.inlet().is_err());
    }
}

fn pika_takes_part(test: &str, broker: &Broker) {
    let how = "pip install pika, and name that Python in KADENZ_PYTHON";
    let Some(python) = python(test, "pika", how) else {
        return;
    };
    let exchange = unique();
    let url = format!("amqp://127.0.0.1:{}?exchange={exchange}", broker.port);
    let bus = Amqp::open(&Address::parse(&url).unwrap()).unwrap();
    let mut inlet = inlet(&bus, &["FROM_PIKA"]);
    let mut command = Command::new(python);
    command.arg(beside("pika_end.py"));
    let pika = Program::start(command.args([&broker.port.to_string(), &exchange]));
    let received = collect(&mut *inlet, 2);
    assert_eq!(received[0].payload, b"hello");
    assert_eq!(received[0].sequence, None);
    let mut outlet = bus.outlet().unwrap();
    let end = clock::now() + Duration::from_secs(60);
    let mut lines = Vec::new();
    while !lines.iter().any(|line| line == "TO_PIKA 200000") {
        assert!(clock::now() < end, "{lines:?}");
        outlet.publish(&channel("TO_PIKA"), &[7; 200_000]).unwrap();
        thread::sleep(Duration::from_millis(50));
        lines.extend(pika.lines());
    }
}

#[test]
fn without_a_broker_the_error_says_what_to_start() {
    // Port 1 (tcpmux): a free port of the system may be given to another test meanwhile.
    let bus = Amqp::open(&Address::parse("amqp://127.0.0.1:1").unwrap()).unwrap();
    let error = bus.outlet().unwrap_err();
    assert!(error.remedy.contains("start the broker"), "{error}");
    assert!(bus.inlet().is_err());
}
