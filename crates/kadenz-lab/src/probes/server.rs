//! Servers that contestants meet at: each on loopback and a free port, asleep while others measure.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Scheduling;
use crate::bench::absent;
use crate::process;
use crate::repository::Repository;

/// What there is of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ours for LCM's clients.
    Tcpq,
    /// RabbitMQ.
    RabbitMq,
    /// ROS 1's.
    RosMaster,
}

/// A shell stands guard over a server. It passes on the signals that it reads and kills the server at
/// the end of its input, which comes however this program ends; in a session of its own, as Ctrl-C
/// would otherwise end the guard and not the server.
const GUARD: &str = r#"
last="$1" log="$2"; shift 2
setsid "$@" </dev/null >"$log" 2>&1 & group=$!
while read -r signal; do kill -s "$signal" -- "-$group"; done
kill -s KILL -- "-$group"
wait
eval "$last"
"#;

/// Where Debian puts the server itself; the program in the path asks for its own user.
const RABBITMQ: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// Erlang's register of names, which started by itself, ends once it knows that the server is gone.
const END_OF_NAMES: &str = r#"
for again in $(seq 25); do
    epmd -port "$ERL_EPMD_PORT" -kill >>"$log" 2>&1 && break
    sleep 0.2
done
"#;
/// ROS's master, without the rest of roscore.
const ROS_MASTER: &str =
    "import sys, rosmaster; rosmaster.rosmaster_main(['rosmaster'] + sys.argv[1:])";
/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(90);

/// One that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    /// What it is.
    pub kind: Kind,
    /// Where it listens.
    pub port: u16,
    guard: Child,
}

impl Kind {
    /// How to get it.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Tcpq => "cargo builds it: look at what it says",
            Self::RabbitMq => "apt-get install rabbitmq-server",
            Self::RosMaster => "apt-get install python3-rosmaster",
        }
    }

    /// The command, and what is to be done after its end.
    fn command(
        self,
        repository: &Repository,
        folder: &Path,
        port: u16,
    ) -> Result<(Command, &'static str)> {
        match self {
            Self::Tcpq => Ok((tcpq(repository, port)?, "")),
            Self::RabbitMq => {
                if !Path::new(RABBITMQ).exists() {
                    bail!("there is no {RABBITMQ}");
                }
                Ok((rabbitmq(repository, folder, port)?, END_OF_NAMES))
            }
            Self::RosMaster => Ok((ros_master(repository, folder, port)?, "")),
        }
    }
}

impl Server {
    /// Starts it and waits until it listens; it sleeps then.
    pub fn start(
        kind: Kind,
        repository: &Repository,
        folder: &Path,
        scheduling: Scheduling,
    ) -> Result<Self> {
        let folder = absent(&folder.join(format!("{kind:?}").to_lowercase()))?;
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let port = free_port()?;
        let (command, last) = kind.command(repository, &folder, port)?;
        let log = folder.join("log.txt");
        // A master is in no message's way.
        let fifo = scheduling == Scheduling::Fifo && kind != Kind::RosMaster;
        let mut guard = guarded(repository, &command, last, &log, fifo);
        let guard = guard.stdin(Stdio::piped()).spawn();
        let mut server = Self {
            kind,
            port,
            guard: guard.context("cannot start setsid, of util-linux")?,
        };
        server.wait_until_it_listens(&log)?;
        server.signal("STOP");
        Ok(server)
    }

    fn wait_until_it_listens(&mut self, log: &Path) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if Instant::now() > end {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                bail!("it does not listen at port {}: {}", self.port, said.trim());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Lets it run while `measure` does.
    pub fn awake<T>(&mut self, measure: impl FnOnce() -> T) -> T {
        self.signal("CONT");
        let measured = measure();
        self.signal("STOP");
        measured
    }

    /// What a guard does not take, it has no server for any more; then nobody can measure, and says so.
    fn signal(&mut self, name: &str) {
        if let Some(input) = &mut self.guard.stdin {
            let _ = writeln!(input, "{name}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

fn guarded(
    repository: &Repository,
    command: &Command,
    last: &str,
    log: &Path,
    fifo: bool,
) -> Command {
    let mut guard = repository.command("setsid");
    guard.args(["sh", "-c", GUARD, "guard", last]).arg(log);
    if fifo {
        guard.args(["chrt", "--fifo", "80"]);
    }
    guard.arg(command.get_program()).args(command.get_args());
    let set = command.get_envs();
    guard.envs(set.filter_map(|(name, value)| Some((name, value?))));
    guard
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on loopback")?;
    Ok(listener.local_addr()?.port())
}

fn tcpq(repository: &Repository, port: u16) -> Result<Command> {
    let mut build = repository.command("cargo");
    build.args(["build", "--release", "--quiet", "-p", "kadenz-msg"]);
    process::output(build.args(["--example", "tcpq_server"]))?;
    let program = repository.target().join("release/examples/tcpq_server");
    let mut command = repository.command(&program.to_string_lossy());
    command.arg(format!("127.0.0.1:{port}"));
    Ok(command)
}

fn rabbitmq(repository: &Repository, folder: &Path, port: u16) -> Result<Command> {
    let here = |name: &str| folder.join(name);
    let mut command = repository.command(RABBITMQ);
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

fn ros_master(repository: &Repository, folder: &Path, port: u16) -> Result<Command> {
    process::output(
        repository
            .command("/usr/bin/python3")
            .args(["-c", "import rosmaster"]),
    )?;
    let mut command = repository.command("/usr/bin/python3");
    command.args(["-c", ROS_MASTER, "--core", "-p", &port.to_string()]);
    command
        .env("ROS_LOG_DIR", folder)
        .env("ROS_IP", "127.0.0.1");
    Ok(command)
}
