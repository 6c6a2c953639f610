//! examples/hardware-in-the-loop: the controllers in C++ and in Octave hold the arm. The tests of their packages run
//! those in Python and Java.

use std::path::Path;
use std::process::Command;

use kadenz_library as library;
use library::msg::generate::Language;

use super::{install, octave, sh};

#[path = "../../../../examples/hardware-in-the-loop/tried.rs"]
mod tried;

#[test]
fn a_controller_in_cpp_holds_the_arm() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    install(&folder.join("kadenz"));
    tried::types(Language::Cpp, &folder.join("types"));
    let source = tried::example().join("controller.cpp");
    let build = format!(
        "c++ -std=c++17 -Wall -Wextra -Werror -Itypes '{}' -o controller $(pkg-config --cflags --libs kadenz)",
        source.display()
    );
    sh(
        &format!("export PKG_CONFIG_PATH=$PWD/kadenz/lib/pkgconfig\n{build}"),
        folder,
    );
    let run = folder.join("run");
    tried::hold(&run, |url| {
        let mut controller = Command::new(folder.join("controller"));
        controller.arg(&run).arg(url);
        controller
    });
}

#[test]
fn a_controller_in_octave_holds_the_arm() {
    let folder = tempfile::tempdir().unwrap();
    let folder: &Path = folder.path();
    let Some(paths) = octave::toolbox(folder) else {
        return;
    };
    tried::types(Language::Matlab, &folder.join("types"));
    let run = folder.join("run");
    tried::hold(&run, |url| {
        let (example, run) = (tried::example(), run.display());
        let script = format!(
            "{paths} addpath('types'); addpath('{}'); controller('{run}', '{url}')",
            example.display()
        );
        let mut controller = Command::new("octave-cli");
        controller.args(["--eval", &script]).current_dir(folder);
        controller
    });
}
