//! Programs that `kadenz run` has started.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{kadenz, text, wait_until};

/// Starts `kadenz run` with a shell that runs `first`, writes its number into a file `ready`, and runs `then`; waits for
/// the file.
pub(crate) fn start_ready(folder: &Path, options: &[&str], first: &str, then: &str) -> Child {
    let ready = folder.join("ready");
    let script = format!(
        "{first}echo $$ >{}.new; mv {0}.new {0}; {then}",
        text(&ready)
    );
    let child = kadenz(&[&["run", "--quiet"], options, &["--", "sh", "-c", &script]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| ready.exists());
    child
}

/// Process number of the program that [`start_ready`] has started.
pub(crate) fn pid(folder: &Path) -> String {
    let pid = std::fs::read_to_string(folder.join("ready")).unwrap();
    pid.trim().to_owned()
}

/// Sends a signal to a process that is not a child of the test; returns whether the process exists.
pub(crate) fn kill(name: &str, pid: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args([&format!("-{name}"), pid]).stderr(Stdio::null());
    kill.status().unwrap().success()
}
