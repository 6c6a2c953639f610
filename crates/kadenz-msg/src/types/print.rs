//! Descriptions as a `.lcm` text of their own, which says the same to lcm-gen.

use std::fmt::Write as _;

use super::model::{Definition, Enum, Struct};

/// The text of some types, in this order but for packages: lcm-gen cannot leave one again, so types
/// without a package come first, and those of a package together.
pub(super) fn text<'a>(definitions: impl IntoIterator<Item = &'a Definition>) -> String {
    let mut groups: Vec<(&str, Vec<&Definition>)> = vec![("", Vec::new())];
    for definition in definitions {
        let package = package_to_be_in(definition);
        match groups.iter_mut().find(|it| it.0 == package) {
            Some((_, group)) => group.push(definition),
            None => groups.push((package, vec![definition])),
        }
    }
    let mut text = String::new();
    for (package, group) in groups {
        if !package.is_empty() {
            separate(&mut text);
            let _ = writeln!(text, "package {package};");
        }
        for definition in group {
            separate(&mut text);
            match definition {
                Definition::Struct(it) => structure(&mut text, package, it),
                Definition::Enum(it) => enumeration(&mut text, it),
            }
        }
    }
    text
}

/// A type's own package, but none where it is made of a type without one, which has no name within any
/// package. It then bears its package in its name.
fn package_to_be_in(definition: &Definition) -> &str {
    let mut parts = definition.parts();
    if parts.any(|it| it.package.is_empty()) {
        return "";
    }
    &definition.name().package
}

fn separate(text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
}

fn structure(text: &mut String, package: &str, it: &Struct) {
    comment(text, "", &it.doc);
    let _ = match it.name.package == package {
        true => writeln!(text, "struct {} {{", it.name.short),
        false => writeln!(text, "struct {} {{", it.name),
    };
    for constant in &it.constants {
        comment(text, "    ", &constant.doc);
        let (of, name, value) = (constant.of, &constant.name, &constant.text);
        let _ = writeln!(text, "    const {of} {name} = {value};");
    }
    for member in &it.members {
        comment(text, "    ", &member.doc);
        let _ = write!(text, "    {} {}", member.of, member.name);
        for dimension in &member.dimensions {
            let _ = write!(text, "[{}]", dimension.text());
        }
        text.push_str(";\n");
    }
    text.push_str("}\n");
}

fn enumeration(text: &mut String, it: &Enum) {
    comment(text, "", &it.doc);
    let _ = writeln!(text, "enum {} {{", it.name.short);
    for (index, value) in it.values.iter().enumerate() {
        comment(text, "    ", &value.doc);
        let comma = if index + 1 == it.values.len() {
            ""
        } else {
            ","
        };
        let _ = writeln!(text, "    {} = {}{comma}", value.name, value.number);
    }
    text.push_str("}\n");
}

fn comment(text: &mut String, indent: &str, doc: &str) {
    for line in doc.lines() {
        let space = if line.is_empty() { "" } else { " " };
        let _ = writeln!(text, "{indent}//{space}{line}");
    }
}
