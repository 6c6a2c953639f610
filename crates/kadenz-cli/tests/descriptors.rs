//! The number of connections that a listening program may have.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use std::process::{Child, Command, Stdio};

use common::*;

/// Starts the program with a soft limit of 64 open files.
fn start_with_few(arguments: &[&str]) -> Child {
    let limited = "ulimit -S -n 64; exec \"$0\" \"$@\"";
    Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_kadenz")])
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The soft and the hard limit of a process's open files.
fn limits(child: &Child) -> Option<(u64, u64)> {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).ok()?;
    let line = limits.lines().find(|it| it.starts_with("Max open files"))?;
    let mut words = line.split_whitespace().skip(3);
    let mut number = || words.next()?.parse().ok();
    Some((number()?, number()?))
}

#[test]
fn a_program_that_listens_may_have_as_many_connections_as_the_system_allows() {
    let folder = folder();
    let out = folder.path().join("run");
    let socket = format!("zmq://{}?bind=inlet", folder.path().join("bus").display());
    let name = format!("test-descriptors-{}", std::process::id());
    for arguments in [
        &["msg", "echo", "--url", &socket, "A"][..],
        &["msg", "server", "--listen", "127.0.0.1:0"],
        &[
            "ethercat",
            "run",
            "--sim",
            "3",
            "--name",
            &name,
            "--out",
            text(&out),
        ],
    ] {
        let mut child = start_with_few(arguments);
        wait_until(|| {
            assert!(
                child.try_wait().unwrap().is_none(),
                "{arguments:?} has ended"
            );
            limits(&child).is_some_and(|(soft, hard)| soft == hard && soft > 64)
        });
        signal(&child, "INT");
        child.wait().unwrap();
    }
}
