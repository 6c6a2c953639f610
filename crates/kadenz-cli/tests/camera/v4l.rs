//! Cameras of Video4Linux2, with a fake device in C, compiled against the kernel's header.

use super::common::{Said, folder, kadenz};

/// Compiles the library that stands in for a camera at /dev/video77.
fn v4l_device(folder: &std::path::Path) -> std::path::PathBuf {
    let library = folder.join("v4l_device.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/camera/v4l_device.c");
    let made = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([library.as_path(), source.as_ref()])
        .arg("-ldl")
        .status()
        .unwrap();
    assert!(made.success(), "cc and the kernel's headers are there");
    library
}

#[test]
fn a_camera_of_video4linux_gives_frames_numbers_and_stamps() {
    let folder = folder();
    let library = v4l_device(folder.path());
    let record = |url: &str, run: &str| {
        let run = folder.path().join(run);
        let arguments = [
            "camera",
            "record",
            url,
            "--duration",
            "1500ms",
            "--json",
            "--out",
        ];
        let mut command = kadenz(&arguments);
        command.arg(&run).env("LD_PRELOAD", &library);
        command
    };
    // Of two formats the program takes the one that is nearer to 30 Hz; every tenth frame number is missing.
    let said = Said::of(record("/dev/video77", "run").output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    let report = said.json();
    let camera = &report["runs"][0]["camera"];
    assert!(
        camera["description"]
            .as_str()
            .unwrap()
            .contains("NV12 320x240 at 50.0 Hz of Painted camera"),
        "{camera}"
    );
    assert!(camera["missed"].as_u64().unwrap() >= 2, "{camera}");
    let series = report["series"].as_array().unwrap();
    let named = |name: &str| series.iter().find(|it| it["name"] == name).unwrap();
    assert!(named("age")["count"].as_u64().unwrap() >= 20, "{report}");
    // The driver stamps a frame before the program receives it.
    assert!(
        named("network")["count"].as_u64().unwrap() >= 20,
        "{report}"
    );

    // A camera that is unplugged and plugged in again.
    let mut command = record("/dev/video77?format=NV12&size=480p", "pulled");
    let said = Said::of(command.env("V4L_DEVICE_PULLED", "20").output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    let report = said.json();
    let camera = &report["runs"][0]["camera"];
    assert!(camera["reconnects"].as_u64().unwrap() >= 1, "{camera}");

    for (url, word) in [
        ("/dev/video77?size=99x99", "gives no frames of 99x99"),
        ("/dev/video77?format=MJPG", "its formats are YUYV, NV12"),
        (
            "/dev/video77?speed=2",
            "write it as /dev/video0?size=1280x720",
        ),
    ] {
        let said = Said::of(record(url, "none").output().unwrap());
        assert_eq!(said.code, 2, "{url}: {}", said.err);
        assert!(said.err.contains(word), "{url}: {}", said.err);
    }
}
