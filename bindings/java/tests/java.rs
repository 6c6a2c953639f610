//! The package for Java: its jar is built from this crate's library, and programs of Java use it, each in a virtual
//! machine that checks its calls (`-Xcheck:jni`). The programs on the package's page are among them.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

#[path = "../jar.rs"]
mod jar;
#[path = "../../../examples/hardware-in-the-loop/tried.rs"]
mod tried;

use kadenz as library;
use library::msg::generate::Language;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The tools and files of the tests.
struct Kit {
    jar: PathBuf,
    /// The programs of `tests/java`.
    programs: PathBuf,
}

/// The tools; `None` where Java is not installed, and the test prints that it is skipped.
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
    let types = home.join("types");
    tried::generate(&here("tests/java/robot.lcm"), Language::Java, &types);
    for package in ["robot", "kadenz/generated"] {
        sources.extend(jar::java_files(&types.join(package)).unwrap());
    }
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

/// Runs a program and returns its output, which is also part of a failure's text.
fn run(class_path_of: &[&Path], folder: &Path, words: &[&str]) -> String {
    let mut java = Command::new("java");
    let unpacked = tempfile::tempdir().unwrap();
    let mut place = std::ffi::OsString::from("-Djava.io.tmpdir=");
    place.push(unpacked.path());
    java.arg(place);
    // A heap of fixed size does not grow.
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
    let left = std::fs::read_dir(unpacked.path()).unwrap().count();
    assert_eq!(
        left, 0,
        "the library was left in the folder that it was unpacked into"
    );
    assert!(!said.contains("in native method"), "{said}");
    eprintln!("{words:?}: {said}");
    said
}

/// Runs a program of the tests and returns its output; `None` where Java is not installed.
fn program(name: &str) -> Option<String> {
    let kit = kit(name)?;
    let folder = tempfile::tempdir().unwrap();
    let argument = folder.path().to_string_lossy().into_owned();
    run(
        &[&kit.jar, &kit.programs],
        folder.path(),
        &[name, &argument],
    )
    .into()
}

#[test]
fn messages_come_as_bytes_and_as_types() {
    let _ = program("Messages");
}

#[test]
fn whatever_waits_can_be_interrupted_and_closed() {
    let _ = program("Waiting");
}

#[test]
fn loops_record_runs_that_are_read() {
    let _ = program("Loops");
}

#[test]
fn a_network_shares_values_and_logs_are_read_as_written() {
    let _ = program("Networks");
}

#[test]
fn a_loop_ends_with_its_shutdown_cycles_where_the_virtual_machine_ends() {
    if let Some(said) = program("Ends") {
        assert!(said.contains("told: "), "{said}");
    }
}

#[test]
fn a_controller_in_java_holds_the_arm() {
    let Some(kit) = kit("a_controller_in_java_holds_the_arm") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (types, classes) = (folder.path().join("types"), folder.path().join("classes"));
    tried::types(Language::Java, &types);
    let mut sources = jar::java_files(&types.join("arm")).unwrap();
    sources.extend(jar::java_files(&types.join("kadenz/generated")).unwrap());
    sources.push(tried::example().join("Controller.java"));
    compile(&[&kit.jar], &sources, &classes);
    let run = folder.path().join("run");
    tried::hold(&run, |url| {
        let mut controller = Command::new("java");
        controller.arg("-cp").arg(class_path(&[&kit.jar, &classes]));
        controller.arg("Controller").arg(&run).arg(url);
        controller
    });
}

#[test]
#[cfg(target_os = "linux")]
fn frames_lie_in_shared_memory() {
    let _ = program("Cameras");
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_is_left_of_what_was_closed() {
    let _ = program("Leaks");
}

/// The blocks of a language on the package's page.
fn on_the_page(language: &str) -> Vec<String> {
    let page = std::fs::read_to_string(here("../../docs/java.md")).unwrap();
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1);
    blocks
        .map(|it| it.split("```").next().unwrap().to_owned())
        .collect()
}

/// Each is a whole program; the later ones read files that the earlier ones left in the folder.
#[test]
#[cfg(target_os = "linux")]
fn the_programs_on_the_page_run_as_printed() {
    let Some(kit) = kit("the_programs_on_the_page_run_as_printed") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let programs = on_the_page("java");
    assert_eq!(programs.len(), 7, "a program was added: name it here");
    for text in programs {
        let name = text
            .split("public class ")
            .nth(1)
            .and_then(|it| it.split(' ').next());
        let name = name.expect("a public class");
        let source = folder.path().join(format!("{name}.java"));
        std::fs::write(&source, &text).unwrap();
        let classes = [&*kit.jar, &*kit.programs, folder.path()];
        compile(&classes[..2], &[source], folder.path());
        run(&classes, folder.path(), &[name]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn octave_runs_the_page_s_script() {
    let test = "octave_runs_the_page_s_script";
    let Some(kit) = kit(test) else {
        return;
    };
    let Some(mut octave) = octave(test) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(&kit.jar, folder.path().join("kadenz.jar")).unwrap();
    std::os::unix::fs::symlink(&kit.programs, folder.path().join("types")).unwrap();
    let [script] = &on_the_page("matlab")[..] else {
        panic!("one script");
    };
    let script = format!("{script}\ndisp('all of it');\n");
    std::fs::write(folder.path().join("page.m"), script).unwrap();
    let output = octave
        .arg("page.m")
        .current_dir(folder.path())
        .output()
        .unwrap();
    // Octave ends with 1 after every script that used Java.
    let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    let words: Vec<&str> = out.split_whitespace().collect();
    assert_eq!(words, ["1", "2", "3", "1", "all", "of", "it"], "{err}");
}

/// Octave with the Java of the path; `None` where there is none, and the test prints that it is skipped.
fn octave(test: &str) -> Option<Command> {
    let mut settings = Command::new("java");
    let settings = jar::run(settings.args(["-XshowSettings:properties", "-version"])).unwrap();
    let home = settings.split("java.home = ").nth(1);
    let home = home
        .and_then(|it| it.lines().next())
        .expect("java tells its home");
    let octave = || {
        let mut octave = Command::new("octave-cli");
        octave
            .args(["--no-gui", "--norc"])
            .env("JAVA_HOME", home.trim());
        octave
    };
    let has_java = octave().args(["--eval", "disp(usejava('jvm'))"]).output();
    if has_java.is_ok_and(|it| it.stdout.starts_with(b"1")) {
        return Some(octave());
    }
    let message = format!("skipped: {test}: no Octave with Java (apt-get install octave)");
    let strict = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
    assert!(!strict, "{message}");
    eprintln!("{message}");
    None
}
