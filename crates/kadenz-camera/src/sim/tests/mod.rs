#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

//! Tests of the servers with a plain client, which speaks as much of the protocols as it must.

#[cfg(feature = "h264")]
mod rtsp;

use std::io::{BufRead, BufReader, Read, Write};

use super::*;
use crate::barcode::{Code, Gray, Reader, whole};
use crate::decode;
use crate::source::{Capture, Coding, Content, Unit};

fn options(protocol: Protocol) -> Options {
    Options {
        protocol,
        size: Size::new(160, 144).unwrap(),
        rate: "100Hz".parse().unwrap(),
        keys_every: 5,
        loop_frames: Some(20),
        ..Options::default()
    }
}

/// Decodes whole units and reads their codes.
struct Eyes(Box<dyn decode::Decoder>);

impl Eyes {
    fn new(coding: Coding) -> Self {
        Self(decode::open(coding).unwrap())
    }

    fn check(&mut self, content: Content<'_>, missed: u64) -> Option<(Code, Size)> {
        let is_key = match content {
            Content::Encoded(Coding::H264, bytes) => decode::Sps::in_stream(bytes).is_some(),
            _ => true,
        };
        let (capture, is_damaged) = (Capture::Unknown, false);
        let (first_byte, arrival) = (now(), now());
        let unit = Unit {
            content,
            is_key,
            capture,
            first_byte,
            arrival,
            missed,
            is_damaged,
        };
        let mut seen = None;
        let decoded = self.0.decode(0, &unit, &mut |_, picture| {
            let size = picture.size();
            let (width, height) = (size.width as usize, size.height as usize);
            let luma: Vec<u8> = match picture.pixels() {
                crate::picture::Pixels::Yuv { y, .. } => (0..height)
                    .flat_map(|row| y.row(row)[..width].to_vec())
                    .collect(),
                crate::picture::Pixels::Rgb(rgb) => (0..height)
                    .flat_map(|row| rgb.row(row)[..width * 3].chunks(3).map(|it| it[1]))
                    .collect(),
                _ => unreachable!("no decoder of these gives it"),
            };
            let gray = Gray::new(&luma, size, width).unwrap();
            seen = Some((whole(Reader::new().read(&gray)).unwrap(), size));
        });
        decoded.ok().and(seen)
    }
}

#[test]
fn by_http_every_part_is_a_jpeg_with_its_code() {
    let camera = CameraSim::start(options(Protocol::Http)).unwrap();
    let stream = TcpStream::connect(camera.address()).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    (&stream)
        .write_all(b"GET /camera.mjpg HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut stream = BufReader::new(stream);
    let mut eyes = Eyes::new(Coding::Jpeg);
    let mut numbers = Vec::new();
    while numbers.len() < 10 {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if let Some(length) = line.strip_prefix("Content-Length: ") {
            let mut jpeg = vec![0; length.trim().parse::<usize>().unwrap() + 2];
            stream.read_exact(&mut jpeg).unwrap();
            assert_eq!(jpeg[..2], [13, 10]);
            let (code, _) = eyes
                .check(Content::Encoded(Coding::Jpeg, &jpeg[2..]), 0)
                .unwrap();
            numbers.push(code.number);
        }
    }
    assert!(
        numbers.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 20),
        "{numbers:?}"
    );
}

#[test]
fn bad_requests_and_excess_clients_are_refused() {
    let camera = CameraSim::start(Options {
        max_clients: 1,
        ..options(Protocol::Http)
    })
    .unwrap();
    let ask = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(camera.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        // The camera may have closed the connection already.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = (&mut stream).take(12).read_to_end(&mut answer);
        (stream, String::from_utf8(answer).unwrap())
    };
    assert_eq!(ask(&vec![b'x'; 1 << 20]).1, "");
    assert_eq!(ask(b"POST / HTTP/1.1\r\n\r\n").1, "HTTP/1.1 405");
    let get = b"GET / HTTP/1.1\r\n\r\n";
    let (first, answer) = ask(get);
    assert_eq!(answer, "HTTP/1.1 200");
    assert_eq!(
        ask(get).1,
        "",
        "all places are taken by clients that get pictures"
    );
    drop(first);
}

#[test]
fn a_silent_client_keeps_no_other_out() {
    let camera = CameraSim::start(Options {
        max_clients: 2,
        ..options(Protocol::Http)
    })
    .unwrap();
    let silent: Vec<_> = (0..20)
        .map(|_| TcpStream::connect(camera.address()).unwrap())
        .collect();
    let mut stream = TcpStream::connect(camera.address()).unwrap();
    let timeout = Some(Duration::from_secs(20));
    stream.set_read_timeout(timeout).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    drop(silent);
}
