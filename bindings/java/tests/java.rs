//! The package for Java: its jar is built from this crate's library, and programs of Java use it, each in a virtual
//! machine that checks what the library asks of it (`-Xcheck:jni`). The programs on the package's page are among them.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

#[path = "../jar.rs"]
mod jar;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What the programs run with.
struct Kit {
    jar: PathBuf,
    /// The programs of `tests/java`.
    programs: PathBuf,
}

/// The kit; `None` where there is none for Java, and the test is named as skipped.
fn kit(test: &str) -> Option<&'static Kit> {
    static KIT: OnceLock<Kit> = OnceLock::new();
    let has = |program: &str| {
        let mut command = Command::new(program);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.arg("-version").status().is_ok()
    };
    if has("javac") && has("java") {
        return Some(KIT.get_or_init(build));
    }
    let message = format!("skipped: {test}: no javac (apt-get install default-jdk-headless)");
    let strict = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
    assert!(!strict, "{message}");
    eprintln!("{message}");
    None
}

fn here(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

fn build() -> Kit {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("java");
    let name = format!(
        "{}kadenz_java{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let library = std::env::current_exe().unwrap().with_file_name(name);
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let sources = here("java/kadenz");
    let jar = jar::build(&sources, &platform, &library, &home).unwrap();
    let programs = home.join("programs");
    let mut sources = jar::java_files(&here("tests/java")).unwrap();
    sources.extend(jar::java_files(&here("tests/java/robot")).unwrap());
    compile(&[&jar], &sources, &programs);
    Kit { jar, programs }
}

fn class_path(parts: &[&Path]) -> std::ffi::OsString {
    std::env::join_paths(parts).unwrap()
}

fn compile(class_path_of: &[&Path], sources: &[PathBuf], into: &Path) {
    std::fs::create_dir_all(into).unwrap();
    let mut javac = Command::new("javac");
    javac
        .args(["--release", "8", "-Xlint:-options", "-d"])
        .arg(into);
    javac
        .arg("-cp")
        .arg(class_path(class_path_of))
        .args(sources);
    jar::run(&mut javac).unwrap_or_else(|it| panic!("{it}"));
}

/// Runs a program; what it says on its way is part of a failure.
fn run(class_path_of: &[&Path], folder: &Path, words: &[&str]) {
    let mut java = Command::new("java");
    // A heap that is there from the start grows no more.
    java.args([
        "-ea",
        "-Xcheck:jni",
        "-Xms64m",
        "-Xmx64m",
        "-XX:+AlwaysPreTouch",
        "-cp",
    ]);
    java.arg(class_path(class_path_of)).args(words);
    let said = jar::run(java.current_dir(folder)).unwrap_or_else(|it| panic!("{it}"));
    assert!(!said.contains("in native method"), "{said}");
    eprintln!("{words:?}: {said}");
}

fn program(name: &str) {
    let Some(kit) = kit(name) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let argument = folder.path().to_string_lossy().into_owned();
    run(
        &[&kit.jar, &kit.programs],
        folder.path(),
        &[name, &argument],
    );
}

#[test]
fn messages_come_as_bytes_and_as_types() {
    program("Messages");
}

#[test]
fn whatever_waits_can_be_interrupted_and_closed() {
    program("Waiting");
}

#[test]
fn loops_record_runs_that_are_read() {
    program("Loops");
}

#[test]
#[cfg(target_os = "linux")]
fn frames_lie_in_shared_memory() {
    program("Cameras");
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_is_left_of_what_was_closed() {
    program("Leaks");
}
