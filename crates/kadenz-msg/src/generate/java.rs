//! Java: a folder for each package, a class for each type.

use super::plan::{ElementType, Field, NamingRules, Plan, StructPlan, fill};
use super::{GeneratedFile, file};
use crate::types::PrimitiveType;

pub(super) const WORDS: NamingRules = NamingRules {
    keywords: &[
        "_ abstract assert boolean break byte case catch char class const continue default do \
            double else enum extends false final finally float for goto if implements import \
            instanceof int interface long native new null package private protected public record \
            return sealed short static strictfp super switch synchronized this throw throws \
            transient true try var void volatile while yield",
    ],
    members: "LCM_FINGERPRINT java kadenz serialVersionUID",
    derived: "",
    separator: ".",
    before_underscore: "",
    default_package: "lcmtypes",
};

pub(super) fn write(plan: &Plan<'_>) -> Vec<GeneratedFile> {
    let support = file(
        "kadenz/generated/Codec.java",
        include_str!("support/Codec.java"),
    );
    let class = |it: &StructPlan<'_>| {
        let path = format!("{}.java", it.path("/"));
        file(path, structure(plan, it))
    };
    let classes = plan.records.iter().map(class);
    [support].into_iter().chain(classes).collect()
}

fn structure(plan: &Plan<'_>, record: &StructPlan<'_>) -> String {
    let fields = record.fields.iter();
    let mut members = String::new();
    for it in &record.constants {
        let suffix = match it.of {
            PrimitiveType::Int64 => "L",
            PrimitiveType::Float => "f",
            _ => "",
        };
        let (of, name, value) = (primitive(it.of).0, &it.name, it.number());
        let said = doc("    ", &it.comment());
        members += &format!("{said}    public static final {of} {name} = {value}{suffix};\n\n");
    }
    for it in fields.clone() {
        let whole = format!("{}{}", one(plan, record, it), "[]".repeat(it.sizes.len()));
        members += &doc("    ", &it.comment());
        members += &match start(plan, record, it) {
            Some(start) => format!("    public {whole} {} = {start};\n\n", it.name),
            None => format!("    public {whole} {};\n\n", it.name),
        };
    }
    let filled: String = fields.clone().map(|it| filled(plan, record, it)).collect();
    let join = |of: fn(&Field<'_>) -> String| {
        let all = record.fields.iter().map(of);
        all.collect::<Vec<_>>().join(", ")
    };
    let mut get: String = fields.clone().map(|it| get(plan, record, it)).collect();
    if record.recursive {
        let full = &record.full;
        get = format!("        in.enter(\"{full}\");\n{get}        in.leave();\n");
    }
    fill(
        CLASS,
        &[
            ("doc", &doc("", &record.comment())),
            ("package", &record.package.join(".")),
            ("short", &record.short),
            ("full", &record.full),
            ("fingerprint", &format!("0x{:016x}L", record.fingerprint)),
            ("filled", &filled),
            (
                "put",
                &fields.map(|it| put(plan, record, it)).collect::<String>(),
            ),
            ("get", &get),
            ("names", &join(|it| format!("\"{}\"", it.key))),
            ("values", &join(|it| format!("this.{}", it.name))),
            ("members", &members),
        ],
    )
}

const CLASS: &str = r#"// Written by `kadenz msg gen --lang java`: change the .lcm files, and write it again.

package @package@;

@doc@public final class @short@ implements kadenz.Message {
    private static final long serialVersionUID = @fingerprint@;

    /** The first eight bytes of every message of this type. */
    public static final long LCM_FINGERPRINT = @fingerprint@;

@members@    /** With LCM's defaults. */
    public @short@() {
@filled@    }

    /** The message with its fingerprint; IllegalArgumentException where a length is not the array's. */
    public byte[] encode() {
        return kadenz.generated.Codec.encode(this);
    }

    /** The message of these bytes; IllegalArgumentException if they are not a message. */
    public static @short@ decode(byte[] bytes) {
        return kadenz.generated.Codec.decode(bytes, new @short@());
    }

    public long fingerprint() {
        return @fingerprint@;
    }

    public int encodedSize() {
        kadenz.generated.Codec.Writer out = new kadenz.generated.Codec.Writer(null);
        put(out);
        return out.size();
    }

    public void encodeTo(java.nio.ByteBuffer buffer) {
        kadenz.generated.Codec.Writer out = new kadenz.generated.Codec.Writer(buffer);
        put(out);
        out.end(buffer);
    }

    public void decodeFrom(java.nio.ByteBuffer buffer) {
        kadenz.generated.Codec.Reader in = new kadenz.generated.Codec.Reader(buffer);
        get(in);
        in.end(buffer);
    }

    /** Writes the members. */
    public void put(kadenz.generated.Codec.Writer out) {
@put@    }

    /** Reads the members. */
    public void get(kadenz.generated.Codec.Reader in) {
@get@    }

    private java.lang.Object[] values() {
        return new java.lang.Object[] {@values@};
    }

    public boolean equals(java.lang.Object other) {
        return other != null && getClass() == other.getClass()
            && java.util.Arrays.deepEquals(values(), ((@short@) other).values());
    }

    public int hashCode() {
        return java.util.Arrays.deepHashCode(values());
    }

    public java.lang.String toString() {
        java.lang.String[] names = {@names@};
        return kadenz.generated.Codec.text("@full@", names, values());
    }
}
"#;

fn doc(indent: &str, lines: &[String]) -> String {
    let text = lines.join(&format!("\n{indent} * ")).replace("*/", "* /");
    match text.is_empty() {
        true => String::new(),
        false => format!("{indent}/** {text} */\n"),
    }
}

/// Returns the type, and the reader's name for reading one.
fn primitive(of: PrimitiveType) -> (&'static str, &'static str) {
    match of {
        PrimitiveType::Int8 | PrimitiveType::Byte => ("byte", "int8"),
        PrimitiveType::Int16 => ("short", "int16"),
        PrimitiveType::Int32 => ("int", "int32"),
        PrimitiveType::Int64 => ("long", "int64"),
        PrimitiveType::Boolean => ("boolean", "flag"),
        PrimitiveType::Float => ("float", "real32"),
        PrimitiveType::Double => ("double", "real64"),
        PrimitiveType::String => ("java.lang.String", "text"),
    }
}

/// Returns the type of one element. In its own package a class has its short name, which no member hides.
fn one(plan: &Plan<'_>, within: &StructPlan<'_>, field: &Field<'_>) -> String {
    match field.of {
        ElementType::Number(of) => primitive(of).0.to_owned(),
        ElementType::Text => primitive(PrimitiveType::String).0.to_owned(),
        ElementType::Record(index) => {
            let record = &plan.records[index];
            match record.package == within.package {
                true => record.short.clone(),
                false => record.path("."),
            }
        }
    }
}

/// Returns an expression that makes an array of some sizes.
fn array(of: &str, sizes: &[String]) -> String {
    let sizes: String = sizes.iter().map(|it| format!("[{it}]")).collect();
    format!("new {of}{sizes}")
}

fn start(plan: &Plan<'_>, within: &StructPlan<'_>, field: &Field<'_>) -> Option<String> {
    let of = one(plan, within, field);
    if !field.sizes.is_empty() {
        return Some(array(&of, &field.sizes(|_| "0".to_owned())));
    }
    match field.of {
        ElementType::Number(_) => (field.start != 0).then(|| field.start.to_string()),
        ElementType::Text => Some("\"\"".to_owned()),
        ElementType::Record(_) => Some(format!("new {of}()")),
    }
}

/// Arrays of fixed lengths hold LCM's defaults, too.
fn filled(plan: &Plan<'_>, within: &StructPlan<'_>, field: &Field<'_>) -> String {
    let value = match field.of {
        ElementType::Number(_) if field.start == 0 => return String::new(),
        ElementType::Number(_) => field.start.to_string(),
        ElementType::Text => "\"\"".to_owned(),
        ElementType::Record(_) => format!("new {}()", one(plan, within, field)),
    };
    if field.sizes.is_empty() || field.is_variable() {
        return String::new();
    }
    let of = one(plan, within, field);
    rows(field, &of, |array| {
        format!("for (int i = 0; i < {array}.length; i++) {array}[i] = {value};")
    })
}

/// Loops over the rows of an array, with a statement for the innermost.
fn rows(field: &Field<'_>, of: &str, inner: impl Fn(&str) -> String) -> String {
    nested(field, of, |_, _| String::new(), inner)
}

/// Loops over the rows of an array, with a statement for each array first.
fn nested(
    field: &Field<'_>,
    of: &str,
    each: impl Fn(&str, usize) -> String,
    inner: impl Fn(&str) -> String,
) -> String {
    let mut array = format!("this.{}", field.name);
    let mut text = String::new();
    let mut indent = " ".repeat(8);
    let last = field.sizes.len() - 1;
    for at in 0..=last {
        let first = each(&array, at);
        if !first.is_empty() {
            text += &format!("{indent}{first}\n");
        }
        if at < last {
            let brackets = "[]".repeat(last - at);
            text += &format!("{indent}for ({of}{brackets} row{at} : {array}) {{\n");
            array = format!("row{at}");
            indent += "    ";
        }
    }
    text += &format!("{indent}{}\n", inner(&array));
    for depth in (2..last + 2).rev() {
        text += &format!("{}}}\n", "    ".repeat(depth));
    }
    text
}

fn put(plan: &Plan<'_>, within: &StructPlan<'_>, field: &Field<'_>) -> String {
    let key = field.key;
    if field.sizes.is_empty() {
        let name = &field.name;
        return match field.of {
            ElementType::Number(_) => format!("        out.put(this.{name});\n"),
            ElementType::Text => format!("        out.text(\"{key}\", this.{name});\n"),
            ElementType::Record(_) => format!("        this.{name}.put(out);\n"),
        };
    }
    let sizes = field.sizes(|it| format!("this.{it}"));
    let each = |array: &str, at: usize| {
        let size = &sizes[at];
        format!("out.length(\"{key}\", {array}.length, {size});")
    };
    let of = one(plan, within, field);
    nested(field, &of, each, |array| match field.of {
        ElementType::Number(_) => format!("out.put({array});"),
        ElementType::Text => format!("for ({of} it : {array}) out.text(\"{key}\", it);"),
        ElementType::Record(_) => format!("for ({of} it : {array}) it.put(out);"),
    })
}

fn get(plan: &Plan<'_>, within: &StructPlan<'_>, field: &Field<'_>) -> String {
    let (key, name, least) = (field.key, &field.name, field.least);
    let of = one(plan, within, field);
    let value = match field.of {
        ElementType::Number(of) => format!("in.{}(\"{key}\")", primitive(of).1),
        ElementType::Text => format!("in.text(\"{key}\")"),
        ElementType::Record(_) => format!("new {of}()"),
    };
    let read = |place: &str| match field.of {
        ElementType::Record(_) => format!("({place} = {value}).get(in);"),
        _ => format!("{place} = {value};"),
    };
    if field.sizes.is_empty() {
        return format!("        {}\n", read(&format!("this.{name}")));
    }
    let sizes = field.sizes(|it| format!("in.length(\"{key}\", this.{it})"));
    let room = match field.is_variable() {
        true => format!(
            "        in.room(\"{key}\", {least}, {});\n",
            sizes.join(", ")
        ),
        false => String::new(),
    };
    let made = array(&of, &sizes);
    let rest = rows(field, &of, |array| match field.of {
        ElementType::Number(_) => format!("in.get(\"{key}\", {array});"),
        _ => format!(
            "for (int i = 0; i < {array}.length; i++) {}",
            read(&format!("{array}[i]"))
        ),
    });
    format!("{room}        this.{name} = {made};\n{rest}")
}
