//! Thousands of connections that are silent or hostile, beside one valid client.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::running::{self, Running};
use super::{Report, Request};

const ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 17700);
/// How long the valid client waits before that counts as a hang.
const MAX_WAIT: Duration = Duration::from_secs(20);
const ROUND_TRIPS: usize = 1000;
/// The promised limit of `kadenz msg server`, with any clients.
const MAX_SERVER_MIB: u64 = 512;

/// LCM's TCP protocol: greetings and kinds of frames.
const MAGIC_CLIENT: u32 = 0x2876_17FB;
const VERSION: u32 = 0x0100;
const PUBLISH: u32 = 1;
const SUBSCRIBE: u32 = 2;

/// `kadenz msg server` beside idle and hostile clients.
pub(crate) fn server(request: &Request<'_>) -> Result<Report> {
    let mut report = Report::new("server");
    let folder = request.folder.clone();
    let command = "msg server --listen 127.0.0.1:17700";
    let mut server = Running::start(request, command, &folder)?;
    let mut honest = server.when_ready(|_| Honest::connect().ok())?;
    let quiet = honest.round_trips()?;
    drop(honest);
    let clients = 0..request.count.unwrap_or(10_000);
    let hostile: Vec<_> = clients.filter_map(hostile).collect();
    report.tried = hostile.len() as u64;
    let start = Instant::now();
    let beside = Honest::connect().and_then(|mut client| {
        let took = format!("{:.0?}", start.elapsed());
        report.figure("a new honest client is served after", took);
        client.round_trips()
    });
    let reproduce = || format!("kadenz {command}");
    match beside {
        Ok(beside) => {
            report.figure("honest p99, quiet", format!("{quiet:.0?}"));
            report.figure("honest p99, beside them", format!("{beside:.0?}"));
        }
        Err(error) => {
            let fault = format!("an honest client is not served: {error:#}");
            report.finding(fault, reproduce());
        }
    }
    let memory = server.most_memory_mib();
    report.figure("memory of the server", format!("{memory} MiB"));
    if memory > MAX_SERVER_MIB {
        report.finding(format!("{memory} MiB of memory"), reproduce());
    }
    stopped(&mut server, command, &mut report)?;
    Ok(report)
}

/// The valid client: it receives what it publishes.
struct Honest(TcpStream);

impl Honest {
    fn connect() -> Result<Self> {
        let mut stream = TcpStream::connect(SocketAddr::from(ADDRESS))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(MAX_WAIT))?;
        stream.write_all(&words(&[MAGIC_CLIENT, VERSION]))?;
        stream.read_exact(&mut [0; 8])?;
        stream.write_all(&frame(SUBSCRIBE, b"HONEST", None))?;
        let mut it = Self(stream);
        it.round_trip()?;
        Ok(it)
    }

    fn round_trip(&mut self) -> Result<Duration> {
        let message = frame(PUBLISH, b"HONEST", Some(&[7; 100]));
        let start = Instant::now();
        self.0.write_all(&message)?;
        let mut answer = vec![0; message.len()];
        let came = self.0.read_exact(&mut answer);
        came.context("no message came back")?;
        if answer != message {
            bail!("another message came back");
        }
        Ok(start.elapsed())
    }

    /// The 99th percentile of many round trips.
    fn round_trips(&mut self) -> Result<Duration> {
        let spans = (0..ROUND_TRIPS).map(|_| self.round_trip());
        let mut spans = spans.collect::<Result<Vec<_>>>()?;
        spans.sort();
        Ok(spans[ROUND_TRIPS * 99 / 100])
    }
}

/// A hostile client; `None` where the server refuses it.
fn hostile(number: u64) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(SocketAddr::from(ADDRESS)).ok()?;
    // Never blocks: a server that does not read must not hold up the attack.
    stream.set_nonblocking(true).ok()?;
    let greeting = words(&[MAGIC_CLIENT, VERSION]);
    let mut say = |bytes: &[u8]| drop(stream.write(bytes));
    match number % 6 {
        0 | 1 => {}
        2 => say(&greeting),
        3 => say(&[0xFF; 512]),
        4 => {
            say(&greeting);
            (0..20).for_each(|at| {
                let pattern = format!("(?:[AB]?){{{}}}", 3000 + at);
                say(&frame(SUBSCRIBE, pattern.as_bytes(), None));
            });
        }
        _ => {
            // Subscribes to all channels, reads nothing, and publishes to all of its kind.
            say(&greeting);
            say(&frame(SUBSCRIBE, b".*", None));
            say(&frame(PUBLISH, b"NOISE", Some(&[0; 100_000])));
        }
    }
    Some(stream)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn frame(kind: u32, name: &[u8], data: Option<&[u8]>) -> Vec<u8> {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut frame = words(&[kind, length(name)]);
    frame.extend(name);
    if let Some(data) = data {
        frame.extend(words(&[length(data)]));
        frame.extend(data);
    }
    frame
}

/// `kadenz ethercat stop` beside thousands of connections to the same control socket.
pub(crate) fn control(request: &Request<'_>) -> Result<Report> {
    let mut report = Report::new("control");
    let folder = request.folder.clone();
    let run = folder.join("run").to_string_lossy().into_owned();
    let command = format!("ethercat run --sim 12 --name attack --duration 5min --out {run}");
    let mut running = Running::start(request, &command, &folder)?;
    let socket = folder.join("kadenz/ethercat-attack.sock");
    running.when_ready(|_| UnixStream::connect(&socket).ok())?;
    let held = hold(&socket, request.count.unwrap_or(5000));
    report.tried = held.len() as u64;
    let start = Instant::now();
    let mut stop = running::program(request, "ethercat stop --loop attack", &folder).spawn()?;
    let stopped = loop {
        match stop.try_wait()? {
            Some(status) => break status.success(),
            None if start.elapsed() > MAX_WAIT => break false,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let _ = stop.kill();
    stop.wait()?;
    if stopped {
        let took = format!("{:.0?}", start.elapsed());
        report.figure("`ethercat stop` beside them, with its start", took);
    } else {
        let fault = "`ethercat stop` is not heard".to_owned();
        report.finding(fault, format!("kadenz {command}"));
    }
    self::stopped(&mut running, &command, &mut report)?;
    Ok(report)
}

/// Opens connections, every second of which sends half a request. Where the backlog is full, a connecting thread
/// blocks, not this one.
fn hold(socket: &Path, count: u64) -> Vec<UnixStream> {
    let (sender, streams) = std::sync::mpsc::sync_channel(64);
    for part in 0..8 {
        let (socket, sender) = (socket.to_owned(), sender.clone());
        std::thread::spawn(move || {
            for number in 0..count / 8 {
                let Ok(mut stream) = UnixStream::connect(&socket) else {
                    continue;
                };
                if (number + part) % 2 == 0 {
                    let _ = stream.write(b"{\"ask\":");
                }
                if sender.send(stream).is_err() {
                    return;
                }
            }
        });
    }
    drop(sender);
    let until = Instant::now() + MAX_WAIT;
    let mut held = Vec::new();
    while let Ok(stream) = streams.recv_timeout(until.saturating_duration_since(Instant::now())) {
        held.push(stream);
    }
    held
}

/// Asserts that the command ends by Ctrl-C.
fn stopped(running: &mut Running, command: &str, report: &mut Report) -> Result<()> {
    match running.interrupt()? {
        Some(took) => report.figure("Ctrl-C beside them", format!("{took:.0?}")),
        None => {
            let fault = "Ctrl-C is not heard".to_owned();
            report.finding(fault, format!("kadenz {command}"));
        }
    }
    Ok(())
}
