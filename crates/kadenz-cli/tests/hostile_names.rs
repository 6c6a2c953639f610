//! Another user of the machine has taken every name that Kadenz uses in folders where all users may write: as a FIFO, a
//! link, a folder, an empty file or a locked file. No command hangs, none writes to the target of a link, and each
//! works or reports which name is taken.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::process::Command;

/// The files that the other user creates under the name `$0`.
const ATTACKS: [(&str, &str); 7] = [
    ("FIFO", r#"mkfifo -m 666 "$0""#),
    ("dangling link", r#"ln -s /tmp/elsewhere/made "$0""#),
    ("link to a file", r#"ln -s /tmp/elsewhere/precious "$0""#),
    ("link to a folder", r#"ln -s /tmp/elsewhere "$0""#),
    ("folder", r#"mkdir -m 777 "$0""#),
    ("empty file", r#": > "$0"; chmod 666 "$0""#),
    (
        "locked file",
        r#": > "$0"; chmod 666 "$0"; flock "$0" sleep 600 &"#,
    ),
];

/// Paths at which the commands see the program and a run, whose own paths may be hidden by the mounts.
const PROGRAM: &str = "/mnt/kadenz";
const RUN: &str = "/mnt/run";

/// Runs `"$@"` after the attack `$attack` on `$name`, in mounts that no other process sees. The last lines hold the
/// exit code and the files at the targets of links.
const STAGE: &str = r#"
mount -t tmpfs tmpfs /mnt && touch /mnt/kadenz && mkdir /mnt/run || exit 99
mount --bind "$program" /mnt/kadenz && mount --bind "$run" /mnt/run || exit 99
cd /mnt
for place in /dev/shm /run /tmp; do mount -t tmpfs -o mode=1777 tmpfs $place || exit 99; done
other() { setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "$1" "$name"; }
other 'mkdir /tmp/elsewhere; echo kept > /tmp/elsewhere/precious; touch -d "1 hour ago" /tmp/elsewhere/* /tmp/elsewhere
mkdir -p "${0%/*}"'
other "$attack" || exit 98
other 'touch -h -d "1 hour ago" "$0"'
timeout -s KILL 120 "$@" 2>&1
printf '\nended: %s\nelsewhere: %s%s\n' $? "$(find /tmp/elsewhere -mmin -30)" "$(cat /tmp/elsewhere/precious)"
"#;

/// Runs a command beside a name that another user has taken; returns its output and its exit code.
fn attacked(name: &str, attack: &str, arguments: &[&str]) -> (String, i32) {
    let output = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", STAGE, "sh", PROGRAM])
        .args(arguments)
        .env("program", env!("CARGO_BIN_EXE_kadenz"))
        .env("run", conformance("runs/complete"))
        .env("name", name)
        .env("attack", attack)
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("KADENZ_JOURNAL_FOLDER")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (said, ended) = said.rsplit_once("\nended: ").unwrap_or_else(|| {
        let err = String::from_utf8_lossy(&output.stderr);
        panic!("the stage did not stand: {said}{err}")
    });
    let (code, elsewhere) = ended.split_once('\n').unwrap();
    assert_eq!(
        elsewhere, "elsewhere: kept\n",
        "{arguments:?} wrote where a link led: {said}"
    );
    (said.to_owned(), code.parse().unwrap())
}

/// Whether this machine lets the test make such mounts.
fn stands(test: &str) -> bool {
    let can = Command::new("unshare").args(["--mount", "true"]).status();
    let stands = is_root() && can.is_ok_and(|it| it.success());
    if !stands {
        skip(test, "another user and mounts need root; run it by sudo");
    }
    stands
}

/// Tries every attack on every name.
fn assault(test: &str, names: &[&str], arguments: &[&str]) {
    if !stands(test) {
        return;
    }
    for name in names {
        for (what, attack) in ATTACKS {
            let (said, code) = attacked(name, attack, arguments);
            let case = format!("{arguments:?} with {name} as {what}: exit code {code}: {said}");
            assert_ne!(code, 137, "it hangs: {case}");
            assert!((0..=2).contains(&code), "{case}");
            // Where the folder itself belongs to the other user, the command names the folder.
            let folder = "/run/kadenz";
            let named = said.contains(name) || (name.starts_with(folder) && said.contains(folder));
            // A link without a target holds no claim, so no testbed exists.
            let works = code < 2 || said.contains("no testbed is running");
            assert!(works || named, "it names no cause: {case}");
        }
    }
}

fn conformance(name: &str) -> String {
    format!("{}/../../conformance/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_loop_of_the_fieldbus_runs_beside_names_that_are_taken() {
    let test = "a_loop_of_the_fieldbus_runs_beside_names_that_are_taken";
    let names = [
        "/dev/shm/kadenz-ethercat-zz",
        "/dev/shm/kadenz-ethercat-0-robot",
        "/run/kadenz",
    ];
    let arguments = parted(
        "ethercat run --sim 2 --rate 100Hz --duration 200ms --name robot \
         --out /tmp/run",
    );
    assault(test, &names, &arguments);
}

#[test]
fn what_was_left_is_put_back_only_by_a_journal_of_ones_own() {
    let test = "what_was_left_is_put_back_only_by_a_journal_of_ones_own";
    let names = ["/run/kadenz", "/run/kadenz/shield.journal"];
    assault(test, &names, &["doctor", "--restore"]);
}

#[test]
fn a_testbed_is_looked_for_in_files_of_ones_own() {
    let test = "a_testbed_is_looked_for_in_files_of_ones_own";
    let names = ["/run/kadenz", "/run/kadenz/testbed.claim"];
    assault(test, &names, &["testbed", "status"]);
    assault(test, &names, &["testbed", "down"]);
}

#[test]
fn a_bus_in_shared_memory_opens_beside_names_that_are_taken() {
    let test = "a_bus_in_shared_memory_opens_beside_names_that_are_taken";
    let names = [
        "/dev/shm/kadenz-msg-0",
        "/dev/shm/iox2_9204dd183d1c4d8e1ff592a30766ffa6765aa8b5_node.0_10_0.global_mgmt",
        "/tmp/iceoryx2",
        "/tmp/iceoryx2/nodes",
    ];
    let arguments = ["msg", "pub", "A", "--hex", "00", "--url", "shm://robot"];
    assault(test, &names, &arguments);
}

#[cfg(feature = "camera")]
#[test]
fn cameras_are_served_and_opened_beside_names_that_are_taken() {
    let test = "cameras_are_served_and_opened_beside_names_that_are_taken";
    let names = [
        "/dev/shm/kadenz-camera-front",
        "/dev/shm/kadenz-camera-front.rgb",
        "/dev/shm/kadenz-camera-front.rgb.wanted",
    ];
    let source = "test://320x240@30";
    let serve = [
        "camera",
        "serve",
        source,
        "--name",
        "front",
        "--layout",
        "rgb",
        "--duration",
        "200ms",
    ];
    assault(test, &names, &serve);
    let show = [
        "camera",
        "show",
        "front",
        "--png",
        "/tmp/a.png",
        "--timeout",
        "2s",
    ];
    assault(test, &names, &show);
    assault(test, &names[..1], &["camera", "list"]);
}

#[test]
fn pages_and_exports_are_written_beside_names_that_are_taken() {
    let test = "pages_and_exports_are_written_beside_names_that_are_taken";
    let page = ["report", RUN, "--out", "/tmp/page.html"];
    assault(test, &["/tmp/page.html.part", "/tmp/page.html"], &page);
    let table = ["export", RUN, "--format", "csv", "--out", "/tmp/a.csv"];
    assault(test, &["/tmp/a.csv.new", "/tmp/a.csv"], &table);
}

#[test]
fn a_folder_that_other_commands_are_given_has_a_name_in_utf_8() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = std::ffi::OsStr::from_bytes(b"r\xffn");
    for command in [
        &["tune", "--out"][..],
        &["tune", "--load-dir"],
        &["tune", "--resume"],
        &["campaign", "--out"],
        &["campaign", "--resume"],
        &["experiment", "hiccups", "--out"],
        &["experiment", "ros", "--import"],
    ] {
        let output = kadenz(command).arg(folder).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("a name in UTF-8; choose another"), "{said}");
    }
}
