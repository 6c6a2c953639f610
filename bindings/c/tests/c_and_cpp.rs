//! The header is what the code says, and programs in C and C++ do with it what their pages say.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::path::{Path, PathBuf};
use std::process::Command;

const HOME: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_header_is_that_of_the_code() {
    let config = cbindgen::Config::from_file(Path::new(HOME).join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new()
        .with_crate(HOME)
        .with_config(config)
        .generate()
        .unwrap();
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = Path::new(HOME).join("include/kadenz.h");
    if std::env::var_os("KADENZ_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let said = "run `KADENZ_BLESS=1 cargo test -p kadenz-c` and look at the difference";
    assert!(
        std::fs::read_to_string(path).unwrap_or_default() == made,
        "{said}"
    );
}

/// Builds a program against the library of this build, and runs it.
fn run(compiler: &str, source: &str, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let library = library();
    let built = Command::new(compiler)
        .args(flags)
        .args(["-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .arg(&program)
        .arg(Path::new(HOME).join("tests").join(source))
        .arg("-I")
        .arg(Path::new(HOME).join("include"))
        .arg(&library)
        .arg(format!(
            "-Wl,-rpath,{}",
            library.parent().unwrap().display()
        ))
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let told = Command::new(&program).arg(folder.path()).output().unwrap();
    assert!(
        told.status.success(),
        "{}",
        String::from_utf8_lossy(&told.stderr)
    );
    String::from_utf8(told.stdout).unwrap()
}

/// libkadenz.so, built as the tests were.
fn library() -> PathBuf {
    // target/debug/deps/c_and_cpp-...
    let deps = std::env::current_exe().unwrap();
    let debug = deps.parent().unwrap().parent().unwrap();
    let library = debug.join("libkadenz.so");
    let built = Command::new(env!("CARGO"))
        .args(["build", "-p", "kadenz-c"])
        .status()
        .unwrap();
    assert!(
        built.success() && library.is_file(),
        "{} is not there",
        library.display()
    );
    library
}

#[test]
fn a_program_in_c_measures_its_loop_publishes_and_sees() {
    assert_eq!(
        run("cc", "user.c", &["-std=c11"]).trim(),
        env!("CARGO_PKG_VERSION")
    );
}

#[test]
fn a_program_in_cpp_does_the_same_without_freeing() {
    run("c++", "user.cpp", &["-std=c++17"]);
}
