//! Hostile datagrams to every listener: the CPU time of one, and whether a listener ends during a flood.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use super::mutate::{Random, mutated};
use super::running::Running;
use super::{Report, Request};

const MAX_DATAGRAM: usize = 65_507;
/// Small enough that one expensive datagram shows.
const BATCH: u64 = 10;
/// The time in which a listener handles a batch of the permitted cost.
const PAUSE: Duration = Duration::from_millis(12);
/// The goal is 1 ms a datagram; one above this limit is a finding.
const MAX_CPU: Duration = Duration::from_millis(100);

/// A listener: its name, its command, its address, and its usual datagrams.
struct Listener {
    name: &'static str,
    command: &'static str,
    /// A command that must run beside it.
    beside: Option<&'static str>,
    /// Its port; 0 for the even one of the ports that the command opens.
    address: ([u8; 4], u16),
    seeds: &'static [&'static [u8]],
}

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../../../conformance/", $name)).as_slice()
    };
}

const DEVICE: &[&[u8]] = &[
    golden!("udp/batch.bin"),
    golden!("udp/batch-kept.bin"),
    golden!("udp/discover.bin"),
    golden!("udp/present.bin"),
    golden!("udp/probe-full.bin"),
    golden!("udp/probe-smallest.bin"),
    golden!("udp/reply-full.bin"),
];

const LCM: &[&[u8]] = &[
    golden!("lcm-wire/empty.datagrams"),
    golden!("lcm-wire/long-65500.datagrams"),
    golden!("lcm-wire/longest-channel.datagrams"),
    golden!("lcm-wire/small.datagrams"),
];

const CAMERA: &[&[u8]] = &[
    golden!("camera/packets/key.rtp"),
    golden!("camera/packets/parameters.rtp"),
    golden!("camera/packets/picture.rtp"),
];

const LISTENERS: &[Listener] = &[
    Listener {
        name: "udp echo",
        command: "udp echo --bind 127.0.0.1:16177",
        beside: None,
        address: ([127, 0, 0, 1], 16177),
        seeds: DEVICE,
    },
    Listener {
        name: "udp log",
        command: "udp log --bind 127.0.0.1:16178 --out {out}/run",
        beside: None,
        address: ([127, 0, 0, 1], 16178),
        seeds: DEVICE,
    },
    Listener {
        name: "udpm",
        command: "msg echo .* --raw --url udpm://239.255.76.67:16179?ttl=0&iface=lo",
        beside: None,
        address: ([239, 255, 76, 67], 16179),
        seeds: LCM,
    },
    Listener {
        name: "camera",
        command: "camera serve rtsp://127.0.0.1:16180/camera --transport udp --layout rgb --name attack",
        beside: Some(
            "camera sim --listen 127.0.0.1:16180 --size 160x144 --rate 2Hz --keys-every 2",
        ),
        address: ([127, 0, 0, 1], 0),
        seeds: CAMERA,
    },
];

/// Sends `count` datagrams to each listener, then a flood while Ctrl-C ends it.
pub(crate) fn attack(request: &Request<'_>) -> Result<Report> {
    let mut report = Report::new("datagrams");
    for listener in LISTENERS {
        one(request, listener, &mut report).with_context(|| listener.name.to_owned())?;
    }
    Ok(report)
}

fn one(request: &Request<'_>, listener: &Listener, report: &mut Report) -> Result<()> {
    let folder = request.folder.join(listener.name.replace(' ', "-"));
    let command = listener.command.replace("{out}", &folder.to_string_lossy());
    let reproduce = format!("kadenz {command}");
    let start_beside = |command| Running::start(request, command, &folder.join("beside"));
    let _beside = listener.beside.map(start_beside).transpose()?;
    let mut running = Running::start(request, &command, &folder)?;
    let (host, known) = listener.address;
    let is_its = |port: &u16| *port == known || known == 0 && port.is_multiple_of(2);
    let port = running.when_ready(|it| it.udp_ports().into_iter().find(is_its))?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(SocketAddr::from((host, port)))?;
    let dearest = dearest(request, listener, &socket, &running, report);
    let name = listener.name;
    let what = format!("{name}, CPU a datagram, dearest of batches of {BATCH}");
    report.figure(&what, format!("{dearest:.1?}"));
    if dearest > MAX_CPU {
        report.finding(format!("a datagram costs {dearest:?}"), reproduce.clone());
    }
    if !running.runs() {
        report.finding("it ended by itself".to_owned(), reproduce.clone());
        return Ok(());
    }
    match interrupted_in_a_flood(listener, &socket, &mut running)? {
        Some(took) => {
            let what = format!("{name}, stop in a flood");
            report.figure(&what, format!("{took:.0?}"));
        }
        None => report.finding("Ctrl-C is not heard in a flood".to_owned(), reproduce),
    }
    Ok(())
}

/// The CPU time of a datagram, in the most expensive batch.
fn dearest(
    request: &Request<'_>,
    listener: &Listener,
    socket: &UdpSocket,
    running: &Running,
    report: &mut Report,
) -> Duration {
    let mut random = Random::of(request.seed, 0);
    let mut dearest = Duration::ZERO;
    for _ in 0..request.count.unwrap_or(3000) / BATCH {
        if request.expired() {
            break;
        }
        let before = running.cpu();
        for _ in 0..BATCH {
            // The socket may report that an earlier datagram met a closed port; another check covers that.
            let _ = socket.send(&datagram(listener, &mut random));
            report.tried += 1;
        }
        std::thread::sleep(PAUSE);
        let spent = running.cpu().saturating_sub(before);
        dearest = dearest.max(spent / u32::try_from(BATCH).unwrap_or(1));
    }
    dearest
}

fn datagram(listener: &Listener, random: &mut Random) -> Vec<u8> {
    let seed = random.one_of(listener.seeds);
    let seed = &seed[..seed.len().min(MAX_DATAGRAM)];
    let mut bytes = match random.below(8) {
        0 => seed.to_vec(),
        1 => (0..random.below(MAX_DATAGRAM))
            .map(|_| random.next().to_le_bytes()[0])
            .collect(),
        _ => mutated(seed, random),
    };
    bytes.truncate(MAX_DATAGRAM);
    bytes
}

fn interrupted_in_a_flood(
    listener: &Listener,
    socket: &UdpSocket,
    running: &mut Running,
) -> Result<Option<Duration>> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::of(99, 0);
            let datagrams: Vec<_> = (0..64).map(|_| datagram(listener, &mut random)).collect();
            // The running command ends within its limit, and so does this loop.
            for datagram in datagrams.iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let _ = socket.send(datagram);
            }
        });
        std::thread::sleep(Duration::from_millis(500));
        let took = running.interrupt();
        over.store(true, Ordering::Relaxed);
        took
    })
}
