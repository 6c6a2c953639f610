//! Kadenz's clients with the simulator, checked by the code in the picture.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![cfg(feature = "h264")]

use std::time::Duration;

use kadenz_camera::barcode::{Gray, Reader, whole};
use kadenz_camera::client::{Camera, OpenOptions};
use kadenz_camera::decode;
use kadenz_camera::picture::Size;
use kadenz_camera::sim::{CameraSim, Event, Fault, Options, Protocol, Script};
use kadenz_camera::source::{
    Capture, Coding, MjpegSource, NetworkOptions, Next, RtspSource, Source,
};
use kadenz_rt::clock::{WallTime, now};

fn options() -> Options {
    Options {
        size: Size::new(320, 240).unwrap(),
        rate: "50Hz".parse().unwrap(),
        keys_every: 10,
        loop_frames: Some(50),
        ..Options::default()
    }
}

/// Opens the camera, and returns the numbers and sizes of the pictures for a while, and the count of those that were
/// missed or not decodable.
fn watch(camera: &CameraSim, url: &str, pictures: usize) -> (Vec<(u32, Size)>, u64) {
    let mut source = RtspSource::open(url, &NetworkOptions::default()).unwrap();
    let mut decoder = decode::open(Coding::H264).unwrap();
    let (mut reader, mut seen, mut lost) = (Reader::new(), Vec::new(), 0);
    let until = now() + Duration::from_secs(60);
    while seen.len() < pictures {
        let Next::Unit(unit) = source.next(until).unwrap() else {
            panic!("{} pictures", seen.len());
        };
        lost += unit.missed + u64::from(unit.is_damaged);
        if let Capture::Camera(wall) = unit.capture {
            let off_ns = WallTime::now().as_unix_ns() - wall.as_unix_ns();
            assert!(off_ns > -5_000_000_000, "{off_ns}");
        }
        let _ = decoder.decode(0, &unit, &mut |_, picture| {
            let code = whole(reader.read(&Gray::of(picture).unwrap())).unwrap();
            let sent = camera.sent(code.number, now()).unwrap();
            assert!(sent.first_byte <= unit.arrival);
            seen.push((code.number, picture.size()));
        });
    }
    (seen, lost)
}

#[test]
fn every_picture_of_a_camera_without_faults_is_seen_over_tcp_and_udp() {
    for query in ["", "?kadenz-transport=udp"] {
        let camera = CameraSim::start(options()).unwrap();
        let (seen, lost) = watch(&camera, &format!("{}{query}", camera.url()), 60);
        assert_eq!(lost, 0, "{query}");
        for pair in seen.windows(2) {
            assert_eq!(pair[1].0, (pair[0].0 + 1) % 50, "{query}");
        }
    }
}

#[test]
fn what_udp_loses_is_counted_and_what_it_reorders_is_put_in_order() {
    for (fault, is_lossy) in [
        (Fault::Loss(0.1), true),
        (Fault::Reorder(0.3), false),
        (Fault::Duplicate(0.5), false),
    ] {
        let (at, lasts) = (Duration::ZERO, Duration::MAX);
        let script = Script::new(vec![Event { at, lasts, fault }]);
        let camera = CameraSim::start(Options {
            script,
            ..options()
        })
        .unwrap();
        let (_, lost) = watch(
            &camera,
            &format!("{}?kadenz-transport=udp", camera.url()),
            100,
        );
        assert_eq!(lost > 0, is_lossy, "{fault:?}: {lost}");
    }
}

#[test]
fn what_is_predicted_from_a_lost_picture_is_not_served() {
    let (at, lasts, fault) = (Duration::ZERO, Duration::MAX, Fault::Loss(0.05));
    let script = Script::new(vec![Event { at, lasts, fault }]);
    let sim = CameraSim::start(Options {
        script,
        ..options()
    })
    .unwrap();
    let layout = "gray".parse().unwrap();
    let open = OpenOptions {
        layout,
        ..OpenOptions::default()
    };
    let mut camera = Camera::open_with(&sim.url(), &open).unwrap();
    let (mut reader, mut missed) = (Reader::new(), 0);
    for _ in 0..100 {
        let frame = camera.next(Duration::from_secs(60)).unwrap();
        let (size, bytes) = (frame.shape().size, frame.to_vec().unwrap());
        missed = frame.info().missed;
        let gray = Gray::new(&bytes, size, size.width as usize).unwrap();
        whole(reader.read(&gray)).unwrap();
    }
    assert!(missed > 0);
}

#[test]
fn a_password_opens_the_camera_and_a_change_of_size_goes_on() {
    let small = Size::new(160, 144).unwrap();
    let script = Script::new(vec![Event {
        at: Duration::from_millis(800),
        lasts: Duration::from_secs(1),
        fault: Fault::Resize(small),
    }]);
    let credentials = Some(("me".to_owned(), "secret".to_owned()));
    let camera = CameraSim::start(Options {
        script,
        credentials,
        ..options()
    })
    .unwrap();
    assert!(RtspSource::open(&camera.url(), &NetworkOptions::default()).is_err());
    let url = camera.url().replace("rtsp://", "rtsp://me:secret@");
    let (seen, lost) = watch(&camera, &url, 120);
    assert_eq!(lost, 0);
    let mut sizes: Vec<Size> = seen.iter().map(|it| it.1).collect();
    sizes.dedup();
    assert!(
        sizes.contains(&small) && sizes.last() == Some(&options().size),
        "{sizes:?}"
    );
}

#[test]
fn parts_by_http_are_seen_with_a_password_too() {
    for credentials in [None, Some(("me".to_owned(), "secret".to_owned()))] {
        let options = Options {
            protocol: Protocol::Http,
            credentials: credentials.clone(),
            ..options()
        };
        let camera = CameraSim::start(options).unwrap();
        let url = match credentials {
            Some(_) => camera.url().replace("http://", "http://me:secret@"),
            None => camera.url(),
        };
        let mut source = MjpegSource::open(&url, &NetworkOptions::default()).unwrap();
        let until = now() + Duration::from_secs(60);
        for _ in 0..10 {
            let Next::Unit(unit) = source.next(until).unwrap() else {
                panic!("a picture was due");
            };
            let mut decoder = decode::open(Coding::Jpeg).unwrap();
            let mut size = None;
            let decoded = decoder.decode(0, &unit, &mut |_, picture| size = Some(picture.size()));
            assert_eq!((decoded, size), (Ok(()), Some(self::options().size)));
        }
    }
}

#[test]
fn a_camera_that_stalls_drops_and_reboots_is_found_again() {
    let script = Script::random(5, Duration::from_secs(8), &[Size::new(160, 144).unwrap()]);
    let away = [(0, Fault::Drop), (1500, Fault::Reboot)].map(|(at, fault)| Event {
        at: Duration::from_millis(500 + at),
        lasts: Duration::from_millis(700),
        fault,
    });
    let script = Script::new(script.events().iter().copied().chain(away).collect());
    let camera = CameraSim::start(Options {
        script,
        ..options()
    })
    .unwrap();
    let (until, mut opened, mut seen) = (now() + Duration::from_secs(8), 0, 0);
    let mut reader = Reader::new();
    while now() < until {
        let Ok(mut source) = RtspSource::open(&camera.url(), &NetworkOptions::default()) else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        opened += 1;
        let mut decoder = decode::open(Coding::H264).unwrap();
        while let Ok(Next::Unit(unit)) = source.next(until) {
            // After a decoding error the next key picture decodes again; a decoded picture is never torn.
            let _ = decoder.decode(0, &unit, &mut |_, picture| {
                seen += 1;
                whole(reader.read(&Gray::of(picture).unwrap())).unwrap();
            });
        }
    }
    assert!(opened >= 2 && seen > 0, "{opened} times, {seen} pictures");
}
