//! Sources with cameras of another project: Debian's gst-rtsp-server.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kadenz_camera::source::{Capture, Content, NetworkOptions, Next, RtspSource, Source as _};
use kadenz_rt::clock;

/// The longest wait for a picture: starting an encoder takes a while on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A server of cameras, which ends with the test.
struct Cameras {
    server: Child,
    port: u16,
    /// The port of the same camera with a password.
    secret_port: u16,
}

impl Cameras {
    fn start(test: &str) -> Option<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gst_server.py");
        let server = Command::new("/usr/bin/python3")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut server = match server {
            Ok(server) => server,
            Err(error) => {
                skip(test, &format!("/usr/bin/python3: {error}"));
                return None;
            }
        };
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        if let Some((port, secret_port)) = line.trim().split_once(' ') {
            let (port, secret_port) = (port.parse().unwrap(), secret_port.parse().unwrap());
            return Some(Self {
                server,
                port,
                secret_port,
            });
        }
        let mut said = String::new();
        server
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        server.wait().unwrap();
        let last = said.lines().last().unwrap_or_default();
        assert!(last.starts_with("missing: "), "the server fails: {said}");
        let how = "install python3-gi gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-{base,good,bad,ugly}";
        skip(test, &format!("gst-rtsp-server: {last}; {how}"));
        None
    }

    fn url(&self, path: &str) -> String {
        format!("rtsp://127.0.0.1:{}/{path}", self.port)
    }

    fn open(&self, path: &str) -> RtspSource {
        let options = NetworkOptions {
            timeout: TIMEOUT,
            silence: TIMEOUT,
            ..NetworkOptions::default()
        };
        RtspSource::open(&self.url(path), &options).unwrap()
    }
}

impl Drop for Cameras {
    fn drop(&mut self) {
        // The server also ends with its input, for example when the test is killed.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Prints that a test cannot run here, and why; where nothing may be skipped this fails.
fn skip(test: &str, missing: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
        "{test} must not be skipped: {missing}"
    );
    eprintln!("skipped: {test}: {missing}");
}

/// Takes pictures, and checks each against the stream; returns how many began a sequence.
fn watch(source: &mut RtspSource, count: usize, is_key: fn(&[u8]) -> bool) -> usize {
    let mut keys = 0;
    for number in 0..count {
        let unit = match source.next(clock::now() + TIMEOUT).unwrap() {
            Next::Unit(unit) => unit,
            other => panic!("{other:?}"),
        };
        let bytes = match unit.content {
            Content::Encoded(_, bytes) => bytes,
            Content::Picture(_) => panic!("decoded"),
        };
        assert_eq!(
            unit.is_key,
            is_key(bytes),
            "{number}: {:?}",
            starts(bytes).collect::<Vec<_>>()
        );
        assert!(!unit.is_damaged && unit.missed == 0, "{number}: {unit:?}");
        assert!(unit.arrival >= unit.first_byte);
        assert!(number > 0 || unit.is_key, "the first one is a key");
        keys += usize::from(unit.is_key);
    }
    keys
}

/// Parameter sets and an IDR slice behind them. The payloader may repeat them before each slice.
fn is_h264_key(bytes: &[u8]) -> bool {
    let types: Vec<u8> = starts(bytes)
        .map(|first| first & 0x1f)
        .filter(|it| [5, 7, 8].contains(it))
        .collect();
    types.starts_with(&[7, 8]) && types.contains(&5)
}

fn is_h265_key(bytes: &[u8]) -> bool {
    let types = starts(bytes)
        .map(|first| first >> 1 & 0x3f)
        .filter(|it| (16..=34).contains(it));
    let types: Vec<u8> = types.collect();
    types.starts_with(&[32, 33, 34]) && types.iter().any(|it| (16..=23).contains(it))
}

/// Whether a decoder takes the picture, with the test source's size.
fn is_jpeg(bytes: &[u8]) -> bool {
    let mut decoder = zune_jpeg::JpegDecoder::new(std::io::Cursor::new(bytes));
    decoder.decode().unwrap().len() == 320 * 240 * 3
}

fn starts(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes
        .windows(4)
        .filter(|it| it[..3] == [0, 0, 1])
        .map(|it| it[3])
}

#[test]
fn gst_rtsp_server_is_watched_over_tcp_and_udp() {
    let Some(cameras) = Cameras::start("gst_rtsp_server_is_watched_over_tcp_and_udp") else {
        return;
    };
    for transport in ["tcp", "udp"] {
        for (path, is_key) in [
            ("h264", is_h264_key as fn(&[u8]) -> bool),
            ("slices", is_h264_key),
            ("h265", is_h265_key),
            ("jpeg", is_jpeg),
        ] {
            let mut source = cameras.open(&format!("{path}?kadenz-transport={transport}"));
            let keys = watch(&mut source, 45, is_key);
            let expected = if path == "jpeg" { 45..=45 } else { 4..=6 };
            assert!(expected.contains(&keys), "{path} over {transport}: {keys}");
            let description = source.description();
            assert!(
                description.ends_with(&format!("by RTSP over {}", transport.to_uppercase())),
                "{description}"
            );
            assert_eq!(source.packets().lost, 0);
        }
    }
}

#[test]
fn the_time_of_day_of_gst_rtsp_server_comes_with_its_pictures() {
    let Some(cameras) =
        Cameras::start("the_time_of_day_of_gst_rtsp_server_comes_with_its_pictures")
    else {
        return;
    };
    for transport in ["tcp", "udp"] {
        let mut source = cameras.open(&format!("h264?kadenz-transport={transport}"));
        let has_time = (0..600).any(|_| match source.next(clock::now() + TIMEOUT).unwrap() {
            Next::Unit(unit) => matches!(unit.capture, Capture::Camera(at) if is_now(at)),
            other => panic!("{other:?}"),
        });
        assert!(has_time, "{transport}");
    }
}

/// Within a day, since the test is about the arithmetic of two calendars, not about a clock.
fn is_now(at: clock::WallTime) -> bool {
    (at.as_unix_ns() - clock::WallTime::now().as_unix_ns()).abs() < 86_400_000_000_000
}

#[test]
fn gst_rtsp_server_wants_the_password_by_digest() {
    let Some(cameras) = Cameras::start("gst_rtsp_server_wants_the_password_by_digest") else {
        return;
    };
    let open = |credentials: &str| {
        let url = format!("rtsp://{credentials}127.0.0.1:{}/h264", cameras.secret_port);
        RtspSource::open(
            &url,
            &NetworkOptions {
                timeout: TIMEOUT,
                ..NetworkOptions::default()
            },
        )
    };
    watch(&mut open("user:p%40ss@").unwrap(), 3, is_h264_key);
    for credentials in ["user:wrong@", ""] {
        let error = open(credentials).unwrap_err();
        assert!(
            !error.is_transient && !error.to_string().contains("wrong@"),
            "{error}"
        );
    }
}
