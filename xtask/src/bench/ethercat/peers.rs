//! Builds the MainDevices and the segment, as far as this machine can.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::BusContestant;
use crate::files;
use crate::process;
use crate::repository::Repository;

/// Kadenz's MainDevice, and the program that runs a command beside a segment.
pub(crate) const OURS: &str = "kadenz-ethercat";
pub(crate) const BESIDE: &str = "beside_segment";
pub(crate) const ETHERCRAB: &str = "ethercrab";
/// A program in C, from the sources that pysoem ships.
pub(crate) const SOEM: &str = "soem";

const PYSOEM: &str = "pysoem==1.1.13";
const UNPACKED: &str = "pysoem-1.1.13";

/// The paths of the programs.
#[derive(Debug)]
pub(crate) struct Peers {
    built: Vec<(&'static str, PathBuf)>,
}

impl Peers {
    /// Builds the segment and the contestants' programs; prints how to get what is missing.
    pub(crate) fn build(repository: &Repository, contestants: &[BusContestant]) -> Result<Self> {
        let target = repository.target().join("peers");
        files::make_folder(&target)?;
        let programs = in_rust(repository, &target, OURS)?;
        let mut built = vec![(BESIDE, programs.join(BESIDE))];
        built.push((OURS, programs.join(format!("peer-{OURS}"))));
        let is_chosen = |peer| contestants.iter().any(|it| it.peer == peer);
        if is_chosen(ETHERCRAB) {
            match in_rust(repository, &target, ETHERCRAB) {
                Ok(programs) => built.push((ETHERCRAB, programs.join("peer-ethercrab"))),
                Err(error) => eprintln!("left out: ethercrab: {error:#} (cargo fetches it)"),
            }
        }
        if is_chosen(SOEM) {
            match soem(repository, &target.join("soem")) {
                Ok(program) => built.push((SOEM, program)),
                Err(error) => eprintln!("left out: SOEM: {error:#} (pip download {PYSOEM})"),
            }
        }
        Ok(Self { built })
    }

    /// The path of a program.
    pub(crate) fn program(&self, peer: &str) -> Result<PathBuf> {
        let found = self.built.iter().find(|(name, _)| *name == peer);
        let (_, program) = found.context("it was not built")?;
        Ok(program.clone())
    }
}

/// Builds the programs in Rust; returns their folder.
fn in_rust(repository: &Repository, target: &Path, folder: &str) -> Result<PathBuf> {
    let target = target.join("rust");
    let words = format!("build --release --quiet --manifest-path xtask/peers/{folder}/Cargo.toml");
    let mut cargo = repository.cargo(&words);
    process::output(cargo.arg("--target-dir").arg(&target))?;
    Ok(target.join("release"))
}

fn soem(repository: &Repository, folder: &Path) -> Result<PathBuf> {
    let sources = folder.join(UNPACKED);
    if !sources.join("soem").is_dir() {
        std::fs::create_dir_all(folder)?;
        let mut pip = repository.command("python3");
        pip.args("-m pip download --quiet --no-deps --no-binary :all: --dest".split(' '));
        process::output(pip.arg(folder).arg(PYSOEM))?;
        let mut unpack = repository.command("python3");
        unpack.args(["-m", "tarfile", "-e"]);
        unpack.arg(folder.join(format!("{UNPACKED}.tar.gz")));
        process::output(unpack.arg(folder))?;
    }
    let program = folder.join("peer");
    let mut compile = repository.command("cc");
    compile.args(["-O2", "-w", "-DEC_VER2", "-DUSE_SOEM_CONFIG_H", "-o"]);
    compile.arg(&program);
    compile.arg(repository.path("xtask/peers/soem/peer.c"));
    compile.arg(sources.join("src/soem/soem_config.c"));
    compile.arg(sources.join("soem/osal/linux/osal.c"));
    for below in ["soem/oshw/linux", "soem/soem"] {
        compile.args(in_c(&sources.join(below))?);
    }
    for below in "soem/soem soem/osal soem/osal/linux soem/oshw/linux src/soem".split(' ') {
        compile.arg("-I").arg(sources.join(below));
    }
    process::output(compile.args(["-lpthread", "-lrt"]))?;
    Ok(program)
}

/// The C files of a folder, except for Ethernet over EtherCAT, which does not compile in this version.
fn in_c(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    let paths = files.filter_map(|it| Some(it.ok()?.path()));
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".c") && name != "ethercateoe.c"
    };
    Ok(paths.filter(is_wanted).collect())
}
