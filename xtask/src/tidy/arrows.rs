//! Directions between rooms, and who may carry which dependency.

use super::Finding;
use crate::cargo::{Crate, Dependency};

/// Who may depend on whom. A room that is missing here may not exist.
const ARROWS: &[(&str, &[&str])] = &[
    ("kadenz-rt", &[]),
    ("kadenz-record", &[]),
    ("kadenz-udp", &[]),
    ("kadenz-derive", &[]),
    ("kadenz-msg", &["kadenz-rt"]),
    ("kadenz-ethercat", &["kadenz-rt"]),
    ("kadenz-camera", &["kadenz-rt"]),
    (
        "kadenz-lab",
        &["kadenz-rt", "kadenz-record", "kadenz-udp", "kadenz-msg"],
    ),
    ("kadenz-report", &["kadenz-record"]),
    (
        "kadenz",
        &[
            "kadenz-rt",
            "kadenz-record",
            "kadenz-udp",
            "kadenz-derive",
            "kadenz-msg",
            "kadenz-ethercat",
            "kadenz-camera",
            "kadenz-lab",
            "kadenz-report",
        ],
    ),
    (
        "kadenz-cli",
        &[
            "kadenz",
            "kadenz-rt",
            "kadenz-record",
            "kadenz-udp",
            "kadenz-msg",
            "kadenz-ethercat",
            "kadenz-camera",
            "kadenz-lab",
            "kadenz-report",
        ],
    ),
    ("xtask", &[]),
];

/// Dependencies that mark a room: outside of it they would blur what the room is.
const CARRIERS: &[(&str, &[&str], &str)] = &[
    (
        "anyhow",
        &["kadenz-cli", "xtask"],
        "libraries have one error enum per operation",
    ),
    (
        "clap",
        &["kadenz-cli"],
        "only the program has a command line",
    ),
    (
        "indicatif",
        &["kadenz-cli"],
        "only the program talks to a terminal",
    ),
    (
        "tracing-subscriber",
        &["kadenz-cli"],
        "only the program decides where a log goes",
    ),
    (
        "tracing",
        &["kadenz-lab", "kadenz-cli"],
        "what runs on the real-time path never logs",
    ),
    (
        "libc",
        &["kadenz-rt"],
        "operating-system code lives on the floor",
    ),
    (
        "windows-sys",
        &["kadenz-rt"],
        "operating-system code lives on the floor",
    ),
    (
        "parquet",
        &["kadenz-report", "kadenz-msg"],
        "only the export of runs and the tables of logs write Parquet",
    ),
    (
        "arrow-array",
        &["kadenz-record", "kadenz-report"],
        "samples are read through kadenz-record",
    ),
    (
        "syn",
        &["kadenz-derive"],
        "only the derive macro reads Rust",
    ),
    (
        "loom",
        &["kadenz-record", "kadenz-msg", "kadenz-ethercat"],
        "loom models what shares memory",
    ),
];

/// Rule `arrows`: holds for tests and examples too, or a crate could not be taken out alone.
pub fn between_rooms(crates: &[Crate]) -> Vec<Finding> {
    let is_room = |name: &str| crates.iter().any(|it| it.name == name);
    let mut findings = Vec::new();
    for room in crates {
        let place = format!("{}/Cargo.toml", room.folder);
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == room.name) else {
            let text = format!("the room {} is not in the plan of the house", room.name);
            findings.push(Finding::error(place, text));
            continue;
        };
        let wrong = |it: &&Dependency| is_room(&it.name) && !allowed.contains(&it.name.as_str());
        findings.extend(room.dependencies.iter().filter(wrong).map(|it| {
            let text = format!("{} must not depend on {}", room.name, it.name);
            Finding::error(place.as_str(), text)
        }));
    }
    findings
}

/// Rule `carriers`: what ships; tests may use what they need.
pub fn carriers(crates: &[Crate]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for room in crates {
        for (dependency, allowed, reason) in CARRIERS {
            let carried = room
                .dependencies
                .iter()
                .any(|it| it.name == *dependency && !it.dev);
            if carried && !allowed.contains(&room.name.as_str()) {
                let text = format!("{} must not carry {dependency}: {reason}", room.name);
                findings.push(Finding::error(format!("{}/Cargo.toml", room.folder), text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::places;

    fn room(name: &str, dependencies: &[(&str, bool)]) -> Crate {
        let dependency = |(name, dev): &(&str, bool)| Dependency {
            name: (*name).to_owned(),
            dev: *dev,
        };
        Crate {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            dependencies: dependencies.iter().map(dependency).collect(),
        }
    }

    #[test]
    fn an_arrow_against_the_plan_is_found() {
        let crates = [
            room("kadenz-rt", &[("kadenz-record", false), ("libc", false)]),
            room("kadenz-record", &[]),
            room(
                "kadenz-lab",
                &[("kadenz-rt", false), ("kadenz-record", false)],
            ),
            room("kadenz-report", &[("kadenz-rt", true)]),
        ];
        let findings = between_rooms(&crates);
        assert_eq!(
            places(&findings),
            [
                "crates/kadenz-rt/Cargo.toml",
                "crates/kadenz-report/Cargo.toml"
            ]
        );
    }

    #[test]
    fn a_room_that_nobody_planned_is_found() {
        let findings = between_rooms(&[room("kadenz-utils", &[])]);
        assert_eq!(places(&findings), ["crates/kadenz-utils/Cargo.toml"]);
    }

    #[test]
    fn a_dependency_in_the_wrong_room_is_found_unless_only_tests_use_it() {
        let crates = [
            room("kadenz-cli", &[("anyhow", false), ("clap", false)]),
            room("kadenz-lab", &[("anyhow", false)]),
            room("kadenz-record", &[("libc", true)]),
        ];
        assert_eq!(places(&carriers(&crates)), ["crates/kadenz-lab/Cargo.toml"]);
    }
}
