// What all peers written in Rust share: as peer.h for C.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use rustix::thread::{clock_nanosleep_absolute, ClockId};
use rustix::time::{clock_gettime, Timespec};

const GREETING: u64 = u64::MAX;
const WARM_UP: i64 = 20;

pub struct Wishes {
    pub url: String,
    pub bytes: usize,
    count: u64,
    interval_ns: i64,
}

/// What came, and when.
pub struct Heard {
    values: Vec<i64>,
    heard: u64,
    open: bool,
}

pub fn now() -> i64 {
    let now = clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

impl Heard {
    pub fn message(&mut self, bytes: &[u8]) {
        let now = now();
        let Some((sequence, sent)) = bytes.first_chunk().zip(bytes.get(8..16)) else {
            return;
        };
        let sequence = u64::from_ne_bytes(*sequence);
        let sent = i64::from_ne_bytes(sent.try_into().unwrap_or_default());
        self.open |= sequence == GREETING;
        if let Some(value) = self.values.get_mut(sequence as usize).filter(|it| **it < 0) {
            *value = now - sent;
            self.heard += 1;
        }
    }

    fn tell(mut self, seconds: f64) {
        let all = self.values.len();
        self.values.retain(|it| *it >= 0);
        self.values.sort_unstable();
        let (values, held) = (&self.values, self.values.len());
        print!("{{\"count\":{held},\"lost\":{}", all - held);
        let views = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("max", 1.0)];
        for (name, share) in views.into_iter().filter(|_| held > 0) {
            let rank = (share * held as f64).ceil() as usize;
            print!(",\"{name}_ns\":{}", values[rank.clamp(1, held) - 1]);
        }
        println!(",\"seconds\":{seconds:.3}}}");
    }
}

/// Runs the peer: `publisher` makes what publishes bytes, `subscriber` what waits no longer than told
/// and shows what came.
pub fn run<P, S>(publisher: impl FnOnce(&Wishes) -> P, subscriber: impl FnOnce(&Wishes) -> S) -> ExitCode
where
    P: FnMut(&[u8]),
    S: FnMut(Duration, &mut Heard),
{
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|it| it.parse::<u64>().ok());
    let (Some(url), Some(count), Some(bytes), Some(interval)) =
        (words.first(), number(1), number(2), number(3))
    else {
        eprintln!("usage: peer URL COUNT BYTES INTERVAL_NS");
        return ExitCode::from(2);
    };
    let (bytes, interval_ns) = (bytes as usize, interval as i64);
    let wishes = Wishes { url: url.clone(), bytes, count, interval_ns };
    if words.get(4).is_some_and(|it| it == "publish") {
        let mut publish = publisher(&wishes);
        publish_all(&wishes, &mut publish);
        return ExitCode::SUCCESS;
    }
    let child = Command::new(std::env::current_exe().expect("a program"))
        .args(&words)
        .arg("publish")
        .stdin(Stdio::piped())
        .spawn()
        .expect("a second process");
    let mut receive = subscriber(&wishes);
    receive_all(&wishes, &mut receive, child)
}

fn publish_all(wishes: &Wishes, publish: &mut impl FnMut(&[u8])) {
    let begun = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&begun);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        told.store(true, Ordering::Release);
    });
    let mut message = vec![0; wishes.bytes];
    let mut send = |sequence: u64| {
        message[..8].copy_from_slice(&sequence.to_ne_bytes());
        message[8..16].copy_from_slice(&now().to_ne_bytes());
        publish(&message);
    };
    while !begun.load(Ordering::Acquire) {
        send(GREETING);
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut beat = now() + 50_000_000;
    for at in -WARM_UP..wishes.count as i64 {
        let until = Timespec { tv_sec: beat / 1_000_000_000, tv_nsec: beat % 1_000_000_000 };
        while clock_nanosleep_absolute(ClockId::Monotonic, &until).is_err() {}
        send(u64::try_from(at).unwrap_or(GREETING));
        beat += wishes.interval_ns;
    }
    std::thread::sleep(Duration::from_millis(300));
}

fn receive_all(
    wishes: &Wishes,
    receive: &mut impl FnMut(Duration, &mut Heard),
    mut child: Child,
) -> ExitCode {
    let values = vec![-1; wishes.count as usize];
    let mut heard = Heard { values, heard: 0, open: false };
    let patience = now() + 10_000_000_000;
    while !heard.open {
        receive(Duration::from_millis(10), &mut heard);
        if now() > patience || !matches!(child.try_wait(), Ok(None)) {
            eprintln!("no message came over {}", wishes.url);
            let _ = child.kill();
            return ExitCode::from(1);
        }
    }
    let _ = child.stdin.as_mut().map(|it| it.write_all(b"b"));
    let started = now();
    let mut last = started;
    while heard.heard < wishes.count {
        let before = heard.heard;
        receive(Duration::from_millis(100), &mut heard);
        if heard.heard > before {
            last = now();
        } else if !matches!(child.try_wait(), Ok(None)) {
            break;
        }
    }
    heard.tell((last - started) as f64 / 1e9);
    let _ = child.kill();
    let _ = child.wait();
    ExitCode::SUCCESS
}
