//! Servers through which both sides of a measurement communicate: each on loopback, at a free port, in a folder of its
//! own.
//!
//! A shell guards a server and kills it at the end of its own input, which comes however this program ends.

use std::fmt;
use std::fs::File;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use kadenz_rt::tuning::Policy;
use tempfile::TempDir;

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// `kadenz msg server`, for LCM's clients by `tcpq://`.
    Tcpq,
    /// RabbitMQ, for AMQP.
    RabbitMq,
    /// ROS 1's master.
    RosMaster,
    /// Eclipse Mosquitto, for MQTT.
    Mosquitto,
    /// The server of NATS.
    Nats,
}

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// It is not installed.
    #[error("{kind} is not here: {}", .kind.remedy())]
    Absent {
        /// The kind of the server that was to start.
        kind: ServerKind,
    },
    /// The system refuses something that it needs.
    #[error("{kind} cannot be started: {source}")]
    Start {
        /// The kind of the server that was to start.
        kind: ServerKind,
        /// What the system says.
        source: io::Error,
    },
    /// It runs and does not listen.
    #[error("{kind} did not listen at port {port} within {} s; it said: {said}", LISTEN_TIMEOUT.as_secs())]
    Deaf {
        /// The kind of the server that was to start.
        kind: ServerKind,
        /// The port at which the server should listen.
        port: u16,
        /// The end of its log.
        said: String,
    },
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    port: u16,
    guard: Child,
    /// The server's folder, removed with it.
    _folder: TempDir,
}

/// Starts a server in a session of its own, as Ctrl-C would otherwise end the guard and leave the server running.
const GUARD: &str = r#"
last="$1" log="$2"; shift 2
setsid "$@" </dev/null >"$log" 2>&1 & group=$!
cat >/dev/null
kill -s KILL -- "-$group"
wait
eval "$last"
"#;

/// Path of the server itself on Debian; the program on PATH requires a user of its own.
const RABBITMQ: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// Erlang's register of names, which the server started, ends once it knows that the server is gone.
const END_OF_NAMES: &str = r#"
for again in $(seq 25); do
    epmd -port "$ERL_EPMD_PORT" -kill >>"$log" 2>&1 && break
    sleep 0.2
done
"#;
/// ROS's master, without the rest of roscore.
const ROS_MASTER: &str =
    "import sys, rosmaster; rosmaster.rosmaster_main(['rosmaster'] + sys.argv[1:])";
/// The Python that Debian's packages are for.
const PYTHON: &str = "/usr/bin/python3";
/// How long a server may take until it listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(90);
/// How often the port is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Bytes of a log that are shown.
const SHOWN: usize = 300;

impl ServerKind {
    /// All kinds of servers.
    pub const ALL: [Self; 5] = [
        Self::Tcpq,
        Self::RabbitMq,
        Self::RosMaster,
        Self::Mosquitto,
        Self::Nats,
    ];

    /// The name in options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcpq => "tcpq",
            Self::RabbitMq => "rabbitmq",
            Self::RosMaster => "rosmaster",
            Self::Mosquitto => "mosquitto",
            Self::Nats => "nats",
        }
    }

    /// How to get it.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Tcpq => "it is a part of kadenz",
            Self::RabbitMq => "apt-get install rabbitmq-server",
            Self::RosMaster => "apt-get install python3-rosmaster",
            Self::Mosquitto => "apt-get install mosquitto",
            Self::Nats => "apt-get install nats-server",
        }
    }

    /// Whether it is installed.
    #[must_use]
    pub fn is_here(self) -> bool {
        match self {
            Self::Tcpq => true,
            Self::RabbitMq => Path::new(RABBITMQ).exists(),
            Self::RosMaster => succeeds(Command::new(PYTHON).args(["-c", "import rosmaster"])),
            Self::Mosquitto => program("mosquitto").is_some(),
            Self::Nats => program("nats-server").is_some(),
        }
    }

    /// The command that starts it, and the commands after its end.
    fn command(self, folder: &Path, port: u16) -> io::Result<(Command, &'static str)> {
        let listen = format!("127.0.0.1:{port}");
        let command = match self {
            Self::Tcpq => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["msg", "server", "--listen", &listen]);
                command
            }
            Self::RabbitMq => return Ok((rabbitmq(folder, port)?, END_OF_NAMES)),
            Self::RosMaster => {
                let mut command = Command::new(PYTHON);
                command.args(["-c", ROS_MASTER, "--core", "-p", &port.to_string()]);
                command
                    .env("ROS_LOG_DIR", folder)
                    .env("ROS_IP", "127.0.0.1")
                    .env("ROS_HOSTNAME", "127.0.0.1");
                command
            }
            Self::Mosquitto => {
                let settings = folder.join("mosquitto.conf");
                let words = format!(
                    "listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
                );
                std::fs::write(&settings, words)?;
                let mut command = Command::new(program("mosquitto").unwrap_or_default());
                command.arg("-c").arg(settings);
                command
            }
            Self::Nats => {
                let mut command = Command::new(program("nats-server").unwrap_or_default());
                command.args(["-a", "127.0.0.1", "-p", &port.to_string()]);
                command
            }
        };
        Ok((command, ""))
    }
}

impl fmt::Display for ServerKind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl FromStr for ServerKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no server `{text}`; there are {names}")
        })
    }
}

impl Server {
    /// Starts a server, under a real-time policy where one is given, and waits until it listens.
    ///
    /// # Errors
    /// [`ServerError`]; no part of the server runs then.
    pub fn start(kind: ServerKind, policy: Policy) -> Result<Self, ServerError> {
        let start = |source| ServerError::Start { kind, source };
        if !kind.is_here() {
            return Err(ServerError::Absent { kind });
        }
        let folder = tempfile::tempdir().map_err(start)?;
        let port = free_port().map_err(start)?;
        let (command, last) = kind.command(folder.path(), port).map_err(start)?;
        let log = folder.path().join("log.txt");
        File::create(&log).map_err(start)?;
        let mut guard = guarded(&command, last, &log, policy);
        let guard = guard
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(start)?;
        let mut server = Self {
            port,
            guard,
            _folder: folder,
        };
        server.wait_until_it_listens(kind, &log)?;
        Ok(server)
    }

    /// The port on which it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    fn wait_until_it_listens(&mut self, kind: ServerKind, log: &Path) -> Result<(), ServerError> {
        let end = Instant::now() + LISTEN_TIMEOUT;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if Instant::now() > end {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                let from = said.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
                return Err(ServerError::Deaf {
                    kind,
                    port: self.port,
                    said: said[from..].trim().to_owned(),
                });
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

fn guarded(command: &Command, last: &str, log: &Path, policy: Policy) -> Command {
    let mut guard = Command::new("setsid");
    guard.args(["sh", "-c", GUARD, "guard", last]).arg(log);
    let chrt = match policy {
        Policy::Fifo(priority) => Some(["--fifo".to_owned(), priority.to_string()]),
        Policy::RoundRobin(priority) => Some(["--rr".to_owned(), priority.to_string()]),
        Policy::Other | Policy::Deadline { .. } => None,
    };
    // Without the right to real-time priorities the server is an ordinary process, like both sides then; the run says
    // so.
    let granted = |words: &[String; 2]| succeeds(Command::new("chrt").args(words).arg("true"));
    if let Some(words) = chrt.filter(granted) {
        guard.arg("chrt").args(words);
    }
    guard.arg(command.get_program()).args(command.get_args());
    let set = command.get_envs();
    guard.envs(set.filter_map(|(name, value)| Some((name, value?))));
    guard
}

/// A port on loopback on which no process listened a moment ago.
///
/// # Errors
/// The system has no free port.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn rabbitmq(folder: &Path, port: u16) -> io::Result<Command> {
    let here = |name: &str| folder.join(name);
    let mut command = Command::new(RABBITMQ);
    command
        .env("HOME", folder)
        .env("RABBITMQ_NODENAME", format!("kadenz{port}@localhost"))
        .env("RABBITMQ_NODE_PORT", port.to_string())
        .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_DIST_PORT", free_port()?.to_string())
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
        .env("ERL_EPMD_PORT", free_port()?.to_string());
    Ok(command)
}

/// A program on PATH, or in the folders where Debian installs programs for root.
pub(super) fn program(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
    let folders = std::env::split_paths(&path).chain(more);
    folders.map(|it| it.join(name)).find(|it| it.is_file())
}

pub(super) fn succeeds(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|it| it.success())
}
