#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kadenz_rt::clock;

use super::status::{self, State};
use super::*;
use crate::client::{Camera, FrameError, OpenCameraError, OpenOptions};
use crate::picture::{Picture, Pixels, Plane, Range, Size};
use crate::source::{Capture, Content, Next, Source, SourceError, Unit};

/// A wait that no test reaches.
const TIMEOUT: Duration = Duration::from_secs(60);

fn name(of: &str) -> String {
    format!("test-{of}-{}", std::process::id())
}

fn lost(is_transient: bool) -> SourceError {
    SourceError {
        cause: "the test takes it away".to_owned(),
        remedy: "go on".to_owned(),
        is_transient,
    }
}

/// Gives so many gray pictures of a size, each filled with its number, and then ends as a lost camera.
struct Gray {
    bytes: Vec<u8>,
    size: Size,
    left: u8,
}

impl Gray {
    fn boxed(size: (u32, u32), frames: u8) -> Box<dyn Source> {
        let size = Size::new(size.0, size.1).unwrap();
        Box::new(Self {
            bytes: vec![0; size.pixels()],
            size,
            left: frames,
        })
    }
}

impl Source for Gray {
    fn next(&mut self, _until: MonotonicTime) -> Result<Next<'_>, SourceError> {
        if self.left == 0 {
            return Err(lost(true));
        }
        self.left -= 1;
        std::thread::sleep(Duration::from_millis(5));
        self.bytes.fill(self.left);
        let y = Plane::new(
            &self.bytes,
            self.size.width as usize,
            self.size.height as usize,
            self.size.width as usize,
        );
        let pixels = Pixels::Gray {
            y: y.unwrap(),
            range: Range::Full,
        };
        let now = clock::now();
        Ok(Next::Unit(Unit {
            content: Content::Picture(Picture::new(self.size, pixels).unwrap()),
            is_key: true,
            capture: Capture::Local(now),
            first_byte: now,
            arrival: now,
            missed: 1,
            is_damaged: false,
        }))
    }

    fn description(&self) -> String {
        format!("gray {}", self.size)
    }
}

fn options(layout: &str) -> OpenOptions {
    OpenOptions {
        layout: layout.parse().unwrap(),
        timeout: TIMEOUT,
        ..OpenOptions::default()
    }
}

fn quick(name: &str) -> ServerOptions {
    ServerOptions {
        retry_first: Duration::from_millis(1),
        retry_longest: Duration::from_millis(5),
        ..ServerOptions::new(name, "test://nothing")
    }
}

#[test]
fn a_picture_that_is_decoded_after_the_loss_does_not_make_the_camera_run_again() {
    let options = ServerOptions {
        retry_first: TIMEOUT,
        ..quick(&name("late"))
    };
    let mut source = Some(Gray::boxed((8, 8), 2));
    let open = move || source.take().ok_or_else(|| lost(true));
    let server = CameraServer::start(Box::new(open), &options).unwrap();
    while server.status().counts.reconnects == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    server
        .common
        .update_status_from(&mut lock(&server.common.pipeline));
    assert_eq!(server.status().state, State::Connecting);
}

#[test]
fn a_camera_in_this_process_gives_its_newest_frame() {
    let mut camera = Camera::open("test://320x240@100").unwrap();
    let frame = camera.next(TIMEOUT).unwrap();
    assert_eq!(frame.to_vec().unwrap().len(), 320 * 240 * 3);
    let number = frame.info().number;
    assert!(camera.next(TIMEOUT).unwrap().info().number > number);
    assert!(camera.latest(TIMEOUT).is_ok());
    let error = camera.latest(Duration::ZERO).unwrap_err();
    assert!(matches!(error, FrameError::Stale { .. }), "{error}");
    assert_eq!(camera.status().unwrap().state, State::Running);
}

#[test]
fn a_server_ends_also_while_its_camera_is_being_opened() {
    let (answers, answer) = std::sync::mpsc::sync_channel::<()>(1);
    let open: OpenSource = Box::new(move || {
        let _ = answer.recv();
        Err(lost(true))
    });
    let name = name("opening");
    let server = CameraServer::start(open, &quick(&name)).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    drop(server);
    // The server did not wait for the camera.
    answers.send(()).unwrap();
    assert!(status::read(&name).is_none());
}

#[test]
fn the_status_of_a_camera_with_long_texts_can_be_read() {
    let open: OpenSource = Box::new(|| {
        Err(SourceError {
            cause: "\u{1b}\u{10ffff}".repeat(10_000),
            remedy: "turn it off".to_owned(),
            is_transient: false,
        })
    });
    let name = name("much");
    let server = CameraServer::start(open, &quick(&name)).unwrap();
    let end = clock::now() + TIMEOUT;
    while !server.has_ended() {
        assert!(clock::now() < end);
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = status::read(&name).unwrap();
    assert_eq!(status.state, State::Failed);
    assert!(status.trouble.unwrap().ends_with("; turn it off"));
}

#[test]
fn layouts_are_published_while_a_client_wants_them() {
    let name = name("wanted");
    let open: OpenSource = Box::new(|| Ok(Gray::boxed((8, 4), u8::MAX)));
    let server = CameraServer::start(open, &quick(&name)).unwrap();
    let gray = Camera::open_with(&name, &options("gray")).unwrap();
    let rgb = Camera::open_with(&name, &options("rgb-column-major@4x2")).unwrap();
    assert_eq!(rgb.ring().shape().bytes(), 24);
    drop(gray);
    let end = clock::now() + TIMEOUT;
    while server.status().layouts != ["rgb-column-major@4x2"] {
        assert!(clock::now() < end, "{:?}", server.status());
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(server);
    assert!(status::read(&name).is_none());
    let error = Camera::open_with(&name, &options("gray")).unwrap_err();
    assert!(matches!(error, OpenCameraError::NotServed(_)), "{error}");
}

#[test]
fn a_layout_outside_the_picture_is_refused_at_once() {
    let name = name("outside");
    let open: OpenSource = Box::new(|| Ok(Gray::boxed((8, 4), u8::MAX)));
    let _server = CameraServer::start(open, &quick(&name)).unwrap();
    let outside = OpenOptions {
        // Longer than any test runs.
        timeout: Duration::from_secs(36_000),
        ..options("gray[9x4+0+0]")
    };
    let error = Camera::open_with(&name, &outside).unwrap_err();
    assert!(matches!(error, OpenCameraError::Layout(_)), "{error}");
}

#[test]
fn a_source_without_any_picture_has_failed() {
    /// Ends at once.
    struct Empty;
    impl Source for Empty {
        fn next(&mut self, _: MonotonicTime) -> Result<Next<'_>, SourceError> {
            Ok(Next::Ended)
        }
        fn description(&self) -> String {
            "empty".to_owned()
        }
    }
    let open: OpenSource = Box::new(|| Ok(Box::new(Empty)));
    let error = Camera::serve(open, "empty.mjpeg", &options("gray")).unwrap_err();
    let text = error.to_string();
    let words = "empty.mjpeg ended before its first picture; check that";
    assert!(text.contains(words), "{text}");
}

#[test]
fn a_camera_that_comes_back_with_another_size_is_followed_on_the_same_handle() {
    let name = name("size");
    let opened = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&opened);
    let open: OpenSource = Box::new(move || match counter.fetch_add(1, Ordering::Relaxed) {
        0 => Ok(Gray::boxed((8, 4), 40)),
        1 | 2 => Err(lost(true)),
        _ => Ok(Gray::boxed((6, 2), u8::MAX)),
    });
    let server = CameraServer::start(open, &quick(&name)).unwrap();
    let mut camera = Camera::open_with(&name, &options("gray")).unwrap();
    let end = clock::now() + TIMEOUT;
    loop {
        assert!(clock::now() < end, "{:?}", server.status());
        let frame = camera.next(TIMEOUT).unwrap();
        if frame.shape().size.width == 6 {
            break;
        }
    }
    let status = server.status();
    assert!(status.counts.reconnects >= 3, "{status:?}");
    // Each unit says that one before it was missed.
    assert!(status.counts.missed > 40, "{status:?}");
    assert!(status.trouble.is_none(), "{status:?}");
}

#[test]
fn a_server_that_is_started_again_is_found_again() {
    let name = name("again");
    let start = || {
        let open: OpenSource = Box::new(|| Ok(Gray::boxed((8, 4), u8::MAX)));
        CameraServer::start(open, &quick(&name)).unwrap()
    };
    let first = start();
    let mut camera = Camera::open_with(&name, &options("gray")).unwrap();
    let mut patient = Camera::open_with(&name, &options("gray")).unwrap();
    let generation = camera.ring().generation();
    drop(first);
    let error = camera.next(Duration::from_millis(200)).map(|_| ());
    // Frames that were published before the server ended may still be there.
    if let Err(error) = error {
        assert!(error.to_string().contains("start it again"), "{error}");
    }
    let _second = start();
    while camera.ring().generation() == generation {
        let _ = camera.next(TIMEOUT).unwrap();
    }
    // A client with no limit on the age follows to the new ring, too.
    let end = clock::now() + TIMEOUT;
    while patient.ring().generation() == generation {
        assert!(clock::now() < end);
        let _ = patient.latest(Duration::MAX).unwrap();
    }
}

#[test]
fn a_name_is_served_once() {
    let name = name("once");
    let open = || -> OpenSource { Box::new(|| Ok(Gray::boxed((8, 4), u8::MAX))) };
    let _first = CameraServer::start(open(), &quick(&name)).unwrap();
    let second = CameraServer::start(open(), &quick(&name)).unwrap_err();
    assert!(
        matches!(second, ServerError::Shared(SharedError::InUse(_))),
        "{second}"
    );
    for wrong in ["", "a/b", "a.b", &"x".repeat(65)] {
        let error = CameraServer::start(open(), &quick(wrong)).unwrap_err();
        assert!(matches!(error, ServerError::Name(_)), "{error}");
    }
}

#[test]
fn what_cannot_be_opened_is_said_with_its_remedy() {
    let open: OpenSource = Box::new(|| Err(lost(false)));
    let error = Camera::serve(open, "test://nothing", &options("gray")).unwrap_err();
    let words = error.to_string();
    assert!(words.contains("the test takes it away; go on"), "{words}");
}

#[test]
fn cameras_are_listed_by_name() {
    let name = name("listed");
    let open: OpenSource = Box::new(|| Ok(Gray::boxed((8, 4), u8::MAX)));
    let _server = CameraServer::start(open, &quick(&name)).unwrap();
    let listed = status::list();
    assert!(
        listed.iter().any(|camera| camera.name == name),
        "{listed:?}"
    );
}
