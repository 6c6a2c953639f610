//! What `kadenz msg gen` writes in languages other than Rust: LCM's messages and ours are read and
//! written again to the byte, and what is no message is refused.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "random members are made of random bits"
)]

mod messages;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kadenz_msg::generate::{self, GenerateError, Language};
use kadenz_msg::types::Types;
use messages::{Case, cases, hex, types};
use tempfile::TempDir;

/// Whether a program is there; otherwise the test is named as skipped.
fn has(test: &str, program: &Path, argument: &str, remedy: &str) -> bool {
    let found = Command::new(program).arg(argument).output();
    if found.is_ok_and(|it| it.status.success()) {
        return true;
    }
    eprintln!("skipped: {test}: no {}; {remedy}", program.display());
    let strict = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
    assert!(!strict, "{test} may not be skipped: {remedy}");
    false
}

fn python(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("KADENZ_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| "python3".into());
    has(test, &python, "--version", "apt-get install python3").then_some(python)
}

/// A program beside this file.
fn program(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages");
    folder.join(name)
}

/// The code for types, in a folder that goes when the test ends.
fn code(types: &Types, language: Language) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in generate::generate(types, language).unwrap().files {
        let path = folder.path().join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &file.text).unwrap();
    }
    folder
}

/// What a program prints that ends well; in `folder`, with `input`.
fn output(command: &mut Command, folder: &Path, input: &str) -> String {
    let given = folder.join("given");
    std::fs::write(&given, input).unwrap();
    let command = command.current_dir(folder);
    let command = command.stdin(std::fs::File::open(given).unwrap());
    let done = command.stderr(Stdio::piped()).output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{command:?}: {told}\n{said}");
    said
}

/// Gives messages, a line each, to a program that answers with the bytes it encodes again, or `refused: `
/// and why.
fn echo(command: &mut Command, folder: &Path, cases: &[Case]) {
    let line = |it: &Case| format!("{} {}\n", it.name, hex(&it.bytes));
    let input: String = cases.iter().map(line).collect();
    let said = output(command, folder, &input);
    let mut answers = said.lines();
    for case in cases {
        let (name, given, answer) = (&case.name, hex(&case.bytes), answers.next().unwrap_or(""));
        let refused = answer.strip_prefix("refused: ");
        assert_eq!(refused.is_none(), case.valid, "{name} {given}: {answer}");
        assert!(refused.is_none_or(|it| it.len() > 10), "{name}: {answer}");
    }
    assert_eq!(answers.next(), None);
    assert!(cases.iter().filter(|it| it.whole).count() > 400);
    for (case, answer) in cases.iter().zip(said.lines()) {
        assert!(!case.whole || answer == hex(&case.bytes), "{}: {} {answer}", case.name, hex(&case.bytes));
    }
}

#[test]
fn python_speaks() {
    let Some(python) = python("python_speaks") else {
        return;
    };
    let folder = code(&types(), Language::Python);
    let mut command = Command::new(&python);
    command.env("PYTHONPATH", folder.path());
    command.arg(program("echo.py"));
    echo(&mut command, folder.path(), &cases(1));
}

#[test]
fn java_speaks() {
    let Some(classes) = java("java_speaks", &types(), "Echo.java") else {
        return;
    };
    let mut command = Command::new("java");
    command.args(["-Xmx64m", "-cp", "classes", "Echo"]);
    echo(&mut command, classes.path(), &cases(1));
}

/// The classes of types and of a program beside this file, compiled for Java 8.
fn java(test: &str, types: &Types, program: &str) -> Option<TempDir> {
    let remedy = "apt-get install default-jdk-headless";
    if !has(test, Path::new("javac"), "-version", remedy) {
        return None;
    }
    let folder = code(types, Language::Java);
    std::fs::create_dir_all(folder.path().join("kadenz")).unwrap();
    for name in ["Message.java", program] {
        let place = if name == "Message.java" { "kadenz/" } else { "" };
        let text = std::fs::read(crate::program(name)).unwrap();
        std::fs::write(folder.path().join(format!("{place}{name}")), text).unwrap();
    }
    let sources = files(folder.path(), "java");
    let mut javac = Command::new("javac");
    javac.args(["--release", "8", "-Xlint:all,-options", "-Werror", "-encoding", "UTF-8"]);
    output(javac.args(["-d", "classes"]).args(sources), folder.path(), "");
    Some(folder)
}

#[test]
fn c_speaks() {
    if !has("c_speaks", Path::new("cc"), "--version", "apt-get install gcc") {
        return;
    }
    let types = types();
    let folder = code(&types, Language::C);
    list(&types, folder.path(), "_", "h");
    let mut compile = Command::new("cc");
    compile.args(["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wconversion", "-Werror"]);
    compile.args(["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I."]);
    output(compile.arg(program("echo.c")).args(["-o", "echo"]), folder.path(), "");
    echo(&mut Command::new(folder.path().join("echo")), folder.path(), &cases(1));
}

#[test]
fn cpp_speaks() {
    if !has("cpp_speaks", Path::new("c++"), "--version", "apt-get install g++") {
        return;
    }
    let types = types();
    let folder = code(&types, Language::Cpp);
    list(&types, folder.path(), "::", "hpp");
    let mut compile = Command::new("c++");
    compile.args(["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wconversion", "-Werror"]);
    compile.args(["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I."]);
    output(compile.arg(program("echo.cpp")).args(["-o", "echo"]), folder.path(), "");
    echo(&mut Command::new(folder.path().join("echo")), folder.path(), &cases(1));
}

#[test]
fn octave_speaks() {
    let octave = Path::new("octave-cli");
    if !has("octave_speaks", octave, "--version", "apt-get install octave") {
        return;
    }
    let folder = code(&types(), Language::Matlab);
    let mut command = Command::new(octave);
    command.args(["--quiet", "--no-init-file"]);
    echo(command.arg(program("echo.m")), folder.path(), &cases(7));
}

/// A file `types.inc` that names all types to a macro, and one that includes their headers.
fn list(types: &Types, folder: &Path, separator: &str, extension: &str) {
    let mut named = String::new();
    let mut included = String::new();
    for definition in types.iter() {
        let name = definition.name().to_string();
        let called = name.replace('.', separator);
        named += &format!("TYPE(\"{name}\", {called})\n");
        let path = if extension == "h" { called } else { name.replace('.', "/") };
        included += &format!("#include \"{path}.{extension}\"\n");
    }
    std::fs::write(folder.join("types.inc"), named).unwrap();
    std::fs::write(folder.join("all.inc"), included).unwrap();
}

/// All files of a kind below a folder.
fn files(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, kind));
        } else if path.extension().is_some_and(|it| it == kind) {
            found.push(path);
        }
    }
    found.sort();
    found
}
