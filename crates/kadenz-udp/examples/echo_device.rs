//! A device on a computer: answers probes on a port until it is stopped.
//!
//! `cargo run -p kadenz-udp --example echo_device -- 127.0.0.1:6176 "left knee"`
//!
//! Firmware does the same with its own socket and its own clock. For an accurate measurement a device takes its
//! times in the network driver and not, as here, after the operating system's queues.
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use std::error::Error;
use std::net::UdpSocket;
use std::num::NonZeroU32;
use std::time::Instant;

use kadenz_udp::device::{Answer, Echo, PerSecond, Policy};
use kadenz_udp::wire::{MAX_PAYLOAD_BYTES, Name};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or("127.0.0.1:6176".to_owned());
    let name = arguments.next().unwrap_or("example".to_owned());
    let mut echo = Echo::new(Policy {
        token: None,
        rate: NonZeroU32::new(10_000).map(PerSecond::new),
        name: Name::new(&name).ok_or("the name must be printable ASCII, 48 characters or less")?,
    });
    let socket = UdpSocket::bind(&address)?;
    println!("answering on {}", socket.local_addr()?);

    let start = Instant::now();
    let now_ns = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let mut datagram = vec![0; MAX_PAYLOAD_BYTES];
    loop {
        let (length, from) = socket.recv_from(&mut datagram)?;
        let Answer::Reply(length) = echo.on_datagram(now_ns(), &mut datagram[..length]) else {
            continue;
        };
        let answer = &mut datagram[..length];
        echo.stamp_departure(now_ns(), answer);
        if let Err(lost) = socket.send_to(answer, from) {
            println!("an answer to {from} was not sent: {lost}");
        }
    }
}
