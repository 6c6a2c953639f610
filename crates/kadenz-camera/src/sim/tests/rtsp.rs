//! RTSP over TCP and UDP, with faults.

use std::net::UdpSocket;

use super::*;

/// A client of RTSP on one connection.
struct Client {
    stream: BufReader<TcpStream>,
    sequence: u32,
}

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let stream = BufReader::new(stream);
        Self {
            stream,
            sequence: 0,
        }
    }

    /// Status, and head and body of the answer.
    fn request(&mut self, method: &str, uri: &str, fields: &str) -> (u16, String) {
        self.sequence += 1;
        let request = format!(
            "{method} {uri} RTSP/1.0\r\nCSeq: {}\r\n{fields}\r\n",
            self.sequence
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        while !answer.ends_with("\r\n\r\n") {
            assert!(self.stream.read_line(&mut answer).unwrap() > 0, "{answer}");
        }
        let value = |name: &str| {
            let line = answer.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().to_owned())
        };
        assert_eq!(value("CSeq:"), Some(self.sequence.to_string()));
        let length = value("Content-Length:").map_or(0, |it| it.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer + &String::from_utf8(body).unwrap())
    }

    fn play(&mut self, transport: &str) -> String {
        let base = "rtsp://localhost/camera";
        let (status, description) = self.request("DESCRIBE", base, "");
        assert_eq!(status, 200);
        assert!(
            description.contains("a=rtpmap:96 H264/90000"),
            "{description}"
        );
        let track = format!("{base}/trackID=0");
        let (status, answer) =
            self.request("SETUP", &track, &format!("Transport: {transport}\r\n"));
        assert_eq!(status, 200, "{answer}");
        assert_eq!(self.request("PLAY", base, "").0, 200);
        answer
    }

    /// Channel and packet of the next interleaved one; `None` at the end.
    fn packet(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head).ok()?;
        assert_eq!(head[0], b'$');
        let mut packet = vec![0; usize::from(u16::from_be_bytes([head[2], head[3]]))];
        self.stream.read_exact(&mut packet).ok()?;
        Some((head[1], packet))
    }
}

/// Puts access units together as long as no packet is missing.
#[derive(Default)]
struct Assembly {
    unit: Vec<u8>,
    next: Option<u16>,
    is_broken: bool,
    broken: usize,
}

impl Assembly {
    /// The access unit that ends with the packet, where it is whole.
    fn take(&mut self, packet: &[u8]) -> Option<Vec<u8>> {
        let sequence = u16::from_be_bytes([packet[2], packet[3]]);
        let is_next = self.next.is_none_or(|next| next == sequence);
        self.next = Some(sequence.wrapping_add(1));
        self.is_broken |= !is_next;
        let payload = &packet[12..];
        let start = [0, 0, 0, 1];
        match payload[0] & 31 {
            24 => {
                let mut rest = &payload[1..];
                while let [high, low, after @ ..] = rest {
                    let length = usize::from(u16::from_be_bytes([*high, *low]));
                    self.unit.extend(start.iter().chain(&after[..length]));
                    rest = &after[length..];
                }
            }
            28 => {
                if payload[1] >> 7 == 1 {
                    self.unit.extend(start);
                    self.unit.push(payload[0] & 0xe0 | payload[1] & 31);
                }
                self.unit.extend(&payload[2..]);
            }
            _ => self.unit.extend(start.iter().chain(payload)),
        }
        let ends = packet[1] >> 7 == 1;
        let unit = ends.then(|| std::mem::take(&mut self.unit))?;
        let is_broken = std::mem::take(&mut self.is_broken);
        self.broken += usize::from(is_broken);
        (!is_broken).then_some(unit)
    }
}

const TCP: &str = "RTP/AVP/TCP;unicast;interleaved=4-5";

/// The pictures that a client over TCP gets until `is_enough`.
fn watch(client: &mut Client, mut is_enough: impl FnMut(Code, Size) -> bool) -> Vec<Vec<u8>> {
    let (mut assembly, mut eyes) = (Assembly::default(), Eyes::new(Coding::H264));
    let (mut reports, mut broken) = (Vec::new(), 0);
    while let Some((channel, packet)) = client.packet() {
        if channel == 5 {
            reports.push(packet);
            continue;
        }
        let Some(unit) = assembly.take(&packet) else {
            continue;
        };
        let missed = std::mem::replace(&mut broken, assembly.broken) != assembly.broken;
        let seen = eyes.check(Content::Encoded(Coding::H264, &unit), u64::from(missed));
        if seen.is_some_and(|(code, size)| is_enough(code, size)) {
            break;
        }
    }
    reports
}

#[test]
fn over_tcp_every_picture_comes_with_its_time_and_the_log_knows_it() {
    let camera = CameraSim::start(options(Protocol::Rtsp)).unwrap();
    let mut client = Client::connect(camera.address());
    client.play(TCP);
    let mut numbers = Vec::new();
    let reports = watch(&mut client, |code, _| {
        let sent = camera.sent(code.number, now()).unwrap();
        assert!(sent.first_byte <= now() && sent.intended <= sent.first_byte);
        // The painted time is the intended one except for a nanosecond of rounding.
        let painted = code.sent_ns(sent.first_byte.as_ns());
        assert!(
            painted.abs_diff(sent.intended.as_ns()) < 10,
            "{painted} {sent:?}"
        );
        numbers.push(code.number);
        numbers.len() == 50
    });
    for pair in numbers.windows(2) {
        assert_eq!(pair[1], (pair[0] + 1) % 20);
    }
    assert_eq!(reports[0][..4], [0x80, 200, 0, 6]);
    let (status, _) = client.request_while_playing("GET_PARAMETER");
    assert_eq!(status, 200);
}

impl Client {
    /// Sends a request in the middle of packets, and passes over these.
    fn request_while_playing(&mut self, method: &str) -> (u16, String) {
        self.sequence += 1;
        let request = format!(
            "{method} * RTSP/1.0\r\nCSeq: {}\r\nContent-Length: 2\r\n\r\n{{}}",
            self.sequence
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        while self.stream.fill_buf().unwrap()[0] == b'$' {
            self.packet();
        }
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        (line.split(' ').nth(1).unwrap().parse().unwrap(), line)
    }
}

#[test]
fn a_live_camera_paints_each_number_once() {
    let live = Options {
        loop_frames: None,
        ..options(Protocol::Rtsp)
    };
    let camera = CameraSim::start(live).unwrap();
    let mut client = Client::connect(camera.address());
    client.play(TCP);
    let (mut last, mut count) = (0, 0);
    watch(&mut client, |code, _| {
        assert!(code.number > last, "{} {last}", code.number);
        assert_eq!(code.sent_ns(u64::MAX), code.time_ns);
        let sent = camera.sent(code.number, now()).unwrap();
        assert_eq!(sent.intended.as_ns(), code.time_ns);
        last = code.number;
        count += 1;
        count == 30
    });
    assert_eq!(count, 30);
}

#[test]
fn over_udp_packets_are_lost_and_reordered_by_the_script() {
    let camera = |fault| {
        let (at, lasts) = (Duration::ZERO, Duration::MAX);
        let script = Script::new(vec![Event { at, lasts, fault }]);
        CameraSim::start(Options {
            script,
            ..options(Protocol::Rtsp)
        })
        .unwrap()
    };
    for (fault, is_broken) in [
        (Fault::Duplicate(0.0), false),
        (Fault::Loss(0.2), true),
        (Fault::Reorder(0.2), true),
    ] {
        let camera = camera(fault);
        let rtp = UdpSocket::bind("127.0.0.1:0").unwrap();
        rtp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let port = rtp.local_addr().unwrap().port();
        let mut client = Client::connect(camera.address());
        let answer = client.play(&format!(
            "RTP/AVP;unicast;client_port={port}-{}",
            port.wrapping_add(1)
        ));
        assert!(answer.contains("server_port="), "{answer}");
        let (mut assembly, mut eyes, mut seen) = (Assembly::default(), Eyes::new(Coding::H264), 0);
        let mut packet = [0; 2048];
        for _ in 0..60 {
            let length = rtp.recv(&mut packet).unwrap();
            if let Some(unit) = assembly.take(&packet[..length]) {
                let missed = u64::from(assembly.broken > 0);
                seen += u32::from(
                    eyes.check(Content::Encoded(Coding::H264, &unit), missed)
                        .is_some(),
                );
            }
        }
        assert!(seen > 0, "{fault:?}");
        assert_eq!(assembly.broken > 0, is_broken, "{fault:?}");
    }
}

#[test]
fn a_camera_changes_its_size_drops_its_connections_and_is_away_for_a_while() {
    let ms = Duration::from_millis;
    let small = Size::new(64, 132).unwrap();
    let event = |at, lasts, fault| Event {
        at: ms(at),
        lasts: ms(lasts),
        fault,
    };
    let script = Script::new(vec![
        event(0, 400, Fault::Resize(small)),
        event(1000, 0, Fault::Drop),
        event(1500, 300, Fault::Reboot),
    ]);
    let camera = CameraSim::start(Options {
        script,
        ..options(Protocol::Rtsp)
    })
    .unwrap();
    let mut sizes = Vec::new();
    let mut refused = 0;
    for _ in 0..2 {
        // The camera may be away, as one that reboots.
        while TcpStream::connect(camera.address()).is_err() {
            refused += 1;
            std::thread::sleep(ms(5));
        }
        let mut client = Client::connect(camera.address());
        client.play(TCP);
        watch(&mut client, |_, size| {
            if sizes.last() != Some(&size) {
                sizes.push(size);
            }
            false
        });
    }
    let large = Size::new(160, 144).unwrap();
    assert!(sizes.ends_with(&[large]), "{sizes:?}");
    while TcpStream::connect(camera.address()).is_err() {
        refused += 1;
        std::thread::sleep(ms(5));
    }
    assert!(refused > 0);
}

#[test]
fn a_stall_ends_in_a_burst_and_what_is_too_old_is_left_out() {
    let ms = Duration::from_millis;
    let event = |at, lasts, fault| Event {
        at: ms(at),
        lasts: ms(lasts),
        fault,
    };
    let script = Script::new(vec![
        event(300, 800, Fault::Stall),
        event(1500, 100, Fault::Jitter(ms(50))),
    ]);
    let camera = CameraSim::start(Options {
        script,
        ..options(Protocol::Rtsp)
    })
    .unwrap();
    let mut client = Client::connect(camera.address());
    client.play(TCP);
    let begun = now();
    watch(&mut client, |_, _| now().since(begun) > 1_900_000_000);
    let late = |sent: &Sent| sent.first_byte.since(sent.intended);
    let log = camera.log();
    // On any machine: late ones of the stall and none older than that.
    assert!(log.iter().any(|sent| late(sent) > 300_000_000));
    assert!(
        log.windows(2)
            .any(|pair| pair[1].index > pair[0].index + 10)
    );
    assert!(
        log.windows(2)
            .all(|pair| pair[1].first_byte >= pair[0].last_byte)
    );
}

#[test]
fn a_client_without_the_password_gets_no_picture() {
    let credentials = Some(("user".to_owned(), "secret".to_owned()));
    let camera = CameraSim::start(Options {
        credentials,
        ..options(Protocol::Rtsp)
    })
    .unwrap();
    let mut client = Client::connect(camera.address());
    assert_eq!(client.request("OPTIONS", "*", "").0, 200);
    let (status, answer) = client.request("DESCRIBE", "rtsp://h/camera", "");
    assert_eq!(status, 401);
    assert!(
        answer.contains("WWW-Authenticate: Digest realm=\"kadenz camera sim\", nonce=\"2026\"")
    );
    let with = |response: &str| {
        format!(
            "Authorization: Digest username=\"user\", realm=\"kadenz camera sim\", nonce=\"2026\", \
             uri=\"rtsp://h/camera\", response=\"{response}\"\r\n"
        )
    };
    // md5(md5(user:kadenz camera sim:secret):2026:md5(DESCRIBE:rtsp://h/camera)), by md5sum.
    let response = "ae64aa46d303a1485b41642cc9f2c8d9";
    assert_eq!(
        client
            .request("DESCRIBE", "rtsp://h/camera", &with(response))
            .0,
        200
    );
    assert_eq!(
        client.request("DESCRIBE", "rtsp://h/camera", &with("0")).0,
        401
    );
    assert_eq!(
        client
            .request("SETUP", "rtsp://h/camera", &with(response))
            .0,
        401
    );
}

#[test]
fn a_connection_gets_one_stream_however_often_it_asks() {
    let camera = CameraSim::start(options(Protocol::Rtsp)).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let transport = format!("RTP/AVP;unicast;client_port={port}-{port}");
    let mut client = Client::connect(camera.address());
    client.play(&transport);
    let field = format!("Transport: {transport}\r\n");
    assert_eq!(
        client
            .request("SETUP", "rtsp://h/camera/trackID=0", &field)
            .0,
        455
    );
    assert_eq!(client.request("PLAY", "rtsp://h/camera", "").0, 455);
}
