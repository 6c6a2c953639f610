//! A flood on the loopback: datagrams that are echoed, as fast as they come back.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use super::options::{LoadOptions, StartLoadError};
use super::rates::{Counter, Tally};
use super::workers::{Site, Workers};
use super::{LoadGenerator, LoadKind};
use crate::stop::Stop;

/// Datagrams sent before the first echo is awaited. More would not fit into a socket's buffer and be lost at once: its
/// default size holds about 277 of them.
const OUTSTANDING: u64 = 200;
/// `-s 10`: ten bytes a datagram.
const PAYLOAD: usize = 10;
/// `ping -f` sends at least a hundred a second, whatever comes back.
const TIMEOUT: Duration = Duration::from_millis(10);
/// How soon an echo thread without datagrams notices the end.
const LISTEN: Duration = Duration::from_millis(50);

/// Pairs of threads: one floods, one echoes.
pub(super) fn start(options: &LoadOptions, site: &Site) -> Result<LoadGenerator, StartLoadError> {
    let pairs = options.threads.unwrap_or(1);
    let (sent, echoed) = (Tally::new(pairs), Tally::new(pairs));
    let mut workers = Workers::new(LoadKind::Network, site);
    for pair in 0..pairs {
        let (flooder, echoer) = sockets().map_err(|error| StartLoadError::Sockets {
            kind: LoadKind::Network,
            error,
            remedy: "see that the loopback interface is up (`ip link set lo up`)",
        })?;
        let (out, back) = (sent.clone(), echoed.clone());
        workers.repeat(&format!("flood-{pair}"), move |stop| {
            let flooded = flood(&flooder, stop, pair, &out, &back);
            flooded.map_err(|error| format!("the flood stopped: {error}"))
        })?;
        workers.repeat(&format!("echo-{pair}"), move |stop| {
            echo(&echoer, stop).map_err(|error| format!("the echo stopped: {error}"))
        })?;
    }
    let by = match pairs {
        1 => "one pair of threads".to_owned(),
        pairs => format!("each of {pairs} pairs of threads"),
    };
    Ok(LoadGenerator {
        asked: format!(
            "a flood of {PAYLOAD}-byte datagrams on 127.0.0.1 and their echo, {OUTSTANDING} on their way between {by}"
        ),
        counters: vec![
            Counter::new("sent", "datagrams/s", &sent),
            Counter::new("echoed", "datagrams/s", &echoed),
        ],
        workers,
    })
}

/// Two sockets that are connected to each other only.
fn sockets() -> io::Result<(UdpSocket, UdpSocket)> {
    let flooder = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let echoer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    flooder.connect(echoer.local_addr()?)?;
    echoer.connect(flooder.local_addr()?)?;
    flooder.set_read_timeout(Some(TIMEOUT))?;
    echoer.set_read_timeout(Some(LISTEN))?;
    Ok((flooder, echoer))
}

/// Keeps datagrams on their way until a stop is requested; an echo that does not come back in time is lost.
fn flood(
    socket: &UdpSocket,
    stop: &Stop,
    pair: usize,
    sent: &Tally,
    echoed: &Tally,
) -> io::Result<()> {
    let mut datagram = [0x5a; PAYLOAD];
    let mut outstanding = 0;
    while !stop.requested() {
        while outstanding < OUTSTANDING && !stop.requested() {
            socket.send(&datagram)?;
            sent.add(pair, 1);
            outstanding += 1;
        }
        match socket.recv(&mut datagram) {
            Ok(_) => {
                echoed.add(pair, 1);
                outstanding -= 1;
            }
            Err(error) if is_timeout(&error) => outstanding = 0,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Answers each datagram with itself.
fn echo(socket: &UdpSocket, stop: &Stop) -> io::Result<()> {
    let mut datagram = [0; PAYLOAD];
    while !stop.requested() {
        match socket.recv(&mut datagram) {
            Ok(length) => {
                socket.send(&datagram[..length])?;
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_timeout(error: &io::Error) -> bool {
    // The first two are a timeout, the systems disagree on which; the last is a signal.
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
