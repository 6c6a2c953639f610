//! The directions of dependencies between crates, the crates that may have marked dependencies, and the number of
//! third-party crates.

use anyhow::Result;

use super::Finding;
use crate::cargo::{Crate, Dependency};

/// The crates that each crate may depend on. A crate that is missing here may not exist.
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
        &[
            "kadenz-rt",
            "kadenz-record",
            "kadenz-udp",
            "kadenz-msg",
            "kadenz-camera",
        ],
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
    // The program and the languages' packages use the front crate alone.
    ("kadenz-cli", &["kadenz"]),
    ("kadenz-c", &["kadenz"]),
    ("kadenz-java", &["kadenz"]),
    ("kadenz-python", &["kadenz"]),
    ("xtask", &[]),
];

/// Dependencies that only some crates may have: elsewhere they would blur the crate's purpose.
const CARRIERS: &[(&[&str], &[&str], &str)] = &[
    (
        &["anyhow"],
        &["kadenz-cli", "xtask"],
        "libraries have one error enum per operation",
    ),
    (
        &["clap"],
        &["kadenz-cli"],
        "only the program has a command line",
    ),
    (
        &["indicatif"],
        &["kadenz-cli"],
        "only the program talks to a terminal",
    ),
    (
        &["tracing-subscriber"],
        &["kadenz-cli"],
        "only the program decides where a log goes",
    ),
    (
        &["tracing"],
        &["kadenz-lab", "kadenz-cli"],
        "what runs on the real-time path never logs",
    ),
    (
        &["libc", "rustix", "windows-sys"],
        &["kadenz-rt"],
        "operating-system code lives in kadenz-rt",
    ),
    (
        &["parquet"],
        &["kadenz-report", "kadenz-msg"],
        "only the export of runs and the tables of logs write Parquet",
    ),
    (
        &["arrow-array"],
        &["kadenz-record", "kadenz-report"],
        "samples are read through kadenz-record",
    ),
    (
        &["syn"],
        &["kadenz-derive"],
        "only the derive macro reads Rust",
    ),
    (
        &["loom"],
        &["kadenz-record", "kadenz-msg", "kadenz-ethercat"],
        "loom models what shares memory",
    ),
];

/// Rule `arrows`: holds for tests and examples too, or a crate could not be taken out alone.
pub(crate) fn between_crates(crates: &[Crate]) -> Vec<Finding> {
    let is_ours = |name: &str| crates.iter().any(|it| it.name == name);
    let mut findings = Vec::new();
    for member in crates {
        let place = format!("{}/Cargo.toml", member.folder);
        let name = &member.name;
        let Some((_, allowed)) = ARROWS.iter().find(|(it, _)| it == name) else {
            let text = format!("the crate {name} is not in the plan of the workspace");
            findings.push(Finding::error(place, text));
            continue;
        };
        let wrong = |it: &&Dependency| is_ours(&it.name) && !allowed.contains(&it.name.as_str());
        findings.extend(member.dependencies.iter().filter(wrong).map(|it| {
            let text = format!("{name} must not depend on {}", it.name);
            Finding::error(place.as_str(), text)
        }));
    }
    findings
}

/// Rule `carriers`: for released code; tests may use any dependency.
pub(crate) fn carriers(crates: &[Crate]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in crates {
        let is_carried = |dependency: &str| {
            let mut all = member.dependencies.iter();
            all.any(|it| it.name == dependency && !it.dev)
        };
        for (dependencies, allowed, reason) in CARRIERS {
            if allowed.contains(&member.name.as_str()) {
                continue;
            }
            for dependency in dependencies.iter().filter(|it| is_carried(it)) {
                let text = format!("{} must not carry {dependency}: {reason}", member.name);
                let place = format!("{}/Cargo.toml", member.folder);
                findings.push(Finding::error(place, text));
            }
        }
    }
    findings
}

/// A build that has few third-party crates.
pub(crate) struct Build {
    name: &'static str,
    /// Its options of cargo.
    pub(crate) selection: &'static [&'static str],
    limit: usize,
}

/// The builds that users have, with the limits of docs/decisions/0406-what-the-program-s-crates-are-for.md.
pub(crate) const BUILDS: &[Build] = &[
    Build {
        name: "kadenz-cli",
        selection: &["--package=kadenz-cli"],
        limit: 150,
    },
    Build {
        name: "kadenz with messages alone",
        selection: &[
            "--package=kadenz",
            "--no-default-features",
            "--features=messages",
        ],
        limit: 60,
    },
];

/// Rule `crate-count`. An unknown number is an error where nothing may be skipped.
pub(crate) fn third_party(counts: &[Result<usize>], skips_nothing: bool) -> Vec<Finding> {
    let counted = BUILDS.iter().zip(counts);
    let findings = counted.filter_map(|(build, count)| match count {
        Ok(count) if *count <= build.limit => None,
        Ok(count) => {
            let (name, limit) = (build.name, build.limit);
            let text = format!("{name} has {count} third-party crates; {limit} at most");
            Some(Finding::error("Cargo.lock", text))
        }
        Err(error) => {
            let name = build.name;
            let text = format!("skipped for {name}: {error:#}; `cargo fetch --locked` may help");
            Some(Finding {
                grave: skips_nothing,
                ..Finding::error("Cargo.lock", text)
            })
        }
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::places;

    fn member(name: &str, dependencies: &[(&str, bool)]) -> Crate {
        let dependency = |(name, dev): &(&str, bool)| Dependency {
            name: (*name).to_owned(),
            dev: *dev,
        };
        Crate {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            dependencies: dependencies.iter().map(dependency).collect(),
            ..Crate::default()
        }
    }

    #[test]
    fn an_arrow_against_the_plan_is_found() {
        let crates = [
            member("kadenz-rt", &[("kadenz-record", false), ("libc", false)]),
            member("kadenz-record", &[]),
            member(
                "kadenz-lab",
                &[("kadenz-rt", false), ("kadenz-record", false)],
            ),
            member("kadenz-report", &[("kadenz-rt", true)]),
        ];
        let findings = between_crates(&crates);
        assert_eq!(
            places(&findings),
            [
                "crates/kadenz-rt/Cargo.toml",
                "crates/kadenz-report/Cargo.toml"
            ]
        );
    }

    #[test]
    fn a_crate_that_is_not_planned_is_found() {
        let findings = between_crates(&[member("kadenz-utils", &[])]);
        assert_eq!(places(&findings), ["crates/kadenz-utils/Cargo.toml"]);
    }

    #[test]
    fn too_many_crates_are_found_and_an_unknown_number_is_an_error_where_nothing_may_be_skipped() {
        let found = third_party(&[Ok(150), Ok(61)], false);
        assert!(
            found[0].text.contains("has 61") && found.len() == 1,
            "{found:?}"
        );
        for skips_nothing in [false, true] {
            let counts = [Err(anyhow::anyhow!("offline")), Ok(60)];
            let unknown = third_party(&counts, skips_nothing);
            let graves: Vec<_> = unknown.iter().map(|it| it.grave).collect();
            assert_eq!(graves, [skips_nothing], "{unknown:?}");
        }
    }

    #[test]
    fn a_dependency_in_the_wrong_crate_is_found_unless_only_tests_use_it() {
        let crates = [
            member("kadenz-cli", &[("anyhow", false), ("clap", false)]),
            member("kadenz-lab", &[("anyhow", false)]),
            member("kadenz-record", &[("libc", true)]),
        ];
        assert_eq!(places(&carriers(&crates)), ["crates/kadenz-lab/Cargo.toml"]);
    }
}
