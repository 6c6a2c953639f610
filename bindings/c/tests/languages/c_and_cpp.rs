//! The header agrees with the code, and programs in C and C++ work as their page says.

use std::path::Path;
use std::process::Command;

use super::{HOME, install, library, programs, sh};

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

/// Builds a program against the library of this build, in a folder, and returns the command that runs it.
fn built(compiler: &str, source: &str, flags: &[&str], folder: &Path) -> Command {
    let program = folder.join("program");
    let library = library();
    std::os::unix::fs::symlink(&library, folder.join("libkadenz.so.0")).unwrap();
    let built = Command::new(compiler)
        .args(flags)
        .args(["-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .arg(&program)
        .arg(Path::new(HOME).join("tests").join(source))
        .arg("-I")
        .arg(Path::new(HOME).join("include"))
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    Command::new(program)
}

/// Builds a program, and runs it.
fn run(compiler: &str, source: &str, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut program = built(compiler, source, flags, folder.path());
    let output = program.arg(folder.path()).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_frame_of_a_server_that_was_restarted_is_not_copied() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::Stdio;

    use kadenz_library::camera::client::OpenOptions;
    use kadenz_library::camera::server::{CameraServer, ServerOptions};
    use kadenz_library::camera::source;

    let name = format!("c-frames-{}", std::process::id());
    let serve = || {
        let open = || source::open("test://320x240@50", &OpenOptions::default().source);
        CameraServer::start(Box::new(open), &ServerOptions::new(&name, "test://")).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let mut program = built("cc", "frames.c", &["-std=c11"], folder.path());
    let first = serve();
    let mut program = program
        .arg(&name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(program.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "taken");
    drop(first);
    let _second = serve();
    program.stdin.take().unwrap().write_all(b"\n").unwrap();
    let last = said.next().and_then(Result::ok);
    assert!(
        program.wait().unwrap().success() && last.is_some(),
        "{last:?}"
    );
}

#[test]
fn the_page_s_programs_run_as_printed() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, cpp) = (folder.path(), programs("c.md", "cpp"));
    install(&folder.join(".local"));
    let found = "export PKG_CONFIG_PATH=\"$HOME/.local/lib/pkgconfig\"\n";
    std::fs::write(folder.join("controller.c"), &programs("c.md", "c")[0]).unwrap();
    let commands = programs("c.md", "sh");
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
    if !super::has("cmake", "the package for CMake") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let prefix = folder.join("prefix");
    install(&prefix);
    std::fs::write(folder.join("controller.c"), &programs("c.md", "c")[0]).unwrap();
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

/// Each handle of the library can be freed, and no freed memory is used.
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
