//! The probes that come with Kadenz: how the program builds, lists and uses them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Said, folder, intervals_on_disk, kadenz, run, run_json, series, skip, text};

/// The probes of the repository.
const PROBES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../probes");

/// A log of Sticha's suite of communication.
const OLD_LOG: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../conformance/import/bmwcarit-communication.log"
);

/// The probes that the tests build. Those in Rust take minutes.
const BUILT: [&str; 16] = [
    "ring",
    "unix",
    "pipe",
    "mqueue",
    "udp",
    "multicast",
    "tcp",
    "lcm",
    "zmq",
    "nng",
    "roscpp",
    "cyclonedds",
    "fastdds",
    "rabbitmq",
    "mosquitto",
    "nats",
];

#[test]
fn every_probe_measures_its_middleware_at_a_server_of_its_own() {
    let folder = folder();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let of =
        |words: &[&str]| Said::of(kadenz(words).env("XDG_CACHE_HOME", cache).output().unwrap());
    for name in BUILT {
        let listed = of(&["msg", "probes", "--build", "--json", name]);
        let json = listed.json();
        common::assert_described("msg", "probes", &json);
        if let Some(missing) = json["probes"][0]["missing"].as_str() {
            assert_eq!(listed.code, 1, "{missing}");
            skip(
                "every_probe_measures_its_middleware_at_a_server_of_its_own",
                missing,
            );
            continue;
        }
        let out = folder.path().join(name);
        let subscribers = if name == "udp" { "1" } else { "2" };
        let said = of(&[
            "msg",
            "latency",
            "--with",
            name,
            "--rate",
            "100Hz",
            "--count",
            "50",
            "--queue",
            "50",
            "--subscribers",
            subscribers,
            "--json",
            "--out",
            text(&out),
        ]);
        assert_eq!(said.code, 0, "{name}: {}", said.err);
        for subscriber in said.json()["runs"][0]["messages"]["subscribers"]
            .as_array()
            .unwrap()
        {
            assert_eq!(subscriber["received"], 50, "{name}: {subscriber}");
            assert_eq!(subscriber["damaged"], 0, "{name}: {subscriber}");
        }
        let middleware = &run_json(&out)["parameters"]["subscriber_middleware"];
        assert!(
            middleware.as_str().is_some_and(|it| !it.is_empty()),
            "{name}"
        );
    }
}

#[test]
fn an_experiment_sets_ours_beside_others_with_ratios() {
    let folder = folder();
    let out = folder.path().join("out");
    let words = [
        "experiment",
        "messages",
        "--only",
        "unix,tcp,kadenz-memq",
        "--floor",
        "unix",
        "--duration",
        "300ms",
        "--rounds",
        "2",
        "--policies",
        "other",
        "--json",
        "--out",
        text(&out),
    ];
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let said = Said::of(
        kadenz(&words)
            .env("XDG_CACHE_HOME", cache)
            .output()
            .unwrap(),
    );
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    common::assert_valid("experiment", &json);
    let load = &json["messages"]["loads"][0];
    let rows = load["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3, "{load}");
    for row in rows {
        assert_eq!(row["rounds"], 2, "{row}");
        assert!(row["p50_ns"].as_i64().unwrap() > 0, "{row}");
        let ratio = &row["to_floor"]["p50"]["interval"];
        assert_eq!(ratio.is_array(), row["name"] != "unix", "{row}");
    }
    assert!(out.join("table.md").exists());
    let wrong = run(&["experiment", "messages", "--only", "carrier-pigeon"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("there are ring, unix"), "{}", wrong.err);
}

#[test]
fn timers_of_ros_are_measured_as_ours_are() {
    let folder = folder();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let of =
        |words: &[&str]| Said::of(kadenz(words).env("XDG_CACHE_HOME", cache).output().unwrap());
    let built = of(&["msg", "probes", "--build", "--json", "roscpp_timers"]);
    if let Some(missing) = built.json()["probes"][0]["missing"].as_str() {
        return skip("timers_of_ros_are_measured_as_ours_are", missing);
    }
    for (suite, wait, all) in [
        (
            "oneshot",
            ["--timeout", "1ms"],
            [("measured", 50), ("reported", 50), ("difference", 50)],
        ),
        (
            "cyclic",
            ["--rate", "100Hz"],
            [("lateness", 50), ("jitter", 49), ("jitter", 49)],
        ),
    ] {
        let out = folder.path().join(suite);
        let words = [
            "timer",
            suite,
            "--with",
            "roscpp_timers",
            "--count",
            "50",
            "--json",
            "--out",
            text(&out),
        ];
        let said = of(&[&words[..], &wait].concat());
        assert_eq!(said.code, 0, "{suite}: {}", said.err);
        for (name, count) in all {
            assert_eq!(series(&said.json(), name)["count"], count, "{suite} {name}");
        }
        let run = run_json(&out);
        assert!(
            run["parameters"]["timer"]
                .as_str()
                .unwrap()
                .starts_with("roscpp 1."),
            "{run}"
        );
    }
    let said = of(&["msg", "latency", "--with", "roscpp_timers"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err
            .contains("kadenz timer cyclic --with roscpp_timers"),
        "{}",
        said.err
    );
    let said = of(&["timer", "cyclic", "--with", "lcm"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("kadenz msg latency --with lcm"),
        "{}",
        said.err
    );
}

/// A run of ROS's suites beside an imported folder has every measurement, table and finding.
#[test]
fn the_suites_of_ros_run_whole_with_imported_ones_beside_them() {
    let folder = folder();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let of =
        |words: &[&str]| Said::of(kadenz(words).env("XDG_CACHE_HOME", cache).output().unwrap());
    let built = of(&[
        "msg",
        "probes",
        "--build",
        "--json",
        "roscpp",
        "roscpp_timers",
    ]);
    if let Some(missing) = built.json()["probes"][0]["missing"].as_str() {
        return skip(
            "the_suites_of_ros_run_whole_with_imported_ones_beside_them",
            missing,
        );
    }
    let logs = folder.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    std::fs::copy(OLD_LOG, logs.join("old.log")).unwrap();
    let out = folder.path().join("out");
    let words = [
        "experiment",
        "ros",
        "--count",
        "100",
        "--import",
        text(&logs),
        "--json",
    ];
    let said = of(&[&words[..], &["--out", text(&out)]].concat());
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    common::assert_valid("experiment", &json);
    assert_eq!(json["runs"].as_array().unwrap().len(), 1 + 26, "{json}");
    for measured in [
        "oneshot-100us-rr95-idle",
        "cyclic-4kHz-rr95-idle",
        "communication-1kHz-5-rr95-idle",
    ] {
        let complete = &run_json(&out.join(measured))["complete"];
        assert_eq!(complete, true, "{measured}");
    }
    let table = std::fs::read_to_string(out.join("table.md")).unwrap();
    for part in ["imported-1-old", "The findings of 2014, here", "confirmed"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(out.join("report.html").exists());
    let nothing = of(&["experiment", "ros", "--import", text(&out.join("nothing"))]);
    assert_eq!(nothing.code, 2);
    assert!(
        nothing.err.contains("cannot read the folder"),
        "{}",
        nothing.err
    );
}

/// Debian has no package of ROS 2: the test builds its probe against headers that stand in for it; without them the
/// command names the remedy.
#[test]
fn the_probe_of_ros_2_is_built_where_its_packages_are() {
    let folder = folder();
    let build = |packages: &str, path: &str| {
        let mut command = kadenz(&["msg", "probes", "--build", "--json", "rclcpp"]);
        command.env("CMAKE_PREFIX_PATH", packages).env("PATH", path);
        Said::of(
            command
                .env("XDG_CACHE_HOME", folder.path())
                .output()
                .unwrap(),
        )
    };
    // A shell that has sourced ROS 2 has it in PATH, where cmake looks for packages, too.
    let missing = build("", "/usr/bin:/bin");
    assert_eq!(missing.code, 1, "{}", missing.err);
    let said = &missing.json()["probes"][0]["missing"];
    assert!(said.to_string().contains("docs.ros.org"), "{said}");
    let program = ["cmake", "c++"].into_iter().find(|it| {
        let asked = Command::new(it).arg("--version").output();
        !asked.is_ok_and(|it| it.status.success())
    });
    if let Some(program) = program {
        return skip(
            "the_probe_of_ros_2_is_built_where_its_packages_are",
            program,
        );
    }
    let stand_in = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/probes/rclcpp");
    let built = build(stand_in, &std::env::var("PATH").unwrap());
    assert_eq!(built.code, 0, "{} {}", built.err, built.out);
}

#[test]
fn probes_are_listed_and_their_sources_written() {
    let folder = folder();
    let listed = run(&["msg", "probes", "--json"]);
    assert_eq!(listed.code, 0, "{}", listed.err);
    common::assert_described("msg", "probes", &listed.json());
    let sources = folder.path().join("sources");
    let said = run(&["msg", "probes", "--sources", text(&sources), "lcm", "zenoh"]);
    assert_eq!(said.code, 0, "{}", said.err);
    for file in [
        "lcm.c",
        "kadenz_probe.h",
        "zenoh/src/main.rs",
        "kadenz_probe.rs",
    ] {
        let written = std::fs::read(sources.join(file)).unwrap();
        assert_eq!(
            written,
            std::fs::read(Path::new(PROBES).join(file)).unwrap(),
            "{file}"
        );
    }
    let said = run(&["msg", "probes", "carrier-pigeon"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("there are ring, unix"), "{}", said.err);
}

/// The server that a measurement has started: the child of the guard process that is not `cat`.
fn server_of(measurement: u32) -> Option<u32> {
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    // `PID (NAME) STATE PARENT ...`
    let parse = |pid: u32| {
        let stat = stat(pid)?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        Some((
            name.to_owned(),
            rest.split(' ').nth(2)?.parse::<u32>().ok()?,
        ))
    };
    let all = std::fs::read_dir("/proc").ok()?.flatten();
    let all: Vec<_> = all
        .filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|pid| parse(pid).map(|(name, parent)| (pid, name, parent)))
        .collect();
    let mut guards = all.iter().filter(|it| it.1 == "sh" && it.2 == measurement);
    let guard = guards.next()?.0;
    let mut servers = all.iter().filter(|it| it.2 == guard && it.1 != "cat");
    servers.next().map(|it| it.0)
}

#[test]
fn a_probe_whose_server_goes_ends_the_run_which_says_so() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let tcpq = ["--serve", "tcpq", "--url", "tcpq://127.0.0.1:{port}"];
    for (name, more) in [
        ("nats", &[][..]),
        ("mosquitto", &[]),
        ("rabbitmq", &[]),
        ("lcm", &tcpq),
    ] {
        let words = ["msg", "probes", "--build", "--json", name];
        let listed = kadenz(&words)
            .env("XDG_CACHE_HOME", cache)
            .output()
            .unwrap();
        if let Some(missing) = Said::of(listed).json()["probes"][0]["missing"].as_str() {
            skip(
                "a_probe_whose_server_goes_ends_the_run_which_says_so",
                missing,
            );
            continue;
        }
        let folder = folder();
        let out = folder.path().join("run");
        let words = ["msg", "latency", "--with", name, "--duration", "1h"];
        let mut child = kadenz(&[&words[..], &["--interval", "50ms"], more].concat())
            .env("XDG_CACHE_HOME", cache)
            .arg("--out")
            .arg(&out)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A server may take longer to start than a test waits for anything else.
        while intervals_on_disk(&out) == 0 {
            assert!(child.try_wait().unwrap().is_none(), "{name} ended early");
            std::thread::sleep(Duration::from_millis(50));
        }
        let server = server_of(child.id()).unwrap();
        let mut kill = Command::new("kill");
        kill.args(["-s", "KILL", "--", &format!("-{server}")]);
        assert!(kill.status().unwrap().success());
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 2, "{name}: {}", said.err);
        let run = run_json(&out);
        assert_eq!(run["ended_by"], "failed", "{name}");
        for side in ["publisher_failed", "subscriber_failed"] {
            let warnings = run["warnings"].as_array().unwrap();
            let warning = warnings.iter().find(|it| it["id"] == side);
            let text = warning
                .and_then(|it| it["text"].as_str())
                .unwrap_or_default();
            assert!(text.contains("lost"), "{name} {side}: {text}");
        }
    }
}

#[test]
fn without_a_cache_nothing_is_built_and_nothing_written() {
    let folder = folder();
    let of = |words: &[&str]| {
        let mut command = kadenz(words);
        command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
        Said::of(command.current_dir(folder.path()).output().unwrap())
    };
    let listed = of(&["msg", "probes", "--build", "--json", "udp"]);
    assert_eq!(listed.code, 1, "{}", listed.err);
    let missing = listed.json()["probes"][0]["missing"].to_string();
    assert!(missing.contains("set XDG_CACHE_HOME"), "{missing}");
    let said = of(&["msg", "latency", "--with", "udp"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("set XDG_CACHE_HOME"), "{}", said.err);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_server_that_is_not_installed_has_the_exit_code_that_help_says() {
    // Without its library, Python knows no module.
    let of = |words: &[&str]| {
        let mut command = kadenz(words);
        Said::of(command.env("PYTHONHOME", "/nowhere").output().unwrap())
    };
    let listed = of(&["msg", "probes", "--json", "roscpp"]);
    assert_eq!(listed.code, 1, "{}", listed.err);
    let missing = listed.json()["probes"][0]["missing"].to_string();
    assert!(missing.contains("python3-rosmaster"), "{missing}");
    let help = of(&["msg", "probes", "--help"]).out;
    let words = "1 a probe that was named cannot be built, or its server is not installed";
    assert!(help.contains(words), "{help}");
    let said = of(&["msg", "latency", "--with", "true", "--serve", "rosmaster"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("python3-rosmaster"), "{}", said.err);
}
