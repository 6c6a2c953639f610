// Helpers of the languages' tests: the arm, types of its messages, and a controller that must hold it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::library;
use super::library::msg::generate::{self, Language};

pub(crate) fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hardware-in-the-loop")
}

/// The arm of this build: `cargo test` builds it with the workspace; a test of this crate alone builds it here.
fn arm() -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let arm = deps
        .parent()
        .unwrap()
        .with_file_name("examples/hardware_in_the_loop");
    if !arm.is_file() {
        let mut build = Command::new(env!("CARGO"));
        let built = build
            .args(["build", "-p", "kadenz", "--example", "hardware_in_the_loop"])
            .status();
        assert!(built.unwrap().success() && arm.is_file());
    }
    arm
}

/// The arm's messages in a language.
pub(crate) fn types(language: Language, into: &Path) {
    generate(&example().join("arm.lcm"), language, into);
}

/// Runs `kadenz msg gen` for a language.
pub(crate) fn generate(described: &Path, language: Language, into: &Path) {
    let types = library::msg::types::Types::from_files([described]).unwrap();
    for file in generate::generate(&types, language).unwrap().files {
        let path = into.join(file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file.text).unwrap();
    }
}

/// Lets a controller hold the arm for some seconds: the arm stands where it should, and both runs hold the latencies.
/// The controller is started with the URL of a bus that no other test has.
pub(crate) fn hold(controllers_run: &Path, controller: impl FnOnce(&str) -> Command) {
    static TESTS: AtomicU32 = AtomicU32::new(0);
    let port = 20_000 + (16 * std::process::id() + TESTS.fetch_add(1, Ordering::Relaxed)) % 40_000;
    let url = format!("udpm://239.255.76.67:{port}?ttl=0");
    // Built before the controller waits for it.
    let arm = arm();
    let mut controlling = controller(&url).stdout(Stdio::null()).spawn().unwrap();
    let run = controllers_run.with_file_name("arm");
    let output = Command::new(arm)
        .arg(&run)
        .args([&url, "200Hz", "3"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let ended = controlling.wait().unwrap();
    assert!(
        output.status.success() && ended.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let position = said
        .split("the arm is at ")
        .nth(1)
        .and_then(|it| it.split(' ').next()?.parse::<f64>().ok());
    let position = position.unwrap_or(f64::NAN);
    assert!((position - 1.0).abs() < 0.2, "{said}");
    let count = |run: &Path, name: &str| {
        let summary = library::read(run).unwrap();
        summary
            .series
            .iter()
            .find(|it| it.series.name == name)
            .map_or(0, |it| it.count)
    };
    assert!(
        count(&run, "round-trip") > 20 && count(&run, "lateness") > 20,
        "{said}"
    );
    assert!(
        count(controllers_run, "receive") > 20 && count(controllers_run, "publish") > 20,
        "{said}"
    );
}
