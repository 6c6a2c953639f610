//! The names of types.

use std::collections::BTreeMap;

use super::{Finding, Workspace};
use crate::repository::SourceFile;
use crate::scan::{name_at, shipped};

/// Files that stand in for another one of their folder on other operating systems.
const STAND_INS: [&str; 6] = [
    "refused.rs",
    "portable.rs",
    "pthread.rs",
    "macos.rs",
    "windows.rs",
    "unknown.rs",
];

/// The name of the arguments of a command, which each command of the program has.
const OF_EACH_COMMAND: &str = "Options";

/// Rule `type-names`.
pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let crates = workspace.crates.iter();
    crates
        .flat_map(|it| shared_names(&format!("{}/src/", it.folder), &workspace.files))
        .collect()
}

/// A finding for each type that shares its name with another one of the crate.
fn shared_names(sources: &str, files: &[SourceFile]) -> Vec<Finding> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|it| is_source(it, sources)) {
        for (number, line) in shipped(&file.path, file.code()).lines().enumerate() {
            if let Some(name) = type_of(line).filter(|it| *it != OF_EACH_COMMAND) {
                let place = format!("{}:{}", file.path, number + 1);
                places.entry(name.to_owned()).or_default().push(place);
            }
        }
    }
    let shared = places.into_iter().filter(|(_, places)| places.len() > 1);
    shared
        .map(|(name, places)| {
            let others = places[1..].join(", ");
            let text =
                format!("another type is called `{name}`, too ({others}): say of each what it is");
            Finding::error(&places[0], text)
        })
        .collect()
}

fn is_source(file: &SourceFile, sources: &str) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    file.path.starts_with(sources) && name.ends_with(".rs") && !STAND_INS.contains(&name)
}

/// The name of the type that a line defines outside of a block.
fn type_of(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix("pub") {
        Some(rest) => match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(") ")?.1,
            None => rest.strip_prefix(' ')?,
        },
        None => line,
    };
    let kinds = ["struct ", "enum ", "trait ", "union "];
    kinds
        .iter()
        .find_map(|it| rest.strip_prefix(it))
        .map(name_at)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{file, places};
    use super::*;

    #[test]
    fn two_types_of_a_crate_do_not_share_a_name() {
        let files = [
            file("a/src/door.rs", "pub struct Settings;\nstruct Options;\n"),
            file(
                "a/src/window.rs",
                "\npub(in crate::wall) enum Settings { One }\nstruct Options;\n",
            ),
            file("a/src/linux.rs", "pub struct Program(u8);\n"),
            file("a/src/refused.rs", "pub struct Program;\n"),
            file("a/src/tests.rs", "pub struct Program;\n"),
            file(
                "b/src/lib.rs",
                "// pub struct Settings;\npub struct Settings;\n",
            ),
        ];
        assert_eq!(places(&shared_names("a/src/", &files)), ["a/src/door.rs:1"]);
        assert!(shared_names("b/src/", &files).is_empty());
    }
}
