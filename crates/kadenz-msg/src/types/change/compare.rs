//! Finding the changes of types.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Definition, Dimension, Enum, Member, MemberType, Struct, TypeName, Types};
use super::{Change, TypeChange};

/// Returns the changes of every type, by name; types without any change are left out.
#[must_use]
pub fn changes(old: &Types, new: &Types) -> Vec<TypeChange> {
    let names = old.iter().chain(new.iter()).map(Definition::name);
    between(old, new, &names.collect())
}

/// Returns the changes of one type and of the types that it contains, or did; the type itself first. Empty if
/// neither version has it, or nothing changed.
///
/// For two peers that disagree on a message: the closures that each of them states, and the name.
#[must_use]
pub fn changes_of(name: &str, old: &Types, new: &Types) -> Vec<TypeChange> {
    let closures = [old.closure(name), new.closure(name)];
    let names = closures.iter().flatten().map(|it| it.name());
    let mut changes = between(old, new, &names.collect());
    let first = TypeName::new(name);
    changes.sort_by_key(|it| it.name != first);
    changes
}

fn between(old: &Types, new: &Types, names: &BTreeSet<&TypeName>) -> Vec<TypeChange> {
    let changes = names.iter().map(|name| one(old, new, name));
    let some = |it: &TypeChange| it.breaks() || !it.changes.is_empty();
    changes.filter(some).collect()
}

fn one(old: &Types, new: &Types, name: &TypeName) -> TypeChange {
    let changes = match (old.definition(name), new.definition(name)) {
        (None, _) => vec![Change::TypeAdded],
        (_, None) => vec![Change::TypeRemoved],
        (Some(Definition::Struct(from)), Some(Definition::Struct(to))) => {
            of_structs(&Peers { old, new }, from, to)
        }
        (Some(Definition::Enum(from)), Some(Definition::Enum(to))) => of_enums(from, to),
        _ => vec![Change::KindChanged],
    };
    let parts = new.definition(name).into_iter().flat_map(Definition::parts);
    let through = parts.filter(|part| {
        let both = old.definition(part).is_some() && *part != name;
        both && old.fingerprint_of(part) != new.fingerprint_of(part)
    });
    let through: BTreeSet<TypeName> = through.cloned().collect();
    TypeChange {
        name: name.clone(),
        old: old.fingerprint_of(name),
        new: new.fingerprint_of(name),
        changes,
        through: through.into_iter().collect(),
    }
}

struct Peers<'a> {
    old: &'a Types,
    new: &'a Types,
}

fn of_structs(peers: &Peers<'_>, from: &Struct, to: &Struct) -> Vec<Change> {
    let mut changes = Vec::new();
    document(&mut changes, "", &from.doc, &to.doc);
    let renamed = renamed(peers, from, to);
    for member in &from.members {
        let now = renamed.get(member.name.as_str()).copied();
        let now = now.unwrap_or(&member.name);
        match to.index(now).and_then(|it| to.members.get(it)) {
            Some(now) => of_members(peers, member, now, &mut changes),
            None => changes.push(Change::MemberRemoved {
                name: member.name.clone(),
                of: member.type_text(),
            }),
        }
    }
    let new_names: BTreeSet<&str> = renamed.values().copied().collect();
    for member in &to.members {
        if from.index(&member.name).is_none() && !new_names.contains(member.name.as_str()) {
            changes.push(Change::MemberAdded {
                name: member.name.clone(),
                of: member.type_text(),
            });
        }
    }
    changes.extend(reordered(from, to));
    of_constants(from, to, &mut changes);
    changes
}

/// Returns members that were removed, each with a new one of the same type at the same place.
fn renamed<'a>(peers: &Peers<'_>, from: &'a Struct, to: &'a Struct) -> BTreeMap<&'a str, &'a str> {
    if from.members.len() != to.members.len() {
        return BTreeMap::new();
    }
    let pairs = from.members.iter().zip(&to.members);
    let pairs = pairs.filter(|(was, is)| {
        let both = from.index(&is.name).is_none() && to.index(&was.name).is_none();
        let sizes = was.dimensions.len() == is.dimensions.len();
        both && sizes && same_type(peers, was, is)
    });
    pairs
        .map(|(was, is)| (was.name.as_str(), is.name.as_str()))
        .collect()
}

/// Returns whether a fingerprint does not distinguish the types of two members.
fn same_type(peers: &Peers<'_>, was: &Member, is: &Member) -> bool {
    match (&was.of, &is.of) {
        (MemberType::Named(was), MemberType::Named(is)) => {
            was == is || peers.old.fingerprint_of(was) == peers.new.fingerprint_of(is)
        }
        (was, is) => was == is,
    }
}

fn of_members(peers: &Peers<'_>, was: &Member, is: &Member, changes: &mut Vec<Change>) {
    if was.name != is.name {
        changes.push(Change::MemberRenamed {
            from: was.name.clone(),
            to: is.name.clone(),
        });
    }
    let name = is.name.clone();
    let (from, to) = (was.type_text(), is.type_text());
    if was.of != is.of {
        changes.push(Change::MemberRetyped {
            name,
            from,
            to,
            breaks: !same_type(peers, was, is) || was.dimensions != is.dimensions,
        });
    } else if was.dimensions != is.dimensions {
        changes.push(Change::DimensionsChanged {
            name,
            from,
            to,
            same_size: same_sizes(was, is),
        });
    }
    document(changes, &is.name, &was.doc, &is.doc);
}

fn same_sizes(was: &Member, is: &Member) -> bool {
    let was = was.dimensions.iter().map(Dimension::fixed);
    was.clone().all(|it| it.is_some()) && is.dimensions.iter().map(Dimension::fixed).eq(was)
}

/// The members that are in both, where their order differs.
fn reordered(from: &Struct, to: &Struct) -> Option<Change> {
    let common = |of: &Struct, other: &Struct| -> Vec<String> {
        let names = of.members.iter().map(|it| it.name.clone());
        names.filter(|it| other.index(it).is_some()).collect()
    };
    let (from, to) = (common(from, to), common(to, from));
    (from != to).then_some(Change::MembersReordered { from, to })
}

fn of_constants(from: &Struct, to: &Struct, changes: &mut Vec<Change>) {
    for was in &from.constants {
        let name = was.name.clone();
        let Some(is) = to.constants.iter().find(|it| it.name == name) else {
            changes.push(Change::ConstantRemoved { name });
            continue;
        };
        document(changes, &name, &was.doc, &is.doc);
        if was.value != is.value || was.of != is.of {
            changes.push(Change::ConstantChanged {
                name,
                from: format!("{} {}", was.of, was.text),
                to: format!("{} {}", is.of, is.text),
            });
        }
    }
    for is in &to.constants {
        if !from.constants.iter().any(|it| it.name == is.name) {
            let name = is.name.clone();
            changes.push(Change::ConstantAdded { name });
        }
    }
}

fn of_enums(from: &Enum, to: &Enum) -> Vec<Change> {
    let mut changes = Vec::new();
    document(&mut changes, "", &from.doc, &to.doc);
    for was in &from.values {
        let name = was.name.clone();
        match to.values.iter().find(|it| it.name == name) {
            None => changes.push(Change::ValueRemoved {
                name,
                number: was.number,
            }),
            Some(is) => {
                document(&mut changes, &name, &was.doc, &is.doc);
                if is.number != was.number {
                    let (from, to) = (was.number, is.number);
                    changes.push(Change::ValueChanged { name, from, to });
                }
            }
        }
    }
    for is in &to.values {
        if !from.values.iter().any(|it| it.name == is.name) {
            let (name, number) = (is.name.clone(), is.number);
            changes.push(Change::ValueAdded { name, number });
        }
    }
    changes
}

fn document(changes: &mut Vec<Change>, of: &str, was: &str, is: &str) {
    if was != is {
        let of = of.to_owned();
        changes.push(Change::DocumentationChanged { of });
    }
}
