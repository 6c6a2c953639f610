//! MATLAB and GNU Octave: a folder for each package, and functions that make, encode and decode a struct.
//!
//! Structs and not classes: MATLAB's own tools take structs, and Octave reads them faster.

use std::path::PathBuf;

use super::plan::{ArrayLength, ElementType, Field, NamingRules, Plan, StructPlan, fill, marked};
use super::{GeneratedFile, file};
use crate::types::{ConstantValue, PrimitiveType};

pub(super) const WORDS: NamingRules = NamingRules {
    keywords: &[
        "__FILE__ __LINE__ break case catch classdef continue do else elseif end end_try_catch \
            end_unwind_protect endclassdef endenumeration endevents endfor endfunction endif \
            endmethods endparfor endproperties endswitch endwhile for function global if otherwise \
            parfor persistent return spmd switch try until unwind_protect unwind_protect_cleanup \
            while",
    ],
    members: "",
    derived: "_encode _decode _constants",
    separator: ".",
    before_underscore: "x",
    default_package: "",
};

const HEAD: &str =
    "% Written by `kadenz msg gen --lang matlab`: change the .lcm files, and write it again.\n";

pub(super) fn write(plan: &Plan<'_>) -> Vec<GeneratedFile> {
    let mut files = vec![file(
        "kadenz_codec.m",
        include_str!("support/kadenz_codec.m"),
    )];
    for record in &plan.records {
        let folder: PathBuf = record.package.iter().map(|it| format!("+{it}")).collect();
        let mut function = |what: &str, text: String| {
            let path = folder.join(format!("{}{what}.m", record.short));
            files.push(file(path, text));
        };
        function("", start(plan, record));
        function("_encode", encode(plan, record));
        function("_decode", decode(plan, record));
        if !record.constants.is_empty() {
            function("_constants", constants(record));
        }
    }
    files
}

/// A class, for Octave takes no field of what a package's function returns.
fn constants(record: &StructPlan<'_>) -> String {
    let line = |it: &super::plan::Fixed<'_>| {
        let said = marked("    %", &it.comment());
        format!("{said}    {} = {}\n", it.name, constant(it))
    };
    let lines: String = record.constants.iter().map(line).collect();
    let (short, full) = (&record.short, &record.full);
    format!(
        "classdef {short}_constants\n% The constants of {full}.\n{HEAD}  properties (Constant)\n{lines}  end\nend\n"
    )
}

fn constant(it: &super::plan::Fixed<'_>) -> String {
    let (of, number) = (primitive(it.of), it.number());
    match it.value {
        // A literal is a double, which holds 53 bits.
        ConstantValue::Integer(value) if value.unsigned_abs() > 1 << 53 => {
            let (high, low) = (value >> 32, value & 0xffff_ffff);
            format!("int64({high}) * int64(4294967296) + int64({low})")
        }
        _ => format!("{of}({number})"),
    }
}

fn start(plan: &Plan<'_>, record: &StructPlan<'_>) -> String {
    let line = |it: &Field<'_>| {
        let said = marked("%", &it.comment());
        format!("{said}m.{} = {};\n", it.name, value(plan, it))
    };
    let lines: String = record.fields.iter().map(line).collect();
    let short = &record.short;
    let said = marked("%", &record.comment());
    format!("function m = {short}()\n{said}%\n{HEAD}m = struct();\n{lines}end\n")
}

/// Returns the initial value of a member.
fn value(plan: &Plan<'_>, field: &Field<'_>) -> String {
    let mut sizes = field.sizes(|_| "0".to_owned());
    if sizes.len() == 1 {
        sizes.insert(0, "1".to_owned());
    }
    let none = sizes.is_empty();
    let sizes = sizes.join(", ");
    match field.of {
        ElementType::Text if none => "''".to_owned(),
        ElementType::Text => format!("repmat({{''}}, {sizes})"),
        ElementType::Record(index) if none => format!("{}()", plan.records[index].path(".")),
        ElementType::Record(_) if field.is_variable() => "[]".to_owned(),
        ElementType::Record(index) => {
            format!("repmat({}(), {sizes})", plan.records[index].path("."))
        }
        ElementType::Number(of) => {
            let one = match of {
                PrimitiveType::Double => field.start.to_string(),
                PrimitiveType::Boolean => "false".to_owned(),
                of => format!("{}({})", primitive(of), field.start),
            };
            match none {
                true => one,
                false => format!("repmat({one}, {sizes})"),
            }
        }
    }
}

fn primitive(of: PrimitiveType) -> &'static str {
    match of {
        PrimitiveType::Int8 => "int8",
        PrimitiveType::Int16 => "int16",
        PrimitiveType::Int32 => "int32",
        PrimitiveType::Int64 => "int64",
        PrimitiveType::Byte => "uint8",
        PrimitiveType::Boolean => "logical",
        PrimitiveType::Float => "single",
        PrimitiveType::Double => "double",
        PrimitiveType::String => "char",
    }
}

/// Returns the length of an array, when it is written: the member that states a length follows the array.
fn length(record: &StructPlan<'_>, name: &str) -> Option<String> {
    let stated = ArrayLength::Stated(name.to_owned());
    let mut fields = record.fields.iter();
    fields.find_map(|it| {
        let at = it.sizes.iter().position(|it| *it == stated)?;
        Some(match it.sizes.len() {
            1 => format!("numel(m.{})", it.name),
            _ => format!("size(m.{}, {})", it.name, at + 1),
        })
    })
}

fn encode(plan: &Plan<'_>, record: &StructPlan<'_>) -> String {
    let mut parts = String::new();
    let mut checks = String::new();
    for (at, field) in record.fields.iter().enumerate().rev() {
        let (name, key) = (&field.name, field.key);
        let sizes = field.sizes(|it| length(record, it).unwrap_or_default());
        let sizes = sizes.join(", ");
        let part = match (field.of, field.sizes.is_empty()) {
            (ElementType::Number(of), true) => match length(record, name) {
                Some(length) => format!(
                    "kadenz_codec.put_length('{key}', {length}, '{}')",
                    primitive(of)
                ),
                None => {
                    checks += &format!(
                        "if numel(m.{name}) ~= 1, kadenz_codec.refuse('{key} must be one number'); end\n"
                    );
                    match of {
                        PrimitiveType::Boolean => format!("uint8(m.{name} ~= 0)"),
                        PrimitiveType::Byte => format!("uint8(m.{name})"),
                        of => format!("typecast({}(m.{name}), 'uint8')", primitive(of)),
                    }
                }
            },
            (ElementType::Number(of), false) => format!(
                "kadenz_codec.put_numbers('{key}', m.{name}, '{}', [{sizes}])",
                primitive(of)
            ),
            (ElementType::Text, true) => format!("kadenz_codec.put_text('{key}', m.{name})"),
            (ElementType::Text, false) => {
                format!("kadenz_codec.put_texts('{key}', m.{name}, [{sizes}])")
            }
            (ElementType::Record(index), true) => {
                format!("{}_encode(m.{name}, true)", plan.records[index].path("."))
            }
            (ElementType::Record(index), false) => {
                // Not in a function: Octave's limit is 256 nested calls.
                let path = plan.records[index].path(".");
                checks += &format!(
                    "v = kadenz_codec.flat('{key}', m.{name}, [{sizes}]);\np{at} = cell(1, numel(v));\nfor k = 1:numel(v), p{at}{{k}} = {path}_encode(v(k), true); end\n"
                );
                format!("p{at}{{:}}")
            }
        };
        parts += &format!("  {part}, ...\n");
    }
    fill(
        ENCODE,
        &[
            ("short", &record.short),
            ("full", &record.full),
            ("head", HEAD),
            ("fingerprint", &fingerprint(record)),
            ("checks", &checks),
            ("parts", &parts),
        ],
    )
}

const ENCODE: &str = "function b = @short@_encode(m, part)
% The bytes of a struct as @short@() makes it, uint8: @full@ with its fingerprint.
% What states an array's length follows the array.
@head@@checks@% From the last byte to the first: numbers are then little-endian, as the machine has them.
b = [ ...
@parts@  zeros(1, 0, 'uint8')];
if nargin < 2
  b = [b, @fingerprint@];
  b = b(end:-1:1);
end
end
";

/// The fingerprint from its last byte to its first.
fn fingerprint(record: &StructPlan<'_>) -> String {
    let bytes = record.fingerprint.to_le_bytes().map(|it| it.to_string());
    format!("uint8([{}])", bytes.join(" "))
}

fn decode(plan: &Plan<'_>, record: &StructPlan<'_>) -> String {
    let mut lines = match record.recursive {
        true => format!("kadenz_codec.depth(depth, '{}');\n", record.full),
        false => String::new(),
    };
    for run in record.runs() {
        match run {
            [first, ..] if first.is_number() => lines += &scalars(run),
            [field, ..] => lines += &member(plan, record, field),
            [] => {}
        }
    }
    fill(
        DECODE,
        &[
            ("short", &record.short),
            ("full", &record.full),
            ("path", &record.path(".")),
            ("head", HEAD),
            ("fingerprint", &fingerprint(record)),
            ("lines", &lines),
        ],
    )
}

const DECODE: &str = "function [m, at] = @short@_decode(b, at, depth)
% The struct of bytes, uint8, that are a @full@; an error kadenz:message if they are not one.
@head@if nargin < 2
  b = kadenz_codec.open(b, @fingerprint@, '@full@');
  [m, at] = @path@_decode(b, numel(b) - 8, 1);
  kadenz_codec.close(at, '@full@');
  return
end
m = struct();
@lines@end
";

/// Returns code that reads numbers that follow each other, with one check of the message's length.
fn scalars(run: &[Field<'_>]) -> String {
    let bytes: usize = run.iter().map(|it| it.least).sum();
    let key = run.first().map_or("", |it| it.key);
    let mut text =
        format!("if at < {bytes}, kadenz_codec.refuse('the message ends within {key}'); end\n");
    let mut used = 0;
    for field in run {
        let name = &field.name;
        let (first, last) = (used + field.least - 1, used);
        let back = |by: usize| match by {
            0 => "at".to_owned(),
            by => format!("at-{by}"),
        };
        used += field.least;
        let (first, last) = (back(first), back(last));
        text += &match field.of {
            ElementType::Number(PrimitiveType::Boolean) => format!("m.{name} = b({last}) ~= 0;\n"),
            ElementType::Number(PrimitiveType::Byte) => format!("m.{name} = b({last});\n"),
            ElementType::Number(of) => {
                format!(
                    "m.{name} = typecast(b({first}:{last}), '{}');\n",
                    primitive(of)
                )
            }
            _ => String::new(),
        };
    }
    format!("{text}at = at - {bytes};\n")
}

fn member(plan: &Plan<'_>, record: &StructPlan<'_>, field: &Field<'_>) -> String {
    let (name, key, least) = (&field.name, field.key, field.least);
    let sizes = field.sizes(|it| format!("double(m.{it})")).join(", ");
    // Among types that hold each other the code counts the depth of nesting.
    let depth = |index: usize| match plan.records[index].group == record.group {
        true => "depth + 1",
        false => "1",
    };
    let read = match (field.of, field.sizes.is_empty()) {
        (ElementType::Number(of), _) => format!(
            "kadenz_codec.numbers(b, at, '{key}', '{}', {}, [{sizes}])",
            primitive(of),
            of.least_bytes()
        ),
        (ElementType::Text, true) => format!("kadenz_codec.text(b, at, '{key}')"),
        (ElementType::Text, false) => format!("kadenz_codec.texts(b, at, '{key}', [{sizes}])"),
        (ElementType::Record(index), true) => {
            let path = plan.records[index].path(".");
            format!("{path}_decode(b, at, {})", depth(index))
        }
        (ElementType::Record(index), false) => {
            let (path, depth) = (plan.records[index].path("."), depth(index));
            return format!(
                "v = cell(1, kadenz_codec.room(at, '{key}', {least}, [{sizes}]));\nfor k = 1:numel(v), [v{{k}}, at] = {path}_decode(b, at, {depth}); end\nm.{name} = kadenz_codec.joined(v, [{sizes}]);\n"
            );
        }
    };
    format!("[m.{name}, at] = {read};\n")
}
