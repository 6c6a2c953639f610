//! `kadenz msg doctor` as a user types it, and buses that cannot be.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

#[cfg(target_os = "linux")]
#[test]
fn a_bus_that_works_and_one_that_does_not_are_distinguished() {
    let good = "udpm://239.255.77.10:7910?iface=lo";
    let said = run(&["msg", "doctor", good, "--json"]);
    assert_eq!(said.code, 0, "{}", said.out);
    let report = said.json();
    assert_described("msg", "doctor", &report);
    assert_eq!(
        (report["version"].as_u64(), report["works"].as_bool()),
        (Some(1), Some(true))
    );
    let findings = report["findings"].as_array().unwrap();
    let tested = findings
        .iter()
        .find(|it| it["id"] == "multicast-self-test")
        .unwrap();
    assert_eq!(tested["severity"], "fine");

    let said = run(&["msg", "doctor", "udpm://239.255.77.10:7910?iface=nowhere0"]);
    assert_eq!(said.code, 1, "{}", said.out);
    for words in [
        "no interface nowhere0",
        "ip -br link",
        "messages do not arrive",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
}

#[test]
fn the_error_of_a_bus_names_it_once_where_it_helps() {
    for (query, times) in [("iface=nowhere0", 1), ("tll=1", 0)] {
        let url = format!("udpm://239.255.77.10:7910?{query}");
        let said = run(&["msg", "echo", "A", "--url", &url]);
        assert_eq!(said.code, 2, "{}", said.out);
        let found = said.err.matches("kadenz msg doctor").count();
        assert_eq!(found, times, "{}", said.err);
    }
}

#[test]
fn what_is_no_multicast_is_refused() {
    for (url, words) in [
        ("memq://", "begins with udpm://"),
        ("udpm://10.0.0.1:7667", "not a multicast group"),
        ("udpm://?tll=1", "it has ttl"),
        ("nonsense", "no scheme"),
    ] {
        let said = run(&["msg", "doctor", url]);
        assert_eq!(said.code, 2, "{}", said.out);
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
}

#[test]
fn without_a_url_the_environment_names_the_bus() {
    let mut command = kadenz(&["msg", "doctor"]);
    command.env("LCM_DEFAULT_URL", "memq://");
    let said = Said::of(command.output().unwrap());
    assert!(said.err.contains("memq://"), "{}", said.err);
}

#[test]
fn what_cannot_be_is_exit_code_2_with_the_remedy() {
    for (arguments, word) in [
        (&["echo", "A", "--url", "warp://x"][..], "udpm"),
        (&["echo", "(", "--url", "memq://"][..], "regular expression"),
        (
            &["echo", "A", "--types", "/no/such/folder"][..],
            "/no/such/folder",
        ),
        (
            &["pub", "A", "--hex", "0g", "--url", "memq://"][..],
            "hexadecimal",
        ),
        (&["pub", "", "--hex", "00", "--url", "memq://"][..], "name"),
        (&["pub", "A"][..], "TYPE"),
        (
            &["hz", "A", "--expect", "1000", "--url", "memq://"][..],
            "1kHz",
        ),
        (
            &["delay", "A", "--no-request-types", "--url", "memq://"][..],
            "--types",
        ),
        (&["bridge", "memq://", "memq://"][..], "two buses"),
        (
            &["bridge", "memq://", "tcpq://127.0.0.1:1"][..],
            "kadenz msg server",
        ),
        (
            &["echo", "A", "--url", "udpm://10.0.0.1:7667"][..],
            "give one of 224.0.0.0",
        ),
    ] {
        let said = run(&[&["msg"], arguments].concat());
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.err);
        assert!(said.err.contains(word), "{arguments:?}: {}", said.err);
    }
    let said = run(&["msg", "echo", "(", "--url", "memq://"]);
    assert!(!said.err.contains("the bus cannot"), "{}", said.err);
}

#[test]
fn a_bad_url_of_the_environment_is_named_with_its_variable() {
    let with = |url: &str, arguments: &[&str]| {
        let mut command = kadenz(&[&["msg", "echo"], arguments].concat());
        Said::of(command.env("LCM_DEFAULT_URL", url).output().unwrap())
    };
    let said = with("warp://x", &["A"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("LCM_DEFAULT_URL"), "{}", said.err);
    let said = with("", &["A", "--duration", "100ms"]);
    assert!(!said.err.contains("LCM_DEFAULT_URL"), "{}", said.err);
    assert!(!said.err.contains("no provider"), "{}", said.err);
}
