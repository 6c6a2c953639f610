//! Several cameras: sets of frames that were taken at the same time; a camera as a channel of the bus, and one that
//! fails.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use kadenz::camera::ring::RingReader;
use kadenz::camera::server::status;
use kadenz::camera::sim::JpegEncoder;
use kadenz::msg::bus::Bus;
use kadenz::msg::service::messages::CameraFrame;

use super::common::{assert_described, folder, run, run_line, text};
use super::{Started, name};

#[test]
fn a_stereo_pair_is_recorded_with_its_skew_and_what_had_no_partner() {
    let name = name("right");
    let mut right = Started::new(&["camera", "serve", "test://320x240@30", "--name", &name]);
    right.said("running");
    let record = |tolerance: &str, out: &std::path::Path| {
        run_line(&format!(
            "camera record test://320x240@30 --sync-with {name} --tolerance {tolerance} \
             --duration 1s --json --out {}",
            text(out)
        ))
    };
    let place = folder();
    // Every frame has a partner within half an interval.
    let said = record("17ms", &place.path().join("near"));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    let series = json["series"].as_array().unwrap();
    let skew = series.iter().find(|it| it["name"] == "skew").unwrap();
    assert!(skew["count"].as_u64().unwrap() > 3, "{json}");
    let camera = &json["runs"][0]["camera"];
    assert_eq!(camera["sync_with"][0], "test://320x240@30");
    assert!(camera["unmatched"].is_u64(), "{camera}");
    // Two patterns that began at different times are never within a nanosecond.
    let said = record("1ns", &place.path().join("far"));
    let json = said.json();
    let camera = &json["runs"][0]["camera"];
    assert_eq!(camera["received"], 0, "{camera}");
    assert!(camera["unmatched"].as_u64().unwrap() > 3, "{camera}");
    assert!(said.out.contains("camera_unmatched"), "{}", said.out);
    assert!(!said.out.contains("camera_silent"), "{}", said.out);
    assert_eq!(right.end("INT").code, 0);
}

#[test]
fn a_served_camera_is_a_channel_of_the_bus_whose_frames_lie_in_shared_memory() {
    let name = name("channel");
    let mut relay = Started::new(&["msg", "server", "--listen", "127.0.0.1:0"]);
    let line = relay.said("tcpq://");
    let bus = line[line.find("tcpq://").unwrap()..]
        .split(';')
        .next()
        .unwrap();
    let channel = "FRONT_CAMERA";
    let mut server = Started::new(&[
        "camera",
        "serve",
        "test://320x240@30",
        "--name",
        &name,
        "--layout",
        "gray",
        "--publish",
        channel,
        "--bus",
        bus,
        "--json",
    ]);
    server.said("running");
    let shown = run(&[
        "msg", "echo", channel, "--url", bus, "--count", "2", "--json",
    ]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(shown.out.contains("gray"), "{}", shown.out);
    let aged = run(&[
        "msg",
        "delay",
        channel,
        "--url",
        bus,
        "--count",
        "30",
        "--json",
        "--out",
        text(&folder().path().join("run")),
    ]);
    assert_eq!(aged.code, 0, "{}", aged.err);

    assert_its_frames_are_shared(bus, channel);
    let said = server.end("INT");
    assert_eq!(said.code, 0, "{}", said.err);
    assert_described("camera", "serve", &said.json());
    let published = said.json()["notices"]["published"].as_u64().unwrap();
    assert!(published > 5, "{}", said.out);
    relay.end("INT");
}

/// Reads a frame of a served camera as a message of the channel describes it.
fn assert_its_frames_are_shared(bus: &str, channel: &str) {
    let bus = Bus::open(bus).unwrap();
    let mut frames = bus.subscribe::<CameraFrame>(channel).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let message = frames.recv(Duration::from_secs(60)).unwrap();
        let message = message.unwrap().message;
        let ring = RingReader::open(&message.ring).unwrap();
        let frame = ring.frame(message.count as u64);
        let pixels = frame.as_ref().and_then(|it| it.to_vec().ok());
        let (Some(frame), Some(pixels)) = (frame, pixels) else {
            // A busy machine may read a message only after the camera has overwritten its frame.
            assert!(Instant::now() < until, "every frame was overwritten");
            continue;
        };
        assert_eq!(frame.generation() as i64, message.generation);
        assert_eq!(frame.info().number as i64, message.number);
        assert_eq!(frame.slot() as i32, message.slot);
        assert_eq!(pixels.len(), 320 * 240);
        let (size, shape) = ((message.width, message.height), frame.shape().size);
        assert_eq!(size, (shape.width as i32, shape.height as i32));
        return;
    }
}

/// Sends pictures by HTTP until the server of that name has decoded one, and then answers as no camera does.
fn send_pictures_and_fail(listener: &TcpListener, name: &str) {
    let planes = [
        vec![128_u8; 64 * 48],
        vec![128; 32 * 24],
        vec![128; 32 * 24],
    ];
    let planes = [&planes[0][..], &planes[1], &planes[2]];
    let picture = JpegEncoder::new(80).encode(64, 48, planes);
    let accept = || {
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while lines.next().is_some_and(|it| !it.unwrap().is_empty()) {}
        stream
    };
    let mut stream = accept();
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=x\r\n\r\n";
    stream.write_all(head).unwrap();
    while status::read(name).is_none_or(|it| it.counts.frames == 0) {
        let part = [&b"--x\r\n\r\n"[..], &picture, b"\r\n"].concat();
        stream.write_all(&part).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(stream);
    accept().write_all(b"SSH-2.0-x\r\n\r\n").unwrap();
}

#[test]
fn what_a_camera_gave_before_it_failed_is_in_the_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let name = name("failed");
    let served = name.clone();
    let camera = std::thread::spawn(move || send_pictures_and_fail(&listener, &served));
    let serve = ["camera", "serve", &url, "--name", &name];
    let said = run(&[&serve[..], &["--duration", "60s", "--json"]].concat());
    assert_eq!(said.code, 2, "{}", said.err);
    let last = said.err.lines().next_back().unwrap();
    assert!(last.contains("does not speak HTTP"), "{}", said.err);
    let json = said.json();
    assert_described("camera", "serve", &json);
    assert_eq!(json["state"], "failed", "{json}");
    assert!(json["counts"]["frames"].as_u64().unwrap() > 0, "{json}");
    camera.join().unwrap();
}
