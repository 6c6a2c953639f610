//! Several cameras: sets of frames that were taken at the same time, and a camera as a channel of the bus.

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

    let bus = kadenz::msg::bus::Bus::open(bus).unwrap();
    let mut frames = bus.subscribe::<CameraFrame>(channel).unwrap();
    let message = frames.recv(std::time::Duration::from_secs(60)).unwrap();
    let message = message.unwrap().message;
    let ring = kadenz::camera::ring::RingReader::open(&message.ring).unwrap();
    let frame = ring.frame(message.count as u64).unwrap();
    assert_eq!(frame.generation() as i64, message.generation);
    assert_eq!(frame.info().number as i64, message.number);
    assert_eq!(frame.slot() as i32, message.slot);
    assert_eq!(frame.to_vec().unwrap().len(), 320 * 240);
    let (size, shape) = ((message.width, message.height), frame.shape().size);
    assert_eq!(size, (shape.width as i32, shape.height as i32));
    let said = server.end("INT");
    assert_eq!(said.code, 0, "{}", said.err);
    assert_described("camera", "serve", &said.json());
    let published = said.json()["notices"]["published"].as_u64().unwrap();
    assert!(published > 5, "{}", said.out);
    relay.end("INT");
}
