//! Kadenz sends the datagrams of liblcm, byte by byte, and both receive each other's messages.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use kadenz_msg::arrival::SenderId;
use kadenz_msg::channel::Channel;
use kadenz_msg::wire::tcpq::{Decoder, Frame, Peer};
use kadenz_msg::wire::{
    Added, FRAGMENT_BYTES, Fragments, Packet, Reassembly, ReassemblyLimits, fits_short,
    short_header,
};
use kadenz_rt::clock;

/// File, channel, and length of the payload, as conformance/lcm-wire/README.md has them.
fn cases() -> Vec<(&'static str, String, usize)> {
    let edge = |name, length| (name, "EDGE".to_owned(), length);
    vec![
        ("empty", "EMPTY".to_owned(), 0),
        ("small", "SMALL".to_owned(), 200),
        ("longest-channel", "C".repeat(63), 10),
        edge("short-65498", 65_493),
        edge("short-65499", 65_494),
        edge("long-65500", 65_495),
        edge("long-two-full", 130_969),
        edge("long-and-one-byte", 130_970),
    ]
}

fn payload(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// The datagrams that liblcm sent.
fn golden(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/lcm-wire");
    let bytes = std::fs::read(folder.join(format!("{name}.datagrams"))).unwrap();
    let (mut rest, mut datagrams) = (&bytes[..], Vec::new());
    while let Some((length, behind)) = rest.split_first_chunk() {
        let (datagram, next) = behind.split_at(u32::from_be_bytes(*length) as usize);
        datagrams.push(datagram.to_vec());
        rest = next;
    }
    datagrams
}

#[test]
fn our_datagrams_are_those_of_liblcm_byte_by_byte() {
    for (sequence, (name, channel, length)) in (0..).zip(cases()) {
        let (channel, payload) = (Channel::new(&channel).unwrap(), payload(length));
        let ours: Vec<Vec<u8>> = if fits_short(&channel, length) {
            let header = short_header(sequence, &channel);
            vec![[header.bytes(), &payload].concat()]
        } else {
            let fragments = Fragments::new(sequence, &channel, &payload, FRAGMENT_BYTES).unwrap();
            let whole =
                |(header, part): (kadenz_msg::wire::Header, &[u8])| [header.bytes(), part].concat();
            fragments.map(whole).collect()
        };
        assert!(ours == golden(name), "{name} differs");
    }
}

/// Decodes the frames of a liblcm client to a TCP server, from reads of `bytes_a_read` bytes.
fn client_says(name: &str, bytes_a_read: usize) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/lcm-tcpq");
    let bytes = std::fs::read(folder.join(format!("{name}.tcpq"))).unwrap();
    let (mut decoder, mut said) = (Decoder::new(Peer::Client, 1000), Vec::new());
    for read in bytes.chunks(bytes_a_read) {
        decoder.space()[..read.len()].copy_from_slice(read);
        decoder.filled(read.len());
        while let Some(frame) = decoder.next().unwrap() {
            said.push(match frame {
                Frame::Publish { channel, payload } => {
                    let counted = (0..payload.len()).map(|at| at as u8);
                    let text = payload == b"12345678";
                    assert!(text || payload.iter().copied().eq(counted));
                    format!("{channel} {}", payload.len())
                }
                Frame::Subscribe { pattern } => format!("+{pattern}"),
                Frame::Unsubscribe { pattern } => format!("-{pattern}"),
            });
        }
    }
    said
}

#[test]
fn what_a_client_of_liblcm_says_to_a_tcp_server_is_read_however_it_is_cut() {
    for bytes_a_read in [1, 7, 1000] {
        let long = format!("{} 8", "C".repeat(63));
        assert_eq!(
            client_says("publishes", bytes_a_read),
            ["POSE 0", "POSE 8", "POSE 200", &long]
        );
        assert_eq!(
            client_says("subscribes", bytes_a_read),
            ["+POSE", "+ARM_.*", "-ARM_.*", "POSE 8", "-POSE"]
        );
    }
}

#[test]
fn what_liblcm_sent_is_read_in_any_order() {
    let mut reassembly = Reassembly::new(ReassemblyLimits::default());
    for (name, channel, length) in cases() {
        let mut whole = Vec::new();
        for datagram in golden(name).iter().rev() {
            match Packet::parse(datagram).unwrap() {
                Packet::Short {
                    channel, payload, ..
                } => {
                    whole.push((channel.to_owned(), payload.to_vec()));
                }
                Packet::Fragment(fragment) => {
                    let now = clock::now();
                    let added = reassembly.add(SenderId(1), &fragment, now, None);
                    if let Added::Complete(complete) = added {
                        let channel = complete.channel.as_str().to_owned();
                        whole.push((channel, complete.payload.clone()));
                    }
                }
            }
        }
        assert!(whole == [(channel, payload(length))], "{name} differs");
    }
}

#[cfg(target_os = "linux")]
mod live {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use kadenz_msg::channel::Pattern;
    use kadenz_msg::provider::parameters::Address;
    use kadenz_msg::provider::tcpq::{ServerOptions, Tcpq, TcpqServer};
    use kadenz_msg::provider::{More, Provider, Wait, udpm::Udpm};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    /// Sends each message back on another channel.
    const ECHO: &str = "
import lcm, sys
bus = lcm.LCM(sys.argv[1])
bus.subscribe('PING.*', lambda channel, data: bus.publish('ECHO_' + channel, data))
print('ready', flush=True)
while True:
    bus.handle()
";

    struct Peer(Child);

    impl Drop for Peer {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Starts an echo with LCM's own library; an error if no Python has it or LCM cannot open the network.
    fn echo(url: &str) -> Result<Peer, String> {
        let python = std::env::var("KADENZ_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let has = Command::new(&python).args(["-c", "import lcm"]).output();
        if !has.is_ok_and(|it| it.status.success()) {
            let how = "python3 -m venv v && v/bin/pip install lcm, then KADENZ_PYTHON=v/bin/python";
            return Err(format!("a Python with lcm ({how})"));
        }
        let mut child = Command::new(&python)
            .args(["-c", ECHO, url])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let peer = Peer(child);
        match lines.next() {
            Some(Ok(line)) if line == "ready" => Ok(peer),
            _ => Err("a network on which LCM comes up (a route for 239.0.0.0/8)".to_owned()),
        }
    }

    fn round_trip(bus: &dyn Provider, length: usize) {
        let mut outlet = bus.outlet().unwrap();
        let mut inlet = bus.inlet().unwrap();
        inlet.want(&[Pattern::new("ECHO_.*").unwrap()]).unwrap();
        let (sent, ping) = (payload(length), Channel::new("PING").unwrap());
        let end = clock::now() + TIMEOUT;
        let mut came = None;
        while came.is_none() {
            assert!(clock::now() < end, "no echo of {length} bytes");
            outlet.publish(&ping, &sent).unwrap();
            // Until the echo of this or an earlier try comes.
            for _ in 0..50 {
                let soon = Wait::Until(clock::now() + Duration::from_millis(20));
                let received = inlet.receive(soon, &mut |arrival| {
                    if arrival.channel == "ECHO_PING" && arrival.payload.bytes().len() == length {
                        assert!(arrival.payload.bytes() == sent, "{length} bytes changed");
                        came = Some(());
                    }
                    More::GoOn
                });
                received.unwrap();
                if came.is_some() {
                    break;
                }
            }
        }
    }

    #[test]
    fn liblcm_hears_us_and_we_hear_liblcm() {
        let test = "liblcm_hears_us_and_we_hear_liblcm";
        let process = std::process::id();
        let group = format!("239.253.{}.{}:7901", process >> 8 & 0xff, process & 0xff);
        // LCM's default buffer is smaller.
        let peer = echo(&format!("udpm://{group}?ttl=0&recv_buf_size=2000000"));
        let _peer = match peer {
            Ok(peer) => peer,
            Err(missing) => return skip(test, &missing),
        };
        let address = Address::parse(&format!("udpm://{group}?ttl=0")).unwrap();
        let bus = Udpm::open(&address).unwrap();
        for length in [0, 1, 200, 65_493, 65_494, 65_495, 130_969, 130_970, 200_000] {
            round_trip(&bus, length);
        }
    }

    #[test]
    fn liblcm_talks_with_us_through_our_server() {
        let test = "liblcm_talks_with_us_through_our_server";
        let anywhere = ServerOptions {
            address: ([127, 0, 0, 1], 0).into(),
            ..ServerOptions::default()
        };
        let server = TcpqServer::start(&anywhere).unwrap();
        let url = format!("tcpq://{}", server.address());
        let _peer = match echo(&url) {
            Ok(peer) => peer,
            Err(missing) => return skip(test, &missing),
        };
        let bus = Tcpq::open(&Address::parse(&url).unwrap()).unwrap();
        for length in [0, 1, 200, 100_000, 2_000_000] {
            round_trip(&bus, length);
        }
    }

    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn skip(test: &str, missing: &str) {
        let nothing = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
        assert!(!nothing, "{test} was to run: {missing}");
        eprintln!("skipped: {test}: {missing}");
    }
}
