//! `kadenz wire` and `kadenz testbed list`, `show` and `model` as a user types them: no rights needed.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

#[test]
fn the_post_s_baseline() {
    let said = run(&["wire", "--size", "200B", "--measured", "193.8us"]);
    assert_eq!(said.code, 0, "{}", said.err);
    for words in ["266", "21.28 us", "20.32 us", "81.28 us", "112.5 us"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let json = run(&["wire", "--measured", "193.8us", "--json"]).json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["round_trip_ns"], 81_280.0);
    assert_eq!(json["not_wire_ns"], 112_520.0);
    assert_eq!(json["frames"][0]["bytes_on_link"], 266);
    assert!(json["burst"].is_null());
}

#[test]
fn an_answer_is_markdown_for_an_issue_or_a_wiki() {
    let plain = run(&["wire", "--size", "200B"]);
    let said = run(&["wire", "--size", "200B", "--markdown"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let head = "| link | occupancy | store-and-forward delay | datagrams/s |\n|------|";
    assert!(said.out.contains(head), "{}", said.out);
    let first = |text: &str| text.lines().next().unwrap().to_owned();
    assert_eq!(first(&said.out), first(&plain.out), "the same words");
}

#[test]
fn chains_and_bursts() {
    let json = run(&["wire", "--links", "100M,1G,100M", "--json"]).json();
    assert_eq!(json["switches"], 2);
    assert_eq!(json["round_trip_ns"], 2.0 * (2.0 * 20_320.0 + 2_032.0));
    let burst = [
        "wire",
        "--link",
        "1G",
        "--devices",
        "40",
        "--device-link",
        "100M",
        "--json",
    ];
    let burst = &run(&burst).json()["burst"];
    assert_eq!(
        burst["last_reply_since_answer_ns"],
        20_320.0 + 39.0 * 2_128.0 + 2_032.0
    );
    assert_eq!(burst["buffer_bytes"], 9_840);
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    for (arguments, words) in [
        (&["wire", "--size", "200"][..], "200B"),
        (&["wire", "--size", "70kB"][..], "65507"),
        (&["wire", "--link", "100"][..], "100Mbit/s"),
        (&["wire", "--measured", "80us"][..], "81.28us"),
        (
            &["wire", "--links", "1G", "--switches", "2"][..],
            "--switches",
        ),
        (&["wire", "--size", "4kB", "--devices", "40"][..], "model"),
        (&["testbed", "show", "no-such"][..], "baseline"),
        (
            &["testbed", "model", "baseline", "--duration", "10"][..],
            "unit is missing",
        ),
        (
            &["testbed", "model", "baseline", "--duration", "9000h"][..],
            "shorter",
        ),
    ] {
        let said = run(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.out);
        assert!(said.err.contains(words), "{arguments:?}: {}", said.err);
        assert!(said.out.is_empty(), "{arguments:?}: {}", said.out);
    }
}

#[test]
fn a_topology_of_one_s_own_begins_with_one_that_is_built_in() {
    let folder = folder();
    let shown = run(&["testbed", "show", "cut-cable"]).out;
    let file = folder.path().join("own.toml");
    std::fs::write(&file, shown.replace("\"2s\"", "\"1s\"")).unwrap();
    let json = run_line(&format!(
        "testbed model {} --duration 10s --each --json",
        text(&file)
    ))
    .json();
    assert_eq!(json["all"]["asked"], 1000);
    assert_eq!(json["all"]["lost"], 100);
    assert_eq!(json["all"]["percentiles"]["50"], 89_320.0);
    assert!(json["all"]["percentiles"]["99.99"].is_null());
    assert_eq!(json["round_trips"][0]["round_trip_ns"], 89_320.0);
    assert!(json["round_trips"][500]["round_trip_ns"].is_null());
    std::fs::write(&file, shown.replace("\"2s\"", "2")).unwrap();
    let said = run(&["testbed", "show", text(&file)]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("line "), "{}", said.err);
}

#[test]
fn the_list_has_what_can_be_shown() {
    let json = run(&["testbed", "list", "--json"]).json();
    let topologies = json["topologies"].as_array().unwrap();
    assert!(topologies.len() >= 9);
    assert_described("testbed", "list", &json);
    let listed = run(&["testbed", "list"]).out;
    for topology in topologies {
        let name = topology["name"].as_str().unwrap();
        assert!(listed.contains(&format!("{name}  ")), "{listed}");
        let shown = run(&["testbed", "show", name, "--json"]).json();
        assert_described("testbed", "show", &shown);
        assert_eq!(
            shown["hosts"].as_array().unwrap().len() as u64,
            topology["hosts"]
        );
    }
}

#[test]
fn json_keeps_to_its_schema() {
    for arguments in [
        &["wire", "--json"][..],
        &["wire", "--size", "4kB", "--measured", "1ms", "--json"][..],
        &["wire", "--devices", "40", "--vlan", "--json"][..],
    ] {
        assert_valid("wire", &run(arguments).json());
    }
    for arguments in [
        &[
            "testbed",
            "model",
            "cut-cable",
            "--duration",
            "6s",
            "--json",
        ][..],
        &[
            "testbed",
            "model",
            "forty-devices",
            "--duration",
            "30ms",
            "--broadcast",
            "--each",
            "--json",
        ][..],
    ] {
        assert_valid("testbed-model", &run(arguments).json());
    }
}
