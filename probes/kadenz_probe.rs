//! A probe of `kadenz msg latency`, in one module: the twin of `kadenz_probe.h`, which describes probes.
//!
//! ```ignore
//! #[path = "../../kadenz_probe.rs"]
//! mod kadenz_probe;
//!
//! fn main() {
//!     let mut probe = kadenz_probe::Probe::open("my middleware 1.0");
//!     if probe.publishes {
//!         // Open a publisher at `probe.url`.
//!         probe.ready();
//!         while probe.next_beat() {
//!             let taken = send(probe.message()).is_ok();
//!             probe.sent(taken);
//!         }
//!     } else {
//!         // Subscribe.
//!         probe.ready();
//!         while probe.waits() {
//!             if let Some(data) = receive(kadenz_probe::POLL_TIMEOUT) {
//!                 probe.received(&data);
//!             }
//!         }
//!     }
//!     probe.close();
//! }
//! ```
//!
//! Needs the crate `rustix` with the features `stdio`, `thread` and `time`. After [`Probe::ready`] nothing allocates.

#![allow(dead_code, reason = "a probe does not need all of it")]
#![allow(
    clippy::disallowed_methods,
    reason = "a probe changes nothing that its end would have to put back"
)]

use std::fmt::{Display, Write as _};
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::thread::{ClockId as Sleeping, clock_nanosleep_absolute};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Bytes of a message without padding.
const MIN: usize = 52;
const FINGERPRINT: u64 = 0xbd30_f24f_6a0e_a620;
/// A greeting's number, and the time between two greetings.
const GREETING: i64 = -1;
const GREETING_NS: i64 = 5_000_000;
/// From the order to begin to the first beat.
const HEAD_START_NS: i64 = 50_000_000;
/// Lines on received messages are written in blocks, at the latest after this time.
const FLUSH_NS: i64 = 1_000_000_000;
const BLOCK: usize = 1 << 16;
/// The longest line.
const MAX_LINE: usize = 1024;
/// The longest wait for a message.
pub(crate) const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// The orders of Kadenz since the first line. A thread that does not receive may read them, too.
#[derive(Default)]
pub(crate) struct Orders {
    begun: AtomicBool,
    ended: AtomicBool,
}

impl Orders {
    pub(crate) fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn take(&self) {
        for line in std::io::stdin().lines() {
            match line.as_deref() {
                Ok("begin") => self.begun.store(true, Ordering::Release),
                Ok("end") | Err(_) => break,
                Ok(_) => {}
            }
        }
        self.ended.store(true, Ordering::Release);
    }
}

#[derive(Default)]
pub(crate) struct Probe {
    pub(crate) publishes: bool,
    pub(crate) url: String,
    pub(crate) channel: String,
    pub(crate) bytes: usize,
    pub(crate) queue: usize,
    pub(crate) orders: Arc<Orders>,
    run: i64,
    interval_ns: i64,
    warm_up: i64,
    count: i64,
    name: String,
    /// The former standard output.
    output: Option<File>,
    /// The publisher's message, and its state.
    message: Vec<u8>,
    sequence: i64,
    beat_ns: i64,
    sent_ns: i64,
    before_ns: i64,
    published: i64,
    refused: i64,
    /// The subscriber's lines that are not written yet.
    lines: String,
    flushed_ns: i64,
    has_heard: bool,
    /// Whether a message came since the last call of [`Probe::waits`].
    has_received: bool,
}

fn now() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn sleep_until(ns: i64) {
    let until = Timespec {
        tv_sec: ns / 1_000_000_000,
        tv_nsec: ns % 1_000_000_000,
    };
    while clock_nanosleep_absolute(Sleeping::Monotonic, &until).is_err() {}
}

/// The version of a crate in the text of the probe's `Cargo.lock`.
pub(crate) fn version<'a>(lock: &'a str, name: &str) -> &'a str {
    let (_, after) = lock
        .split_once(&format!("name = \"{name}\"\nversion = \""))
        .unwrap_or_default();
    after.split('"').next().unwrap_or_default()
}

impl Probe {
    /// Reads the task. `name` is the middleware and its version, as reports show it.
    pub(crate) fn open(name: &str) -> Self {
        let mut line = String::with_capacity(MAX_LINE);
        let read = std::io::stdin().read_line(&mut line);
        if read.is_err() || !line.starts_with("kadenz-probe version=1 ") {
            eprintln!("this is a probe: let `kadenz msg latency --with` start it");
            std::process::exit(2);
        }
        let mut probe = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        // Libraries may print to standard output.
        let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3);
        probe.output = output.ok().map(File::from);
        let _ = rustix::stdio::dup2_stdout(rustix::stdio::stderr());
        line.split_whitespace()
            .filter_map(|it| it.split_once('='))
            .for_each(|(name, value)| probe.set(name, value));
        probe.lines.reserve(BLOCK);
        if probe.bytes < MIN {
            probe.fail("a message has 52 bytes at least");
        }
        probe.message = vec![0; probe.bytes];
        let orders = Arc::clone(&probe.orders);
        std::thread::spawn(move || orders.take());
        probe
    }

    fn set(&mut self, name: &str, value: &str) {
        let number = value.parse().unwrap_or_default();
        match name {
            "role" => self.publishes = value == "publisher",
            "url" => self.url = value.to_owned(),
            "channel" => self.channel = value.to_owned(),
            "run" => self.run = number,
            "interval_ns" => self.interval_ns = number,
            "warm_up" => self.warm_up = number,
            "count" => self.count = number,
            "bytes" => self.bytes = number as usize,
            "queue" => self.queue = number as usize,
            _ => {}
        }
    }

    /// Writes the lines that are held back. Where the reader is gone, the measurement is over.
    fn flush(&mut self) {
        let is_written = self
            .output
            .as_mut()
            .is_some_and(|it| it.write_all(self.lines.as_bytes()).is_ok());
        if !is_written {
            std::process::exit(1);
        }
        self.lines.clear();
        self.flushed_ns = now();
    }

    /// Reports why the probe cannot work, and ends the program with code 2.
    pub(crate) fn fail(&mut self, why: impl Display) -> ! {
        self.say("error", &why.to_string());
        std::process::exit(2)
    }

    /// Reports a warning for the run.
    pub(crate) fn note(&mut self, text: &str) {
        self.say("note", text);
    }

    fn say(&mut self, what: &str, text: &str) {
        self.flush();
        let text = text
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(MAX_LINE / 5);
        let _ = writeln!(self.lines, "{what} {}", text.collect::<String>());
        self.flush();
    }

    /// The value of a result; an error ends the program with its text.
    pub(crate) fn must<T, E: Display>(&mut self, given: Result<T, E>) -> T {
        given.unwrap_or_else(|error| self.fail(error))
    }

    /// Call this when all is open, so that each message that comes is received.
    pub(crate) fn ready(&mut self) {
        self.say("ready", &self.name.clone());
    }

    pub(crate) fn message(&self) -> &[u8] {
        &self.message
    }

    /// Encodes the next message; takes the time of publishing first, since encoding counts.
    fn encode(&mut self, sequence: i64, intended_ns: Option<i64>) {
        self.sent_ns = now();
        let times = [
            intended_ns.unwrap_or(self.sent_ns),
            self.sent_ns,
            self.before_ns,
        ];
        let words = [FINGERPRINT as i64, self.run, sequence]
            .into_iter()
            .chain(times);
        for (to, word) in self.message.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        let padding = (self.bytes - MIN) as u32;
        self.message[48..MIN].copy_from_slice(&padding.to_be_bytes());
        self.message[MIN..].fill(sequence as u8);
    }

    /// Waits until the next message is due, and encodes it; false when there is none any more. Before the order to
    /// begin, a publisher sends a greeting every 5 ms. A message that is late keeps its own intended time.
    pub(crate) fn next_beat(&mut self) -> bool {
        if self.beat_ns == 0 {
            self.before_ns = -1;
            if self.orders.ended() {
                return false;
            }
            if !self.orders.begun.load(Ordering::Acquire) {
                sleep_until(now() + GREETING_NS);
                self.encode(GREETING, None);
                return true;
            }
            self.beat_ns = now() + HEAD_START_NS;
            self.sequence = -self.warm_up;
        } else {
            self.published += i64::from(self.sequence >= 0);
            self.sequence += 1;
            self.beat_ns += self.interval_ns;
        }
        if self.sequence >= self.count || self.orders.ended() {
            return false;
        }
        sleep_until(self.beat_ns);
        self.encode(self.sequence, Some(self.beat_ns));
        true
    }

    /// Call this after a message was handed over, or refused, with `taken` false.
    pub(crate) fn sent(&mut self, taken: bool) {
        self.before_ns = now() - self.sent_ns;
        self.refused += i64::from(self.beat_ns != 0 && self.sequence >= 0 && !taken);
    }

    /// Whether more is to be received. It makes no system call but one a second, where lines wait: call it in the loop,
    /// with a wait of [`POLL_TIMEOUT`] at most between two calls.
    pub(crate) fn waits(&mut self) -> bool {
        if !self.lines.is_empty() && now() - self.flushed_ns > FLUSH_NS {
            self.flush();
        }
        std::mem::take(&mut self.has_received) || !self.orders.ended()
    }

    /// Takes a received message: decodes it, then takes the time, since decoding counts.
    pub(crate) fn received(&mut self, data: &[u8]) {
        self.has_received = true;
        let word = |at: usize| {
            data.get(at..at + 8)
                .and_then(|it| it.try_into().ok())
                .map(i64::from_be_bytes)
        };
        let read = || Some([word(8)?, word(16)?, word(24)?, word(32)?, word(40)?]);
        let read = read().filter(|_| data.len() >= MIN && word(0) == Some(FINGERPRINT as i64));
        let ends = data.get(MIN).zip(data.last());
        let is_damaged = |sequence: i64| {
            data.len() != self.bytes
                || ends.is_some_and(|(a, z)| (*a, *z) != (sequence as u8, sequence as u8))
        };
        let is_damaged = read.is_some_and(|it| is_damaged(it[1]));
        let received_ns = now();
        if self.lines.len() + MAX_LINE > BLOCK {
            self.flush();
        }
        match read {
            Some([run, sequence, intended, sent, before]) if run == self.run && sequence >= 0 => {
                let damaged = if is_damaged { " damaged" } else { "" };
                let _ = writeln!(
                    self.lines,
                    "message {sequence} {intended} {sent} {before} {received_ns}{damaged}"
                );
            }
            Some([run, ..]) if run == self.run => {
                if !std::mem::replace(&mut self.has_heard, true) {
                    self.lines.push_str("heard\n");
                    self.flush();
                }
            }
            _ => self.lines.push_str("foreign\n"),
        }
    }

    /// Writes the rest of the lines.
    pub(crate) fn close(&mut self) {
        if self.publishes {
            let _ = writeln!(self.lines, "published {} {}", self.published, self.refused);
        }
        self.flush();
    }
}
