//! Compilers and interpreters of the languages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kadenz_msg::generate::{self, Language};
use kadenz_msg::types::Types;
use tempfile::TempDir;

/// Whether a program exists; otherwise reports the test as skipped.
pub(crate) fn has(test: &str, program: &Path, arguments: &[&str], remedy: &str) -> bool {
    let found = Command::new(program).args(arguments).output();
    if found.is_ok_and(|it| it.status.success()) {
        return true;
    }
    let wanted = [&[program.to_str().unwrap_or("")], arguments]
        .concat()
        .join(" ");
    eprintln!("skipped: {test}: no `{wanted}`; {remedy}");
    let strict = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
    assert!(!strict, "{test} may not be skipped: {remedy}");
    false
}

pub(crate) fn python(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("KADENZ_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| "python3".into());
    has(test, &python, &["--version"], "apt-get install python3").then_some(python)
}

pub(crate) fn octave(test: &str) -> Option<Command> {
    let octave = Path::new("octave-cli");
    let found = has(test, octave, &["--version"], "apt-get install octave");
    let mut command = Command::new(octave);
    command.args(["--quiet", "--no-init-file"]);
    found.then_some(command)
}

/// A file beside this one.
pub(crate) fn program(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages");
    folder.join(name)
}

/// The code for types, in a folder that is removed when the test ends.
pub(crate) fn code(types: &Types, language: Language) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in generate::generate(types, language).unwrap().files {
        let path = folder.path().join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &file.text).unwrap();
    }
    folder
}

/// The output of a program that must succeed, run in `folder` with `input`.
pub(crate) fn output(command: &mut Command, folder: &Path, input: &str) -> String {
    let given = folder.join("given");
    std::fs::write(&given, input).unwrap();
    let command = command.current_dir(folder);
    let command = command.env("PYTHONDONTWRITEBYTECODE", "1");
    let command = command.stdin(std::fs::File::open(given).unwrap());
    let done = command.stderr(Stdio::piped()).output().unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{command:?}: {errors}\n{said}");
    said
}

/// The interface of messages from the Java package.
const INTERFACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../bindings/java/java/kadenz/Message.java"
);

/// The classes of types and of a program beside this file, compiled for Java 8.
pub(crate) fn java(test: &str, types: &Types, name: &str) -> Option<TempDir> {
    let text = std::fs::read_to_string(program(name)).unwrap();
    java_text(test, types, name, &text)
}

/// The classes of types and of a program.
pub(crate) fn java_text(test: &str, types: &Types, name: &str, text: &str) -> Option<TempDir> {
    let remedy = "apt-get install default-jdk-headless";
    if !has(test, Path::new("javac"), &["-version"], remedy) {
        return None;
    }
    let folder = code(types, Language::Java);
    std::fs::write(folder.path().join(name), text).unwrap();
    let interface = std::fs::read(INTERFACE).unwrap();
    std::fs::write(folder.path().join("kadenz/Message.java"), interface).unwrap();
    let mut javac = Command::new("javac");
    javac.args(["--release", "8", "-Xlint:all,-options", "-Werror"]);
    javac.args(["-encoding", "UTF-8", "-d", "classes"]);
    output(javac.args(files(folder.path(), "java")), folder.path(), "");
    Some(folder)
}

/// A program made of lines of the page.
pub(crate) fn main_of_java(lines: &str) -> String {
    format!(
        "public class Shown {{ public static void main(String[] none) {{\n{lines}\nfor (byte it : bytes) System.out.printf(\"%02x\", it);\n}} }}\n"
    )
}

/// A program in C or C++ made of lines of the page, with a message of `size` bytes at `buffer`.
pub(crate) fn main_of_c(lines: &str) -> String {
    let (head, body): (Vec<&str>, Vec<&str>) = lines.lines().partition(|it| it.starts_with('#'));
    let print =
        "for (ptrdiff_t i = 0; i < (ptrdiff_t)size; ++i) printf(\"%02x\", (unsigned)buffer[i]);";
    format!(
        "#include <stdio.h>\n{}\nint main(void) {{\n{}\n{print}\n}}\n",
        head.join("\n"),
        body.join("\n")
    )
}

/// Compiles a program in C or C++, without warnings, which stops at undefined behaviour.
pub(crate) fn sanitized(
    test: &str,
    compiler: &str,
    source: &Path,
    folder: &Path,
) -> Option<PathBuf> {
    let (remedy, standard) = match compiler {
        "cc" => ("apt-get install gcc", "-std=c11"),
        _ => ("apt-get install g++", "-std=c++17"),
    };
    if !has(test, Path::new(compiler), &["--version"], remedy) {
        return None;
    }
    let mut compile = Command::new(compiler);
    compile.args([standard, "-Wall", "-Wextra", "-pedantic", "-Wshadow"]);
    compile.args([
        "-Wconversion",
        "-Werror",
        "-O1",
        "-fno-sanitize-recover=all",
    ]);
    compile.args(["-fsanitize=address,undefined", "-I.", "-o", "it"]);
    output(compile.arg(source), folder, "");
    Some(folder.join("it"))
}

/// Writes `types.inc`, which passes all types to a macro, and `all.inc`, which includes their headers.
pub(crate) fn list(types: &Types, folder: &Path, separator: &str, extension: &str) {
    let mut named = String::new();
    let mut included = String::new();
    for definition in types.iter() {
        let name = definition.name().to_string();
        let called = name.replace('.', separator);
        let path = match extension {
            "h" => called.clone(),
            _ => name.replace('.', "/"),
        };
        named += &format!("TYPE(\"{name}\", {called})\n");
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
