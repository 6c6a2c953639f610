//! Builds the peers, as far as their libraries are there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::roster::{Contestant, Player};
use crate::process;
use crate::repository::Repository;

/// A peer's name and program.
#[derive(Debug, Default)]
pub struct Peers(Vec<(&'static str, PathBuf)>);

/// A peer in C or C++.
struct InC {
    name: &'static str,
    folder: &'static str,
    libraries: &'static [&'static str],
    remedy: &'static str,
}

const IN_C: [InC; 6] = [
    InC {
        name: "liblcm",
        folder: "lcm",
        libraries: &["lcm"],
        remedy: "apt-get install liblcm-dev",
    },
    InC {
        name: "libzmq",
        folder: "zmq",
        libraries: &["zmq"],
        remedy: "apt-get install libzmq3-dev",
    },
    InC {
        name: "nng",
        folder: "nng",
        libraries: &["nng"],
        remedy: "apt-get install libnng-dev",
    },
    InC {
        name: "Cyclone DDS",
        folder: "cyclonedds",
        libraries: &["ddsc"],
        remedy: "apt-get install cyclonedds-dev cyclonedds-tools",
    },
    InC {
        name: "librabbitmq-c",
        folder: "rabbitmq-c",
        libraries: &["rabbitmq"],
        remedy: "apt-get install librabbitmq-dev",
    },
    InC {
        name: "roscpp",
        folder: "roscpp",
        libraries: &[
            "roscpp",
            "rosconsole",
            "roscpp_serialization",
            "rostime",
            "boost_thread",
        ],
        remedy: "apt-get install libroscpp-dev libstd-msgs-dev",
    },
];
/// Peers in Rust, each in the folder of its name.
const IN_RUST: [&str; 3] = ["iceoryx2", "zenoh", "rustdds"];
/// The liblcm that PyPI has; Debian's is older.
const WHEEL: &str = "lcm==1.5.3";
const OF_WHEEL: &str = "liblcm 1.5.3";

impl Peers {
    /// Builds all that can be built of those that play; says of the others how to get them.
    pub fn build(repository: &Repository, contestants: &[Contestant]) -> Result<Self> {
        let target = repository.target().join("peers");
        std::fs::create_dir_all(&target)
            .with_context(|| format!("cannot make {}", target.display()))?;
        let plays = |peer: &'static str| {
            let mut players = contestants.iter().map(|it| it.player);
            players.any(|it| it == Player::Peer(peer))
        };
        let mut peers = Self::default();
        for it in IN_C.iter().filter(|it| plays(it.name)) {
            peers.take(it.name, in_c(repository, &target, it), it.remedy);
        }
        if plays(OF_WHEEL) {
            let built = of_wheel(repository, &target);
            peers.take(OF_WHEEL, built, "pip download lcm==1.5.3");
        }
        for name in IN_RUST.into_iter().filter(|it| plays(it)) {
            let built = in_rust(repository, &target, name);
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

fn in_c(repository: &Repository, target: &Path, peer: &InC) -> Result<PathBuf> {
    let program = target.join(peer.folder);
    let source = repository.path("xtask/peers").join(peer.folder);
    let is_plus_plus = source.join("peer.cpp").exists();
    let (compiler, file) = match is_plus_plus {
        true => ("c++", "peer.cpp"),
        false => ("cc", "peer.c"),
    };
    let mut compile = repository.command(compiler);
    compile.args(["-O2", "-Wall", "-o"]).arg(&program);
    compile.arg(source.join(file));
    if peer.folder == "cyclonedds" {
        let mut idlc = repository.command("idlc");
        idlc.current_dir(target).arg(source.join("probe.idl"));
        process::output(&mut idlc)?;
        compile.arg("-I").arg(target).arg(target.join("probe.c"));
    }
    compile.args(peer.libraries.iter().map(|it| format!("-l{it}")));
    process::output(&mut compile)?;
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
