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
    std::os::unix::fs::symlink(&library, folder.path().join("libkadenz.so.0")).unwrap();
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
            folder.path().display()
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

/// libkadenz.so: that of `cargo xtask test`, which built it with the workspace, or one that is built here.
fn library() -> PathBuf {
    if let Some(library) = std::env::var_os("KADENZ_C_LIBRARY") {
        return library.into();
    }
    // target/debug/deps/c_and_cpp-...
    let deps = std::env::current_exe().unwrap();
    let library = deps
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("libkadenz.so");
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

/// The programs of the page, by language, in their order.
fn programs(language: &str) -> Vec<String> {
    let page = std::fs::read_to_string(Path::new(HOME).join("../../docs/c.md")).unwrap();
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1);
    blocks
        .map(|it| it.split("```").next().unwrap().to_owned())
        .collect()
}

/// Installs the library below a folder.
fn install(prefix: &Path) {
    let mut xtask = Command::new(env!("CARGO"));
    xtask.args(["run", "-q", "-p", "xtask", "--", "install-c", "--library"]);
    let installed = xtask.arg(library()).arg("--prefix").arg(prefix).status();
    assert!(installed.unwrap().success());
}

fn sh(script: &str, folder: &Path) -> String {
    let told = Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .env("HOME", folder)
        .output()
        .unwrap();
    assert!(
        told.status.success(),
        "{script}: {}",
        String::from_utf8_lossy(&told.stderr)
    );
    String::from_utf8(told.stdout).unwrap()
}

#[test]
fn the_page_s_programs_run_as_printed() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, cpp) = (folder.path(), programs("cpp"));
    install(&folder.join(".local"));
    let found = "export PKG_CONFIG_PATH=\"$HOME/.local/lib/pkgconfig\"\n";
    std::fs::write(folder.join("controller.c"), &programs("c")[0]).unwrap();
    let commands = programs("sh");
    assert!(commands[0].contains(found), "{}", commands[0]);
    assert!(sh(&(found.to_owned() + &commands[1]), folder).contains("control"));
    assert_eq!(cpp.len(), 4);
    for (at, program) in cpp.iter().enumerate() {
        std::fs::write(folder.join("it.cpp"), program).unwrap();
        let build = "c++ -std=c++17 -Wall -Wextra -Werror it.cpp -o it $(pkg-config --cflags --libs kadenz)\n./it";
        let said = sh(&(found.to_owned() + build), folder);
        let expected = ["buckets", "ARM: 8 bytes", "59 devices", "640 x 480"][at];
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn cmake_finds_the_package() {
    if Command::new("cmake").arg("--version").output().is_err() {
        println!("skipped: the package for CMake: no cmake: apt-get install cmake");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let prefix = folder.join("prefix");
    install(&prefix);
    std::fs::write(folder.join("controller.c"), &programs("c")[0]).unwrap();
    let project = "cmake_minimum_required(VERSION 3.16)\nproject(controller C)\nfind_package(Kadenz 0.1 REQUIRED)\n\
                   add_executable(controller controller.c)\ntarget_link_libraries(controller Kadenz::kadenz)\n";
    std::fs::write(folder.join("CMakeLists.txt"), project).unwrap();
    let prefix = prefix.display();
    let built = sh(
        &format!(
            "cmake -DCMAKE_PREFIX_PATH={prefix} . > log 2>&1 || cat log\ncmake --build . >> log\n./controller"
        ),
        folder,
    );
    assert!(built.contains("control"), "{built}");
}

#[test]
fn a_program_in_c_measures_its_loop_publishes_and_sees() {
    assert_eq!(
        run("cc", "user.c", &["-std=c11"]).trim(),
        env!("CARGO_PKG_VERSION")
    );
}

/// Whatever this library hands out it takes back, and nothing is used that was freed.
#[test]
fn no_memory_is_lost_and_none_is_used_twice() {
    run(
        "cc",
        "user.c",
        &["-std=c11", "-g", "-fsanitize=address,undefined"],
    );
}

#[test]
fn a_program_in_cpp_does_the_same_without_freeing() {
    run("c++", "user.cpp", &["-std=c++17"]);
}
