//! The modules of a crate, and the module that a path leads to.

use std::collections::BTreeMap;

use super::paths::{self, Import, Mention, Paths};
use crate::repository::SourceFile;

/// A module by its names from the root of the crate; the root has none.
pub(crate) type Name = Vec<String>;

/// The most re-exports of a name that a path may pass.
const HANDS: usize = 16;

/// The modules of a crate's released code.
pub(crate) struct Modules {
    all: BTreeMap<Name, Module>,
}

struct Module {
    file: String,
    paths: Paths,
}

/// A place at which one module uses another.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// The module that uses the other.
    pub(crate) from: Name,
    /// The module that is used.
    pub(crate) to: Name,
    /// File and line.
    pub(crate) place: String,
}

/// The end of a path.
struct Goal {
    /// The modules that re-export the name, then the one that defines it.
    passed: Vec<Name>,
    /// Whether the path names that module itself.
    is_module: bool,
}

impl Modules {
    /// The modules of the files below a folder of sources, `crates/x/src`.
    pub(crate) fn of(folder: &str, files: &[SourceFile]) -> Self {
        let mut all = BTreeMap::new();
        for file in files.iter().filter(|it| it.is("rs")) {
            let Some(inside) = file.path.strip_prefix(&format!("{folder}/")) else {
                continue;
            };
            let module = Module {
                file: file.path.clone(),
                paths: paths::read(file.code()),
            };
            all.insert(name_of(inside), module);
        }
        let tests = all.iter().flat_map(|(name, it)| test_modules(name, it));
        let tests: Vec<Name> = tests.collect();
        all.retain(|name, _| {
            let ships = |it: &String| it != "tests";
            name.iter().all(ships) && !tests.iter().any(|test| name.starts_with(test))
        });
        Self { all }
    }

    /// Whether a module has others within it, in files of their own.
    pub(crate) fn is_folder(&self, name: &[String]) -> bool {
        let mut all = self.all.keys();
        all.any(|it| it.len() > name.len() && it.starts_with(name))
    }

    /// Every use of one module by another.
    pub(crate) fn uses(&self) -> Vec<Use> {
        let mut found = Vec::new();
        for (from, module) in &self.all {
            for mention in &module.paths.mentions {
                let place = format!("{}:{}", module.file, mention.line);
                let passed = self.goal(from, mention, HANDS).map(|it| it.passed);
                let others = passed.into_iter().flatten().filter(|it| it != from);
                found.extend(others.map(|to| Use {
                    from: from.clone(),
                    to,
                    place: place.clone(),
                }));
            }
        }
        found
    }

    /// The module that a path leads to; `None` out of the crate.
    fn goal(&self, from: &Name, mention: &Mention, hands: usize) -> Option<Goal> {
        let mut at = from.clone();
        let mut inline = mention.inline;
        let mut rest = &mention.path[..];
        match rest.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|it| it == "super") {
                    if inline == 0 {
                        at.pop();
                    }
                    inline = inline.saturating_sub(1);
                    rest = &rest[1..];
                }
            }
            head => {
                if !self.all.contains_key(&below(from, head)) && self.import(from, head).is_none() {
                    return None;
                }
            }
        }
        self.walk(at, rest, hands)
    }

    fn walk(&self, mut at: Name, path: &[String], hands: usize) -> Option<Goal> {
        for (index, name) in path.iter().enumerate() {
            let child = below(&at, name);
            if self.all.contains_key(&child) {
                at = child;
                continue;
            }
            let hands = hands.checked_sub(1)?;
            let further = self.handed_on(&at, name, &path[index + 1..], hands);
            let mut passed = vec![at];
            passed.extend(further.into_iter().flat_map(|it| it.passed));
            return Some(Goal {
                passed,
                is_module: false,
            });
        }
        Some(Goal {
            passed: vec![at],
            is_module: true,
        })
    }

    /// The origin of a name that a module has but does not define.
    fn handed_on(&self, at: &Name, name: &str, rest: &[String], hands: usize) -> Option<Goal> {
        if let Some(import) = self.import(at, name) {
            let goal = self.goal(at, &import.mention, hands)?;
            return match goal.passed.last() {
                Some(module) if goal.is_module => self.walk(module.clone(), rest, hands),
                _ => Some(goal),
            };
        }
        let module = self.all.get(at)?;
        if module.paths.defined.contains(name) {
            return None;
        }
        let all_names = module.paths.imports.iter().filter(|it| it.name.is_none());
        for import in all_names {
            let Some(goal) = self.goal(at, &import.mention, hands) else {
                continue;
            };
            let source = goal.passed.last()?.clone();
            if goal.is_module && source != *at && self.has(&source, name) {
                return self.walk(source, &[&[name.to_owned()], rest].concat(), hands);
            }
        }
        None
    }

    fn has(&self, at: &Name, name: &str) -> bool {
        let defines = |it: &Module| it.paths.defined.contains(name);
        self.all.contains_key(&below(at, name))
            || self.import(at, name).is_some()
            || self.all.get(at).is_some_and(defines)
    }

    fn import(&self, at: &Name, name: &str) -> Option<&Import> {
        let imports = &self.all.get(at)?.paths.imports;
        imports.iter().find(|it| it.name.as_deref() == Some(name))
    }
}

fn below(at: &[String], name: &str) -> Name {
    let mut child = at.to_vec();
    child.push(name.to_owned());
    child
}

/// `control/mod.rs` and `control.rs` are both `control`.
fn name_of(file: &str) -> Name {
    let path = file.trim_end_matches(".rs");
    let mut name: Name = path.split('/').map(str::to_owned).collect();
    let is_root = name.len() == 1 && matches!(name[0].as_str(), "lib" | "main");
    if is_root || name.last().is_some_and(|it| it == "mod") {
        name.pop();
    }
    name
}

fn test_modules(name: &Name, module: &Module) -> Vec<Name> {
    if module.paths.test_only {
        return vec![name.clone()];
    }
    let inside = module.paths.test_modules.iter();
    inside.map(|it| below(name, it)).collect()
}
