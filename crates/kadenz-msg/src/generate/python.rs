//! Python: a folder for each package, a class for each type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::plan::{ArrayLength, ElementType, Field, NamingRules, Plan, StructPlan, fill, marked};
use super::{GeneratedFile, file};
use crate::types::PrimitiveType;

pub(super) const WORDS: NamingRules = NamingRules {
    keywords: &[
        "False None True and as assert async await break class continue def del elif else except \
            finally for from global if import in is lambda nonlocal not or pass raise return try \
            while with yield kadenz_codec self",
    ],
    members: "encode decode _put _get _members _name _fingerprint __eq__ __hash__ __init__ __repr__ \
        __slots__ __class__ __dict__",
    derived: "",
    separator: ".",
    before_underscore: "",
    default_package: "",
};

pub(super) fn write(plan: &Plan<'_>) -> Vec<GeneratedFile> {
    let mut modules: BTreeMap<Vec<String>, Vec<&StructPlan<'_>>> = BTreeMap::new();
    for record in &plan.records {
        for end in 1..=record.package.len() {
            modules.entry(record.package[..end].to_vec()).or_default();
        }
        modules.entry(module(record)).or_default().push(record);
    }
    let mut files = vec![file(
        "kadenz_codec.py",
        include_str!("support/kadenz_codec.py"),
    )];
    for (name, records) in &modules {
        let package = records.first().is_none_or(|it| !it.package.is_empty());
        let mut path: PathBuf = name.iter().collect();
        match package {
            true => path.push("__init__.py"),
            false => _ = path.set_extension("py"),
        }
        files.push(file(path, text(plan, records)));
    }
    files
}

/// Returns the module of a class: its package, or without one its own name.
fn module(record: &StructPlan<'_>) -> Vec<String> {
    match record.package.as_slice() {
        [] => vec![record.short.clone()],
        package => package.to_vec(),
    }
}

/// Returns the name of a class in another module; modules have names here that no member has.
fn class(record: &StructPlan<'_>) -> String {
    format!("_{}.{}", module(record).join("_"), record.short)
}

fn text(plan: &Plan<'_>, records: &[&StructPlan<'_>]) -> String {
    let head =
        "# Written by `kadenz msg gen --lang python`: change the .lcm files, and write it again.\n";
    if records.is_empty() {
        return head.to_owned();
    }
    let parts = records.iter().flat_map(|it| it.parts());
    let parts: BTreeSet<Vec<String>> = parts.map(|it| module(&plan.records[it])).collect();
    let import = |it: &Vec<String>| format!("import {} as _{}\n", it.join("."), it.join("_"));
    let imports: String = parts.iter().map(import).collect();
    let names = records.iter().map(|it| format!("{:?}", it.short));
    let names = names.collect::<Vec<_>>().join(", ");
    let classes: String = records.iter().map(|it| structure(plan, it)).collect();
    format!(
        "{head}\nfrom __future__ import annotations\n\nimport struct as _s\nimport typing as _t\n\nimport kadenz_codec as _c\n{imports}\n__all__ = [{names}]\n{classes}"
    )
}

fn structure(plan: &Plan<'_>, record: &StructPlan<'_>) -> String {
    let mut members = String::new();
    let doc = record.comment().join("\n    ").replace('"', "'");
    let quoted = record.fields.iter().map(|it| format!("{:?}, ", it.name));
    let slots: String = quoted.collect();
    for it in &record.constants {
        let of = if it.of == PrimitiveType::Float || it.of == PrimitiveType::Double {
            "float"
        } else {
            "int"
        };
        members += &marked("    #:", &it.comment());
        members += &format!("    {}: _t.ClassVar[{of}] = {}\n", it.name, it.number());
    }
    for it in &record.fields {
        members += &marked("    #:", &it.comment());
        members += &format!("    {}: {}\n", it.name, hint(plan, it));
    }
    let parameter = |it: &Field<'_>| match is_plain(it) {
        true => format!(", {}: {} = {}", it.name, hint(plan, it), start(plan, it)),
        false => format!(", {}: _t.Optional[{}] = None", it.name, hint(plan, it)),
    };
    let parameters: String = record.fields.iter().map(parameter).collect();
    let star = if parameters.is_empty() { "" } else { ", *" };
    let assign = |it: &Field<'_>| {
        let (name, start) = (&it.name, start(plan, it));
        match is_plain(it) {
            true => format!("        self.{name} = {name}\n"),
            false => format!("        self.{name} = {start} if {name} is None else {name}\n"),
        }
    };
    let fingerprint: String = record
        .fingerprint
        .to_be_bytes()
        .iter()
        .map(|it| format!("\\x{it:02x}"))
        .collect();
    fill(
        CLASS,
        &[
            ("short", &record.short),
            ("full", &record.full),
            ("doc", &doc),
            ("slots", slots.trim_end()),
            ("fingerprint", &fingerprint),
            ("parameters", &format!("{star}{parameters}")),
            ("assign", &body(record.fields.iter().map(assign).collect())),
            ("put", &body(put(record))),
            ("get", &get(plan, record)),
            ("members", &members),
        ],
    )
}

const CLASS: &str = r#"

class @short@(_c.Message):
    """@doc@"""

    __slots__ = (@slots@)
    _fingerprint = b"@fingerprint@"
    _name = "@full@"

@members@
    def __init__(self@parameters@) -> None:
@assign@
    def _put(self, out: _t.List[bytes]) -> None:
@put@
    @classmethod
    def _get(cls, reader: _c.Reader) -> @short@:
@get@        return m
"#;

fn body(text: String) -> String {
    if text.is_empty() {
        return "        pass\n".to_owned();
    }
    text
}

/// Returns the letter of `struct`, its type, and its initial value.
fn primitive(of: PrimitiveType) -> (&'static str, &'static str, &'static str) {
    match of {
        PrimitiveType::Int8 => ("b", "int", "0"),
        PrimitiveType::Int16 => ("h", "int", "0"),
        PrimitiveType::Int32 => ("i", "int", "0"),
        PrimitiveType::Int64 => ("q", "int", "0"),
        PrimitiveType::Byte => ("B", "int", "0"),
        PrimitiveType::Boolean => ("?", "bool", "False"),
        PrimitiveType::Float => ("f", "float", "0.0"),
        PrimitiveType::Double => ("d", "float", "0.0"),
        PrimitiveType::String => ("", "str", "\"\""),
    }
}

/// Returns whether all instances may share its default.
fn is_plain(field: &Field<'_>) -> bool {
    field.sizes.is_empty() && !matches!(field.of, ElementType::Record(_))
}

fn is_bytes(field: &Field<'_>) -> bool {
    field.of == ElementType::Number(PrimitiveType::Byte) && !field.sizes.is_empty()
}

fn hint(plan: &Plan<'_>, field: &Field<'_>) -> String {
    let (one, depth) = match field.of {
        _ if is_bytes(field) => ("bytes".to_owned(), field.sizes.len() - 1),
        ElementType::Number(of) => (primitive(of).1.to_owned(), field.sizes.len()),
        ElementType::Text => ("str".to_owned(), field.sizes.len()),
        ElementType::Record(index) => (class(&plan.records[index]), field.sizes.len()),
    };
    (0..depth).fold(one, |inner, _| format!("_t.List[{inner}]"))
}

fn start(plan: &Plan<'_>, field: &Field<'_>) -> String {
    let one = match field.of {
        ElementType::Number(_) if field.start != 0 => field.start.to_string(),
        ElementType::Number(of) => primitive(of).2.to_owned(),
        ElementType::Text => "\"\"".to_owned(),
        ElementType::Record(index) => format!("{}()", class(&plan.records[index])),
    };
    let bytes = is_bytes(field);
    let innermost = field.sizes.len().saturating_sub(1);
    let sizes = field.sizes.iter().enumerate().rev();
    sizes.fold(one, |inner, (at, size)| match size {
        ArrayLength::Stated(_) if bytes && at == innermost => "b\"\"".to_owned(),
        ArrayLength::Fixed(size) if bytes && at == innermost => format!("b\"\\0\" * {size}"),
        ArrayLength::Stated(_) => "[]".to_owned(),
        ArrayLength::Fixed(size) => format!("_c.fill({size}, lambda: {inner})"),
    })
}

/// Returns the length of an array, when it is written: the member that states a length follows the array.
fn length(record: &StructPlan<'_>, name: &str) -> String {
    let states = |it: &&Field<'_>| it.sizes.first() == Some(&ArrayLength::Stated(name.to_owned()));
    match record.fields.iter().find(states) {
        Some(array) => format!("len(self.{})", array.name),
        None => format!("self.{name}"),
    }
}

fn letters(run: &[Field<'_>]) -> String {
    let letter = |it: &Field<'_>| match it.of {
        ElementType::Number(of) => primitive(of).0,
        _ => "",
    };
    run.iter().map(letter).collect()
}

fn put(record: &StructPlan<'_>) -> String {
    let mut text = String::new();
    for run in record.runs() {
        let [field, ..] = run else { continue };
        let (name, key) = (&field.name, field.key);
        let sizes = field.sizes(|it| length(record, it)).join(", ");
        let line = match (field.of, sizes.is_empty()) {
            (ElementType::Number(_), true) => {
                let values = run.iter().map(|it| length(record, &it.name));
                let values = values.collect::<Vec<_>>().join(", ");
                format!("out.append(_s.pack(\">{}\", {values}))", letters(run))
            }
            (ElementType::Number(of), false) => {
                let letter = primitive(of).0;
                format!("_c.put_numbers(out, \"{key}\", self.{name}, \"{letter}\", {sizes})")
            }
            (ElementType::Text, true) => format!("_c.put_text(out, \"{key}\", self.{name})"),
            (ElementType::Record(_), true) => format!("self.{name}._put(out)"),
            (ElementType::Text, false) => format!(
                "_c.put_elements(out, \"{key}\", self.{name}, lambda it: _c.put_text(out, \"{key}\", it), {sizes})"
            ),
            (ElementType::Record(_), false) => format!(
                "_c.put_elements(out, \"{key}\", self.{name}, lambda it: it._put(out), {sizes})"
            ),
        };
        text += &format!("        {line}\n");
    }
    text
}

fn get(plan: &Plan<'_>, record: &StructPlan<'_>) -> String {
    let mut text = String::new();
    if record.recursive {
        text += &format!("        reader.enter(\"{}\")\n", record.full);
    }
    text += "        m = cls.__new__(cls)\n";
    for run in record.runs() {
        let [field, ..] = run else { continue };
        let (key, least) = (field.key, field.least);
        let sizes = field.sizes(|it| format!("m.{it}")).join(", ");
        let value = match (field.of, sizes.is_empty()) {
            (ElementType::Number(_), true) => {
                format!("reader.unpack(_s.Struct(\">{}\"))", letters(run))
            }
            (ElementType::Number(of), false) => {
                format!(
                    "reader.numbers(\"{key}\", \"{}\", {sizes})",
                    primitive(of).0
                )
            }
            (ElementType::Text, true) => format!("reader.text(\"{key}\")"),
            (ElementType::Record(index), true) => {
                format!("{}._get(reader)", class(&plan.records[index]))
            }
            (of, false) => {
                let one = match of {
                    ElementType::Record(index) => {
                        format!("{}._get(reader)", class(&plan.records[index]))
                    }
                    _ => format!("reader.text(\"{key}\")"),
                };
                format!("reader.elements(\"{key}\", {least}, ({sizes},), lambda: {one})")
            }
        };
        let names = run.iter().map(|it| format!("m.{}", it.name));
        let names = names.collect::<Vec<_>>().join(", ");
        let comma = match run.len() == 1 && field.is_number() {
            true => ",",
            false => "",
        };
        text += &format!("        {names}{comma} = {value}\n");
    }
    if record.recursive {
        text += "        reader.depth -= 1\n";
    }
    text
}
