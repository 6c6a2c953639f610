//! `kadenz ethercat dc` and `latency`, and the pulses of `run`, on a virtual segment, as a user types them.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[path = "common/fieldbus.rs"]
mod fieldbus;
use fieldbus::*;

#[test]
fn delays_and_clocks_are_those_of_the_segment() {
    let json = answer_of("dc", &["dc", "--sim", "59", "--align"]);
    let devices = json["devices"].as_array().unwrap();
    assert_eq!(json["reference"], 0);
    assert_eq!(devices[0]["delay_ns"], 0);
    assert!(
        json["alignment"]["worst_ns"].as_u64().unwrap() <= 100,
        "{}",
        json["alignment"]
    );
    // Each hop of the humanoid takes 600 ns.
    let knee = &devices[8];
    let before = &devices[knee["parent"].as_u64().unwrap() as usize];
    let hop = knee["delay_ns"].as_i64().unwrap() - before["delay_ns"].as_i64().unwrap();
    assert!((hop - 600).abs() <= 20, "{hop}");
    let looked = answer_of("dc", &["dc", "--sim", "59"]);
    assert!(looked["alignment"].is_null());
    let said = words(&["dc", "--sim", "12", "--align"]);
    assert!(
        said.out
            .contains("the reference clock is that of device 0; largest clock deviation after"),
        "{}",
        said.out
    );
}

#[test]
fn latency_in_cycles_stands_beside_that_of_yoon2009() {
    let json = answer_of(
        "latency",
        &[
            "latency", "--sim", "59", "--mode", "yoon", "--cycles", "1000",
        ],
    );
    assert_eq!(json["segment"], "sim:59");
    assert_eq!(
        json["paper"]["sensor"],
        serde_json::json!({"min": 1.5, "max": 2.5})
    );
    let loops = json["loops"].as_array().unwrap();
    assert_eq!(loops.len(), 1);
    assert_eq!(loops[0]["sends"], "next-cycle");
    // The values are in virtual time and do not depend on this machine.
    for (name, least, most) in [
        ("sensor", 1.4, 2.6),
        ("command", 1.4, 1.6),
        ("reaction", 2.9, 4.1),
    ] {
        let latency = &loops[0][name];
        assert!(latency["count"].as_u64() > Some(50), "{json}");
        assert!(latency["min"].as_f64() >= Some(least), "{json}");
        assert!(latency["max"].as_f64() <= Some(most), "{json}");
    }

    let said = words(&["latency", "--sim", "3", "--cycles", "1000"]);
    for row in ["[Yoon2009]", "([Yoon2009])", "synchronous, SYNC0"] {
        assert!(said.out.contains(row), "{row}: {}", said.out);
    }
}

#[test]
fn latency_is_of_the_device_that_stamps_in_a_file_of_one_s_own() {
    let folder = folder();
    let file = folder.path().join("robot.toml");
    let coupler = "[[device]]\nname = \"coupler\"\nmodel = \"ek1100\"\n";
    let stamp = "[[device]]\nname = \"clock\"\nmodel = \"stamp\"\n";
    let arguments = ["latency", "--mode", "synchronous", "--cycles", "1000"];
    let arguments = [&arguments[..], &["--sim", text(&file)]].concat();
    std::fs::write(&file, coupler).unwrap();
    let said = words(&arguments);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("model = \"stamp\""), "{}", said.err);
    std::fs::write(
        &file,
        format!("{coupler}{stamp}{coupler}").replacen("coupler", "first", 1),
    )
    .unwrap();
    let json = answer_of("latency", &arguments);
    assert_eq!(json["loops"][0]["mode"], "synchronous");
    assert!(
        json["loops"][0]["reaction"]["count"].as_u64() > Some(50),
        "{json}"
    );
}

#[test]
fn devices_pulse_where_the_loop_goes_by_the_reference_clock() {
    let folder = folder();
    let out = folder.path().join("run");
    let drive = |more: &[&str]| {
        let arguments = parted("run --sim 12 --rate 200Hz --duration 500ms");
        words(&[&arguments, &["--out", text(&out)][..], more].concat())
    };
    let said = drive(&["--sync0"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("add --beat reference"), "{}", said.err);
    let reference = ["--beat", "reference"];
    let said = drive(&[&reference[..], &["--sync0=5ms"]].concat());
    assert_eq!(said.code, 2);
    assert!(said.err.contains("later than one cycle"), "{}", said.err);
    let said = drive(&[&reference[..], &["--sync0=1ms", "--deadline", "10s"]].concat());
    assert_ended_well(&said);
    let pulses = "of 12 devices generate SYNC0";
    assert!(said.err.contains(pulses), "{}", said.err);
    assert_eq!(run_json(&out)["parameters"]["sync0"], "1ms");
}
