//! Circular uses among the modules of a crate.
//!
//! The modules of one folder, each with all that is below it, use each other in one direction: none of them leads back
//! to itself by way of another, unless all on the way are single files. A name counts where it is re-exported and where
//! it is defined; uses between a `mod.rs` and its own modules, and tests, do not count.

mod modules;
mod paths;

use std::collections::{BTreeMap, BTreeSet};

use self::modules::{Modules, Name, Use};
use super::{Finding, Workspace};
use crate::repository::SourceFile;

/// Rule `circles`.
pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let crates = workspace.crates.iter();
    let found = crates.flat_map(|it| circles(&format!("{}/src", it.folder), &workspace.files));
    found
        .map(|it| Finding::error(&it.folder, it.text()))
        .collect()
}

/// Modules of one folder that lead to each other.
struct Circle {
    folder: String,
    modules: BTreeSet<String>,
    /// Every step of a shortest way from the first module back to it.
    way: Vec<ModuleUse>,
}

/// A use between two modules of one folder.
#[derive(Clone)]
struct ModuleUse {
    from: String,
    to: String,
    place: String,
}

impl Circle {
    fn text(&self) -> String {
        let names: Vec<&str> = self.modules.iter().map(String::as_str).collect();
        let step = |it: &ModuleUse| format!("{} uses {} ({})", it.from, it.to, it.place);
        let way: Vec<String> = self.way.iter().map(step).collect();
        let (names, way) = (names.join(", "), way.join(", "));
        format!("{names} lead to each other: {way}; move what they share to where it belongs")
    }
}

/// The circles of a crate that are not among single files of one folder.
fn circles(sources: &str, files: &[SourceFile]) -> Vec<Circle> {
    let modules = Modules::of(sources, files);
    let mut steps: BTreeMap<Name, Vec<ModuleUse>> = BTreeMap::new();
    for (folder, step) in modules.uses().iter().filter_map(step) {
        steps.entry(folder).or_default().push(step);
    }
    let mut found = Vec::new();
    for (folder, steps) in &steps {
        for circle in circles_among(steps) {
            let is_folder = |name: &String| {
                let mut module = folder.clone();
                module.push(name.clone());
                modules.is_folder(&module)
            };
            if circle.iter().any(is_folder) {
                let path = folder.iter().map(|name| format!("/{name}"));
                found.push(Circle {
                    folder: format!("{sources}{}", path.collect::<String>()),
                    way: way_round(&circle, steps),
                    modules: circle,
                });
            }
        }
    }
    found
}

/// The folder in which the paths to both modules part, and the step between its two modules; `None` where one of the
/// modules is within the other.
fn step(it: &Use) -> Option<(Name, ModuleUse)> {
    let names = it.from.iter().zip(&it.to);
    let shared = names.take_while(|(a, b)| a == b).count();
    let step = ModuleUse {
        from: it.from.get(shared)?.clone(),
        to: it.to.get(shared)?.clone(),
        place: it.place.clone(),
    };
    Some((it.from[..shared].to_vec(), step))
}

/// Sets of two modules or more that all lead to each other.
fn circles_among(steps: &[ModuleUse]) -> Vec<BTreeSet<String>> {
    let names: BTreeSet<&str> = steps.iter().map(|it| it.from.as_str()).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        names.iter().map(|it| (*it, reached(it, steps))).collect();
    let leads = |from: &str, to: &str| reached.get(from).is_some_and(|it| it.contains(to));
    let mut found = Vec::new();
    let mut reported = BTreeSet::new();
    for name in names.iter().copied().filter(|it| leads(it, it)) {
        if reported.contains(name) {
            continue;
        }
        let together = names.iter().filter(|it| leads(name, it) && leads(it, name));
        let circle: BTreeSet<&str> = together.copied().collect();
        reported.extend(circle.iter().copied());
        found.push(circle.into_iter().map(str::to_owned).collect());
    }
    found
}

fn reached<'a>(start: &str, steps: &'a [ModuleUse]) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next = vec![start];
    while let Some(name) = next.pop() {
        for step in steps.iter().filter(|it| it.from == name) {
            if found.insert(step.to.as_str()) {
                next.push(&step.to);
            }
        }
    }
    found
}

/// A shortest way through a circle, from its first module back to it.
fn way_round(circle: &BTreeSet<String>, steps: &[ModuleUse]) -> Vec<ModuleUse> {
    let Some(start) = circle.first() else {
        return Vec::new();
    };
    let mut ways: Vec<Vec<ModuleUse>> = vec![Vec::new()];
    let mut seen = BTreeSet::new();
    let mut at = 0;
    while let Some(way) = ways.get(at).cloned() {
        let end = way.last().map_or(start, |it| &it.to);
        let leads_on = |it: &&ModuleUse| it.from == *end && circle.contains(&it.to);
        for step in steps.iter().filter(leads_on) {
            let longer: Vec<ModuleUse> = way.iter().chain([step]).cloned().collect();
            if step.to == *start {
                return longer;
            }
            if seen.insert(step.to.as_str()) {
                ways.push(longer);
            }
        }
        at += 1;
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::Crate;
    use crate::tidy::samples::file;

    const SOURCES: &str = "crates/a/src";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| file(&format!("{SOURCES}/{path}"), text);
        let member = Crate {
            folder: "crates/a".to_owned(),
            ..Crate::default()
        };
        let workspace = Workspace {
            files: files.iter().map(file).collect(),
            crates: vec![member],
            ..Workspace::default()
        };
        let findings = check(&workspace);
        findings
            .iter()
            .map(|it| format!("{}: {}", it.place, it.text))
            .collect()
    }

    #[test]
    fn folders_that_use_each_other_are_found() {
        let found = found(&[
            ("lib.rs", "mod bus;\nmod log;\n"),
            ("bus/mod.rs", "mod inbox;\n"),
            ("bus/inbox.rs", "use crate::log::event::Event;\n"),
            ("log/mod.rs", "pub mod event;\npub mod file;\n"),
            ("log/event.rs", "pub struct Event;\n"),
            ("log/file.rs", "fn f(bus: &crate::bus::Bus) {}\n"),
        ]);
        assert_eq!(
            found,
            [
                "crates/a/src: bus, log lead to each other: bus uses log (crates/a/src/bus/inbox.rs:1), \
              log uses bus (crates/a/src/log/file.rs:1); move what they share to where it belongs"
            ]
        );
    }

    #[test]
    fn a_circle_below_a_folder_is_found_there() {
        let found = found(&[
            ("bus/mod.rs", ""),
            ("bus/inbox/mod.rs", "use super::outbox::B;\n"),
            ("bus/inbox/queue.rs", ""),
            ("bus/outbox.rs", "use super::inbox::queue::A;\n"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("crates/a/src/bus: inbox, outbox "),
            "{found:?}"
        );
    }

    #[test]
    fn a_circle_over_three_or_by_what_is_handed_on_is_found() {
        let over_three = found(&[
            ("a/mod.rs", "use crate::b::X;\n"),
            ("a/deep.rs", ""),
            ("b.rs", "use crate::c;\nfn f() { c::g() }\n"),
            ("c.rs", "use crate::a::Y;\n"),
        ]);
        assert!(
            over_three.len() == 1 && over_three[0].contains("a, b, c lead"),
            "{over_three:?}"
        );
        let handed_on = found(&[
            ("lib.rs", "pub use a::deep::Y;\npub use c::*;\n"),
            ("a/mod.rs", "use crate::Z;\n"),
            ("a/deep.rs", "pub struct Y;\n"),
            ("c.rs", "use crate::Y;\npub struct Z;\n"),
        ]);
        assert!(
            handed_on.len() == 1 && handed_on[0].contains("a, c lead"),
            "{handed_on:?}"
        );
    }

    #[test]
    fn one_direction_and_what_stays_within_a_folder_are_fine() {
        let found = found(&[
            ("lib.rs", "mod a;\nuse crate::a::b::X;\n"),
            // A mod.rs and what is below it, and single files of one folder.
            (
                "a/mod.rs",
                "use self::b::X;\nuse crate::d::D;\nuse kadenz_rt::clock;\npub struct M;\n",
            ),
            ("a/b.rs", "use super::M;\nuse super::c::C;\npub struct X;\n"),
            ("a/c.rs", "use super::b::X;\nmod inner { use super::f; }\n"),
            (
                "d.rs",
                "// crate::a\npub struct D;\n#[cfg(test)]\nmod tests { use crate::a::M; }\n",
            ),
            ("d/tests.rs", "use crate::a::M;\n"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
