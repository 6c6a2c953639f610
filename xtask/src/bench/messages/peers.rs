//! Builds the peers, as far as their libraries are there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::process;
use crate::repository::Repository;

/// A peer's name and program.
#[derive(Debug, Default)]
pub struct Peers(Vec<(&'static str, PathBuf)>);

/// Peers in C: name, folder, libraries, and how to get what is missing.
const IN_C: [(&str, &str, &str, &str); 4] = [
    ("liblcm", "lcm", "lcm", "apt-get install liblcm-dev"),
    ("libzmq", "zmq", "zmq", "apt-get install libzmq3-dev"),
    ("nng", "nng", "nng", "apt-get install libnng-dev"),
    (
        "Cyclone DDS",
        "cyclonedds",
        "ddsc",
        "apt-get install cyclonedds-dev cyclonedds-tools",
    ),
];
/// Peers in Rust.
const IN_RUST: [(&str, &str); 2] = [("iceoryx2", "iceoryx2"), ("Zenoh", "zenoh")];
/// The liblcm that PyPI has; Debian's is older.
const WHEEL: &str = "lcm==1.5.3";

impl Peers {
    /// Builds all that can be built; says of the others how to get them.
    pub fn build(repository: &Repository) -> Result<Self> {
        let target = repository.target().join("peers");
        std::fs::create_dir_all(&target)
            .with_context(|| format!("cannot make {}", target.display()))?;
        let mut peers = Self::default();
        for (name, folder, library, remedy) in IN_C {
            let built = in_c(repository, &target, folder, library);
            peers.take(name, built, remedy);
        }
        let built = of_wheel(repository, &target);
        peers.take("liblcm 1.5.3", built, "pip download lcm==1.5.3");
        for (name, folder) in IN_RUST {
            let built = in_rust(repository, &target, folder);
            peers.take(name, built, "cargo fetches it: look at what it says");
        }
        Ok(peers)
    }

    fn take(&mut self, name: &'static str, built: Result<PathBuf>, remedy: &str) {
        match built {
            Ok(program) => self.0.push((name, program)),
            Err(error) => eprintln!("left out: {name}: {error:#} ({remedy})"),
        }
    }

    /// The program of a peer, where there is one.
    pub fn program(&self, name: &str) -> Option<&Path> {
        let found = self.0.iter().find(|(it, _)| *it == name);
        found.map(|(_, program)| program.as_path())
    }
}

fn in_c(repository: &Repository, target: &Path, folder: &str, library: &str) -> Result<PathBuf> {
    let program = target.join(folder);
    let source = repository.path("xtask/peers").join(folder);
    let mut compile = repository.command("cc");
    compile.args(["-O2", "-Wall", "-o"]).arg(&program);
    compile.arg(source.join("peer.c"));
    if folder == "cyclonedds" {
        let mut idlc = repository.command("idlc");
        idlc.current_dir(target).arg(source.join("probe.idl"));
        process::output(&mut idlc)?;
        compile.arg("-I").arg(target).arg(target.join("probe.c"));
    }
    process::output(compile.arg(format!("-l{library}")))?;
    Ok(program)
}

/// liblcm as PyPI's wheel holds it.
fn of_wheel(repository: &Repository, target: &Path) -> Result<PathBuf> {
    let unpacked = target.join("wheel");
    if !unpacked.join("include/lcm/lcm.h").exists() {
        let mut pip = repository.command("python3");
        pip.args(["-m", "pip", "download", "--no-deps", "--quiet", "--dest"]);
        process::output(pip.arg(target).arg(WHEEL))?;
        let wheels = std::fs::read_dir(target)?.filter_map(Result::ok);
        let wheel = wheels.map(|it| it.path()).find(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("lcm-") && name.ends_with(".whl")
        });
        let wheel = wheel.context("pip left no wheel")?;
        let mut unzip = repository.command("python3");
        unzip
            .args(["-m", "zipfile", "-e"])
            .arg(wheel)
            .arg(&unpacked);
        process::output(&mut unzip)?;
    }
    let program = target.join("lcm-1.5.3");
    let libraries = unpacked.join("lib");
    let mut compile = repository.command("cc");
    compile.args(["-O2", "-Wall", "-o"]).arg(&program);
    compile.arg(repository.path("xtask/peers/lcm/peer.c"));
    compile.arg("-I").arg(unpacked.join("include"));
    compile.arg("-L").arg(&libraries);
    compile.arg(format!("-Wl,-rpath,{}", libraries.display()));
    process::output(compile.arg("-llcm"))?;
    Ok(program)
}

fn in_rust(repository: &Repository, target: &Path, folder: &str) -> Result<PathBuf> {
    let manifest = repository.path("xtask/peers").join(folder);
    let target = target.join("rust");
    let mut cargo = repository.command("cargo");
    cargo.args(["build", "--release", "--quiet", "--manifest-path"]);
    cargo.arg(manifest.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(&target);
    process::output(&mut cargo)?;
    Ok(target.join("release").join(format!("peer-{folder}")))
}
