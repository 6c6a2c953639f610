//! The log of `kadenz camera record --mcap`, as Foxglove reads it.

use kadenz::camera::barcode;
use kadenz::camera::layout::Converter;
use kadenz::camera::source::{Capture, Coding, Content, Unit};

use super::common::{folder, run, text};
use super::{Started, sim};

/// The pictures of a log of the simulator's camera: channel, format, and the number that is painted into each picture.
fn pictures(log: &std::path::Path) -> Vec<(String, String, u32)> {
    let mut reader = kadenz::msg::log::open(log).unwrap();
    let mut entry = kadenz::msg::log::Entry::default();
    let mut decoder = None;
    let mut codes = barcode::Reader::new();
    let mut to_gray = Converter::new("gray".parse().unwrap());
    let mut pictures = Vec::new();
    while reader.read(&mut entry).unwrap() {
        let schema = entry.channel.schema.as_ref().unwrap();
        let [format, data] = match schema.name.as_str() {
            "foxglove.CompressedVideo" => [4, 3],
            "foxglove.CompressedImage" => [3, 2],
            other => panic!("{other}"),
        };
        let fields = fields(&entry.payload);
        let format = String::from_utf8(fields[&format].to_vec()).unwrap();
        let coding = match format.as_str() {
            "h264" => Coding::H264,
            _ => Coding::Jpeg,
        };
        let content = Content::Encoded(coding, fields[&data]);
        if coding == Coding::H264 {
            let starts = fields[&data].windows(4).filter(|it| it[..3] == [0, 0, 1]);
            let kinds: Vec<u8> = starts.map(|it| it[3] & 0x1f).collect();
            let sets = [7, 8].iter().all(|it| kinds.contains(it));
            assert!(sets || !kinds.contains(&5), "parameter sets before a key");
        }
        let now = kadenz::rt::clock::now();
        let unit = Unit {
            content,
            is_key: true,
            capture: Capture::Unknown,
            first_byte: now,
            arrival: now,
            missed: 0,
            is_damaged: false,
        };
        let decoder = decoder.get_or_insert_with(|| kadenz::camera::decode::open(coding).unwrap());
        decoder
            .decode(0, &unit, &mut |_, picture| {
                let size = picture.size();
                let mut gray = vec![0; size.pixels()];
                to_gray.convert(picture, &mut gray).unwrap();
                let gray = barcode::Gray::new(&gray, size, size.width as usize).unwrap();
                let code = barcode::whole(codes.read(&gray)).unwrap();
                pictures.push((entry.channel.name.clone(), format.clone(), code.number));
            })
            .unwrap();
    }
    pictures
}

/// The length-delimited fields of a protobuf message.
fn fields(mut bytes: &[u8]) -> std::collections::HashMap<u8, &[u8]> {
    let mut fields = std::collections::HashMap::new();
    while let Some((tag, rest)) = bytes.split_first() {
        assert_eq!(tag & 7, 2, "all fields have a length");
        let end = rest.iter().position(|it| it & 0x80 == 0).unwrap() + 1;
        let length = rest[..end].iter().rev();
        let length = length.fold(0, |all, part| all << 7 | usize::from(part & 0x7f));
        let (content, rest) = rest[end..].split_at(length);
        fields.insert(tag >> 3, content);
        bytes = rest;
    }
    fields
}

#[test]
fn what_a_camera_sends_is_recorded_for_foxglove_and_survives_a_kill() {
    for (protocol, channel, format) in [
        ("rtsp", "camera/video", "h264"),
        ("http", "camera/image", "jpeg"),
    ] {
        let (sim, url) = sim(protocol);
        let place = folder();
        let log = place.path().join("drive.mcap");
        let out = place.path().join("run");
        let arguments = [
            "camera",
            "record",
            &url,
            "--mcap",
            text(&log),
            "--out",
            text(&out),
            "--duration",
            "2s",
        ];
        let said = run(&arguments);
        assert_eq!(said.code, 0, "{}", said.err);
        let all = pictures(&log);
        assert!(all.len() > 5, "{}: {}", all.len(), said.err);
        assert!(
            all.iter()
                .all(|it| (it.0.as_str(), it.1.as_str()) == (channel, format))
        );
        // The simulator has 150 pictures, and restarts after the last.
        let mut steps = all.windows(2).map(|it| (150 + it[1].2 - it[0].2) % 150);
        assert!(steps.all(|it| (1..75).contains(&it)), "{all:?}");
        let again = run(&arguments);
        assert_eq!(again.code, 2);
        assert!(again.err.contains("--mcap"), "{}", again.err);

        std::fs::remove_file(&log).unwrap();
        let out = place.path().join("killed");
        let mut killed = Started::new(&[
            "camera",
            "record",
            &url,
            "--mcap",
            text(&log),
            "--out",
            text(&out),
            "--duration",
            "1min",
        ]);
        while kadenz::msg::log::open(&log).is_err() || pictures(&log).is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        killed.child.kill().unwrap();
        killed.child.wait().unwrap();
        assert!(!pictures(&log).is_empty());
        assert_eq!(sim.end("INT").code, 0);
    }
    let place = folder();
    let log = place.path().join("none.mcap");
    for (camera, words) in [
        ("test://320x240@30", "not compressed"),
        ("unserved-camera", "give its URL"),
    ] {
        let said = run(&["camera", "record", camera, "--mcap", text(&log)]);
        assert_eq!(said.code, 2);
        assert!(said.err.contains(words), "{}", said.err);
        assert!(!log.exists(), "nothing is left behind");
    }
}
