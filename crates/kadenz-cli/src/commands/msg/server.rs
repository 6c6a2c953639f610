//! `kadenz msg server`: the server in the middle of `tcpq://`.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use kadenz::msg::provider::tcpq::{
    ClientCounters, PORT, ServerCounters, ServerOptions, TcpqServer,
};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::{interrupt, udp};
use crate::options::{Size, Span, StdinOption};
use crate::output::{self, Outcome, Reply};

/// Run the server through which programs exchange messages at tcpq://.
///
/// For networks without multicast. It also serves LCM's programs, as LCM's TCPService does; but a client that does
/// not read loses its own messages, which are counted, and delays no other client. Memory, clients and patterns are
/// bounded, so that no client can exhaust the server. Listens on the loopback address by default: every program that
/// reaches it can read and publish all messages.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg server                                  tcpq://127.0.0.1:7700, for programs of this host
  kadenz msg server --listen 10.0.0.5                for the robot's network
  kadenz msg server --listen 0.0.0.0:7701 --clients 20 --queue 16MB --memory 512MiB
  kadenz msg bridge udpm://239.255.76.67:7667 tcpq://10.0.0.5 --both      connects a multicast bus to it

Exit codes: 0 nothing was dropped, 1 messages were, 2 the command failed, for example because the address is in use.")]
pub(crate) struct Options {
    /// Address to listen on, with a port or without
    #[arg(
        long,
        visible_alias = "bind",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:7700"
    )]
    listen: String,

    /// How much may wait for a client that does not read; the server drops further messages for it
    #[arg(long, value_name = "SIZE", default_value = "4MB")]
    queue: Size,

    /// The longest message; the server disconnects a client that sends a longer one
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    longest: Size,

    /// The most clients; when more connect, the server disconnects those without any message first
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = clap::value_parser!(u16).range(1..))]
    clients: u16,

    /// Memory for all clients together; when it is exhausted, the server disconnects the client that uses the most
    /// [default: 256MiB, or the need of two of the longest messages]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    #[command(flatten)]
    ends: StdinOption,
}

/// Counts of a server of `tcpq://`.
#[derive(JsonSchema, Serialize)]
pub(super) struct ServerReport {
    version: Version<1>,
    address: String,
    messages: u64,
    /// Deliveries, once for each client that subscribed.
    delivered: u64,
    /// Messages dropped for clients that did not read.
    dropped: u64,
    /// Clients refused or disconnected by the server.
    refused: u64,
    /// Clients that connected and left.
    left: u64,
    /// Clients connected at the end.
    clients: Vec<ClientCounters>,
    /// The same, for people.
    #[serde(skip)]
    counters: ServerCounters,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Reply> {
    let address = udp::resolve(&options.listen, PORT)?;
    let server = options.start(address)?;
    let stop = options.ends.quiet_stop()?;
    let address = server.address();
    output::note(&format!("serving on tcpq://{address}; Ctrl-C ends it"));
    if address.ip().is_unspecified() {
        output::note("every network of this host reaches it, and it authenticates no client");
    }
    let mut live = ServerProgress::new();
    interrupt::stop_after(options.duration, &stop);
    while !stop.requested() {
        live.look(&server);
        std::thread::sleep(POLL_INTERVAL);
    }
    drop(live);
    let counters = server.counters();
    let report = ServerReport {
        version: Version,
        address: address.to_string(),
        messages: counters.messages,
        delivered: counters.delivered,
        dropped: counters.dropped,
        refused: counters.refused,
        left: counters.left,
        clients: server.clients(),
        counters,
    };
    Ok(Reply::summary(report).with(Outcome::missed_if(counters.dropped > 0)))
}

impl Options {
    fn start(&self, address: SocketAddr) -> anyhow::Result<TcpqServer> {
        let mut served = ServerOptions {
            address,
            queue: self.queue.in_memory("--queue")?,
            longest: self.longest.in_memory("--longest")?,
            clients: self.clients.into(),
            ..ServerOptions::default()
        };
        let least = served.least_memory();
        served.memory = match self.memory {
            Some(memory) => memory.in_memory("--memory")?,
            None => served.memory.max(least),
        };
        anyhow::ensure!(
            served.memory >= least,
            "--memory {} is less than two of the longest messages need: give at least {}, or a smaller --longest",
            Size(served.memory as u64),
            Size(least as u64)
        );
        // With the old limit it would serve only as many clients as that allows.
        let _ = kadenz::rt::net::listener::raise_open_files();
        TcpqServer::start(&served).map_err(|error| {
            let remedy = remedy(error.kind(), address);
            anyhow::anyhow!("cannot listen on {address}: {error}{remedy}")
        })
    }
}

fn remedy(kind: ErrorKind, address: SocketAddr) -> String {
    let port = address.port();
    match kind {
        ErrorKind::AddrInUse => format!(
            "; another server runs there: use it, or take another port with `--listen {}`",
            SocketAddr::new(address.ip(), port.checked_add(1).unwrap_or(PORT))
        ),
        ErrorKind::AddrNotAvailable => {
            "; no interface of this host has that address (`ip address` shows them)".to_owned()
        }
        ErrorKind::PermissionDenied if port < 1024 => {
            "; ports below 1024 are root's: take one above".to_owned()
        }
        _ => String::new(),
    }
}

/// Interval at which a stop is polled, and the counters are read.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The counters, live on a terminal; elsewhere a line when a client begins to lose messages.
struct ServerProgress {
    bar: ProgressBar,
    losing: HashSet<String>,
    /// Dropped messages at the last read.
    dropped: u64,
}

impl ServerProgress {
    fn new() -> Self {
        let shown = output::draws_progress();
        Self {
            bar: if shown {
                ProgressBar::new_spinner()
            } else {
                ProgressBar::hidden()
            },
            losing: HashSet::new(),
            dropped: 0,
        }
    }

    fn look(&mut self, server: &TcpqServer) {
        let counters = server.counters();
        self.bar.set_message(words(&counters));
        self.bar.tick();
        // Clients, of which there may be thousands, matter only then.
        if output::is_quiet() || counters.dropped == self.dropped {
            return;
        }
        self.dropped = counters.dropped;
        let clients = server.clients();
        let there: HashSet<&String> = clients.iter().map(|it| &it.address).collect();
        self.losing.retain(|known| there.contains(known));
        for client in clients.iter().filter(|it| it.dropped > 0) {
            if !self.losing.contains(&client.address) {
                let note = format!(
                    "{} does not read; messages are dropped for it",
                    client.address
                );
                self.bar.suspend(|| output::note(&note));
                self.losing.insert(client.address.clone());
            }
        }
    }
}

/// `3 clients, 1,200 messages, passed on 2,400 times`.
fn words(counters: &ServerCounters) -> String {
    let mut words = format!(
        "{}, {}, passed on {}",
        numbers::counted(counters.clients, "client"),
        numbers::counted(counters.messages, "message"),
        numbers::counted(counters.delivered, "time"),
    );
    for (count, what) in [
        (counters.dropped, "dropped for clients that did not read"),
        (counters.left, "clients left"),
        (counters.refused, "clients refused or disconnected"),
    ] {
        if count > 0 {
            words.push_str(&format!(", {} {what}", numbers::thousands(count)));
        }
    }
    words
}

impl Answer for ServerReport {
    fn document(&self) -> Document {
        words(&self.counters).into()
    }
}
