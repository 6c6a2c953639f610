#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;
use crate::source::Coding;
use crate::wire::rtp::Packet;

const IDR: &[u8] = &[0x65, 0x88, 1];
const P: &[u8] = &[0x41, 0b1001_1000, 2];
const SDP: &str = "v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track1\r\n\
    a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z00AHw==,aIg=\r\n";

/// A connection to a camera whose behaviour the test determines.
struct Camera {
    stream: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Camera {
    /// A camera for one connection after another, and its URL.
    fn start(
        script: impl FnOnce(&mut dyn FnMut() -> Camera) + Send + 'static,
    ) -> (String, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("rtsp://{}/cam", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            script(&mut || {
                let (stream, _) = listener.accept().unwrap();
                stream
                    .set_read_timeout(Some(Duration::from_secs(60)))
                    .unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap());
                Camera { stream, lines }
            });
        });
        (url, thread)
    }

    /// Waits for a request and gives it; empty at the end.
    fn request(&mut self) -> String {
        let mut text = String::new();
        while !text.ends_with("\r\n\r\n") && self.lines.read_line(&mut text).unwrap() > 0 {}
        text
    }

    fn answer(&mut self, request: &str, fields: &str, body: &str) {
        let number = request
            .lines()
            .find_map(|line| line.strip_prefix("CSeq: "))
            .unwrap();
        let length = body.len();
        self.write(format!("RTSP/1.0 200 OK\r\nCSeq: {number}\r\n{fields}Content-Length: {length}\r\n\r\n{body}").as_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Answers `DESCRIBE` and `SETUP`; gives the request for `SETUP`.
    fn set_up(&mut self, transport: &str) -> String {
        let request = self.request();
        assert!(request.starts_with("DESCRIBE"), "{request}");
        self.answer(&request, "", SDP);
        let set_up = self.request();
        self.answer(
            &set_up,
            &format!("Transport: {transport}\r\nSession: 1\r\n"),
            "",
        );
        set_up
    }

    fn play(&mut self) {
        let request = self.request();
        assert!(request.starts_with("PLAY"), "{request}");
        self.answer(&request, "", "");
    }

    fn frame(&mut self, channel: u8, sequence: u16, payload: &[u8]) {
        let packet = packet(sequence, payload);
        let mut bytes = vec![b'$', channel, 0, packet.len() as u8];
        bytes.extend_from_slice(&packet);
        self.write(&bytes);
    }
}

/// A picture in one packet.
fn packet(sequence: u16, payload: &[u8]) -> Vec<u8> {
    let timestamp = u32::from(sequence) * 3000;
    let mut bytes = Vec::new();
    Packet {
        marker: true,
        payload_type: 96,
        sequence,
        timestamp,
        ssrc: 5,
        payload,
    }
    .write(&mut bytes);
    bytes
}

fn options() -> NetworkOptions {
    NetworkOptions {
        timeout: Duration::from_secs(60),
        silence: Duration::from_secs(60),
        reordering: Duration::from_secs(60),
        ..NetworkOptions::default()
    }
}

fn unit(source: &mut RtspSource) -> (Vec<u8>, bool, u64) {
    match source.next(clock::now() + Duration::from_secs(60)).unwrap() {
        Next::Unit(Unit {
            content: Content::Encoded(Coding::H264, bytes),
            is_key,
            missed,
            ..
        }) => (bytes.to_vec(), is_key, missed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pictures_come_over_swapped_channels_before_the_answer_to_play() {
    let (url, camera) = Camera::start(|accept| {
        let mut camera = accept();
        camera.set_up("RTP/AVP/TCP;unicast;interleaved=7-6");
        let play = camera.request();
        // A stream that the client did not request; then the requested one, on the channel of its control.
        camera.write(&[b'$', 2, 0, 4, 0x80, 8, 0, 0]);
        camera.frame(6, 1, IDR);
        camera.answer(&play, "", "");
        camera.write(b"OPTIONS rtsp://x RTSP/1.0\r\nCSeq: 77\r\n\r\n");
        camera.frame(7, 2, P);
        camera.frame(7, 5, P);
        assert!(
            camera
                .request()
                .starts_with("RTSP/1.0 200 OK\r\nCSeq: 77\r\n")
        );
        // Goodbye of the stream.
        camera.write(&[b'$', 7, 0, 8, 0x81, 203, 0, 1, 0, 0, 0, 5]);
        assert!(camera.request().starts_with("TEARDOWN"));
    });
    let mut source = RtspSource::open(&url, &options()).unwrap();
    let sets = [0, 0, 0, 1, 0x67, 77, 0, 31, 0, 0, 0, 1, 0x68, 0x88];
    assert_eq!(
        unit(&mut source),
        ([&sets[..], &[0, 0, 0, 1], IDR].concat(), true, 0)
    );
    assert_eq!(unit(&mut source), ([&[0, 0, 0, 1], P].concat(), false, 0));
    assert_eq!(unit(&mut source), ([&[0, 0, 0, 1], P].concat(), false, 2));
    assert!(matches!(
        source.next(clock::now() + Duration::from_secs(60)),
        Ok(Next::Ended)
    ));
    drop(source);
    camera.join().unwrap();
}

#[test]
fn datagrams_are_put_in_order() {
    let (url, camera) = Camera::start(|accept| {
        let mut camera = accept();
        let rtp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = rtp.local_addr().unwrap().port();
        let request = camera.set_up(&format!("RTP/AVP;unicast;server_port={port}-{port}"));
        let ports = request.split("client_port=").nth(1).unwrap();
        let to: u16 = ports.split('-').next().unwrap().parse().unwrap();
        assert_eq!(to % 2, 0);
        camera.play();
        for (sequence, payload) in [(1, IDR), (3, P), (3, P), (2, P), (4, P)] {
            rtp.send_to(&packet(sequence, payload), ("127.0.0.1", to))
                .unwrap();
        }
        assert!(camera.request().starts_with("TEARDOWN"));
    });
    let mut source = RtspSource::open(&(url + "?kadenz-transport=udp"), &options()).unwrap();
    let keys: Vec<bool> = (0..4).map(|_| unit(&mut source).1).collect();
    assert_eq!(keys, [true, false, false, false]);
    let expected = ReorderCounts {
        received: 4,
        duplicated: 1,
        reordered: 1,
        ..ReorderCounts::default()
    };
    assert_eq!(source.packets(), expected);
    assert_eq!(source.description(), "H.264 by RTSP over UDP");
    drop(source);
    camera.join().unwrap();
}

#[test]
fn a_lost_datagram_is_given_up_after_its_time() {
    let (url, camera) = Camera::start(|accept| {
        let mut camera = accept();
        let rtp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = rtp.local_addr().unwrap().port();
        let request = camera.set_up(&format!("RTP/AVP;unicast;server_port={port}-{port}"));
        let ports = request.split("client_port=").nth(1).unwrap();
        let to: u16 = ports.split('-').next().unwrap().parse().unwrap();
        camera.play();
        // Too few wait behind the lost one to give it up by their number.
        for (sequence, payload) in [(1, IDR), (3, P)] {
            let bytes = packet(sequence, payload);
            rtp.send_to(&bytes, ("127.0.0.1", to)).unwrap();
        }
        assert!(camera.request().starts_with("TEARDOWN"));
    });
    let options = NetworkOptions {
        reordering: Duration::from_millis(50),
        ..options()
    };
    let mut source = RtspSource::open(&(url + "?kadenz-transport=udp"), &options).unwrap();
    assert_eq!(unit(&mut source).2, 0);
    assert!(!unit(&mut source).1);
    assert_eq!(source.packets().received, 2);
    drop(source);
    camera.join().unwrap();
}

#[test]
fn a_camera_that_falls_silent_is_distinguished_from_one_that_only_waits() {
    let (url, camera) = Camera::start(|accept| {
        let mut camera = accept();
        camera.set_up("RTP/AVP/TCP;interleaved=0-1");
        camera.play();
        camera.frame(0, 1, IDR);
        assert!(camera.request().starts_with("TEARDOWN"));
    });
    let silence = Duration::from_secs(3);
    let mut source = RtspSource::open(
        &url,
        &NetworkOptions {
            silence,
            ..options()
        },
    )
    .unwrap();
    unit(&mut source);
    assert!(matches!(source.next(clock::now()), Ok(Next::Nothing)));
    let error = source
        .next(clock::now() + Duration::from_secs(60))
        .unwrap_err();
    assert!(
        error.is_transient && error.cause.contains("nothing came"),
        "{error}"
    );
    drop(source);
    camera.join().unwrap();
}

#[test]
fn packets_that_never_end_a_picture_keep_no_caller_waiting() {
    let (url, camera) = Camera::start(|accept| {
        let mut camera = accept();
        camera.set_up("RTP/AVP/TCP;interleaved=0-1");
        camera.play();
        // Parameter sets without end, until the client leaves.
        let packets: Vec<u8> = (0..100)
            .flat_map(|number| {
                let packet = packet(number, &[0x67, 77, 0, 31]);
                [&[b'$', 0, 0, packet.len() as u8][..], &packet].concat()
            })
            .collect();
        while camera.stream.write_all(&packets).is_ok() {}
    });
    let mut source = RtspSource::open(&url, &options()).unwrap();
    for _ in 0..3 {
        let next = source.next(clock::now() + Duration::from_millis(50));
        assert!(matches!(next, Ok(Next::Nothing)), "{next:?}");
    }
    drop(source);
    camera.join().unwrap();
}

#[test]
fn a_forged_goodbye_by_udp_ends_nothing_and_silence_after_it_does() {
    let (url, camera) = Camera::start(|accept| {
        let mut camera = accept();
        let rtp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = rtp.local_addr().unwrap().port();
        let request = camera.set_up(&format!("RTP/AVP;unicast;server_port={port}-{port}"));
        let ports = request.split("client_port=").nth(1).unwrap();
        let to: u16 = ports.split('-').next().unwrap().parse().unwrap();
        camera.play();
        let goodbye = [0x81, 203, 0, 1, 0, 0, 0, 5];
        for sequence in 1..=2 {
            rtp.send_to(&packet(sequence, IDR), ("127.0.0.1", to))
                .unwrap();
            rtp.send_to(&goodbye, ("127.0.0.1", to + 1)).unwrap();
            std::thread::sleep(Duration::from_millis(200));
        }
        assert!(camera.request().starts_with("TEARDOWN"));
    });
    let options = NetworkOptions {
        silence: Duration::from_secs(3),
        ..options()
    };
    let mut source = RtspSource::open(&(url + "?kadenz-transport=udp"), &options).unwrap();
    unit(&mut source);
    unit(&mut source);
    let next = source.next(clock::now() + Duration::from_secs(60));
    assert!(matches!(next, Ok(Next::Ended)), "{next:?}");
    drop(source);
    camera.join().unwrap();
}

#[test]
fn answers_that_lie_or_have_no_end_are_errors_and_questions_end() {
    type Answer = fn(&str) -> Vec<u8>;
    let endless: Answer = |_| b"RTSP/1.0 200 OK\r\nX: y\r\n".repeat(1000);
    let lying: Answer = |_| b"RTSP/1.0 200 OK\r\nContent-Length: 99999999\r\n\r\n".to_vec();
    // A frame whose length includes what follows it.
    let claiming: Answer =
        |number| format!("$\0\u{7f}\u{7f}RTSP/1.0 200 OK\r\nCSeq: {number}\r\n\r\n").into_bytes();
    let again: Answer = |number| {
        format!("RTSP/1.0 401 No\r\nCSeq: {number}\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", stale=true\r\n\r\n").into_bytes()
    };
    let around: Answer = |number| {
        format!("RTSP/1.0 302 Moved\r\nCSeq: {number}\r\nLocation: /cam\r\n\r\n").into_bytes()
    };
    for (answer, cause) in [
        (endless, "a head of more than"),
        (lying, "a body of more than"),
        (claiming, "does not answer DESCRIBE"),
        (again, "refuses the user or the password"),
        (around, "more than 5 redirections"),
    ] {
        let (url, camera) = Camera::start(move |accept| {
            let questions = if cause.contains("redirections") { 6 } else { 1 };
            for _ in 0..questions {
                let mut camera = accept();
                loop {
                    let request = camera.request();
                    let number = request.lines().find_map(|line| line.strip_prefix("CSeq: "));
                    let Some(number) = number else { break };
                    // A client that has left reads no more.
                    if camera.stream.write_all(&answer(number)).is_err() {
                        break;
                    }
                }
            }
        });
        let options = NetworkOptions {
            timeout: Duration::from_secs(2),
            ..options()
        };
        let url = url.replace("rtsp://", "rtsp://user:password@");
        let error = RtspSource::open(&url, &options).unwrap_err();
        assert!(error.cause.contains(cause), "{cause}: {error}");
        camera.join().unwrap();
    }
}

#[test]
fn a_redirection_is_followed_and_a_closed_connection_is_transient() {
    let (url, camera) = Camera::start(|accept| {
        let mut first = accept();
        let request = first.request();
        let number = request
            .lines()
            .find_map(|line| line.strip_prefix("CSeq: "))
            .unwrap();
        first.write(
            format!("RTSP/1.0 302 Moved\r\nCSeq: {number}\r\nLocation: /other\r\n\r\n").as_bytes(),
        );
        let mut second = accept();
        let request = second.request();
        assert!(request.contains("/other RTSP/1.0"), "{request}");
    });
    let error = RtspSource::open(&url, &options()).unwrap_err();
    assert!(
        error.is_transient && error.cause.contains("closed the connection"),
        "{error}"
    );
    camera.join().unwrap();
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    let open = |url: &str| RtspSource::open(url, &options()).unwrap_err();
    let error = open("rtsps://u:secret@127.0.0.1/");
    assert!(
        !error.is_transient && error.remedy.contains("without TLS"),
        "{error}"
    );
    let error = open("rtsp://u:secret@127.0.0.1/?kadenz-transport=carrier");
    assert!(
        !error.is_transient && error.remedy.contains("tcp"),
        "{error}"
    );
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = open(&format!("rtsp://u:secret@{free}/"));
    assert!(
        error.is_transient && !format!("{error} {error:?}").contains("secret"),
        "{error}"
    );
}
