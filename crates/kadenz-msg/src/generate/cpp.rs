//! C++: a header for each type, and one header for types that hold each other.

use super::plan::{ArrayLength, ElementType, Field, NamingRules, Plan, StructPlan, fill, marked};
use super::{GeneratedFile, file};
use crate::types::PrimitiveType;

pub(super) const WORDS: NamingRules = NamingRules {
    keywords: &[
        super::c::SHARED_KEYWORDS,
        "and and_eq bitand bitor catch char16_t char32_t char8_t class co_await co_return \
            co_yield compl concept const_cast consteval constinit decltype delete dynamic_cast \
            explicit export friend mutable namespace new noexcept not not_eq operator or or_eq \
            private protected public reinterpret_cast requires static_cast std template this throw \
            try typeid typename using virtual wchar_t xor xor_eq",
    ],
    members: "decode decode_from encode encoded_size fingerprint holds_itself least_bytes type_name visit",
    derived: "",
    separator: "::",
    before_underscore: "",
    default_package: "",
};

pub(super) fn write(plan: &Plan<'_>) -> Vec<GeneratedFile> {
    let support = file("kadenz_codec.hpp", include_str!("support/kadenz_codec.hpp"));
    let headers = plan.headers("/", ".hpp", |records, includes| {
        header(plan, records, includes)
    });
    [support].into_iter().chain(headers).collect()
}

const HEAD: &str = "// Written by `kadenz msg gen --lang cpp`: change the .lcm files, and write it again.\n#pragma once\n\n";

fn header(plan: &Plan<'_>, records: &[&StructPlan<'_>], includes: &str) -> String {
    if records.is_empty() {
        // The first of the types that hold each other describes this one, too.
        return format!("{HEAD}{includes}");
    }
    let each = |of: &dyn Fn(&StructPlan<'_>) -> String| {
        let texts = records.iter().map(|it| within(it, &of(it)));
        texts.collect::<String>()
    };
    let forward = match records.len() {
        1 => String::new(),
        _ => each(&|it| format!("struct {};\n", it.short)),
    };
    format!(
        "{HEAD}#include \"kadenz_codec.hpp\"\n{includes}{forward}{}{}",
        each(&|it| structure(plan, it)),
        each(&functions),
    )
}

/// A text in the namespace of a type.
fn within(record: &StructPlan<'_>, text: &str) -> String {
    match record.package.join("::").as_str() {
        "" => format!("\n{text}"),
        package => format!("\nnamespace {package} {{\n{text}}}  // namespace {package}\n"),
    }
}

fn structure(plan: &Plan<'_>, record: &StructPlan<'_>) -> String {
    let mut members = String::new();
    for it in &record.constants {
        let (of, name, number) = (primitive(it.of), &it.name, it.number());
        let value = match it.of {
            PrimitiveType::Float => format!("{number}f"),
            PrimitiveType::Int32 | PrimitiveType::Int64 => least_of(it.of, number),
            _ => number,
        };
        members += &marked("    ///", &it.comment());
        members += &format!("    static constexpr {of} {name} = {value};\n");
    }
    for it in &record.fields {
        let of = whole(plan, it);
        let start = match it.start {
            0 => "{}".to_owned(),
            start if it.sizes.is_empty() => format!(" = {start}"),
            start if !it.is_variable() => format!(" = ::kadenz_codec::filled<{of}>({start})"),
            _ => "{}".to_owned(),
        };
        members += &marked("    ///", &it.comment());
        members += &format!("    {of} {}{start};\n", it.name);
    }
    let name = format!("::{}", record.path("::"));
    let least: usize = record
        .fields
        .iter()
        .map(least)
        .fold(0, usize::saturating_add);
    fill(
        STRUCT,
        &[
            ("doc", &marked("///", &record.comment())),
            ("short", &record.short),
            ("name", &name),
            ("full", &record.full),
            ("least", &least.to_string()),
            ("recursive", if record.recursive { "true" } else { "false" }),
            ("fingerprint", &record.c_fingerprint()),
            ("members", &members),
        ],
    )
}

const STRUCT: &str = r#"@doc@struct @short@ {
@members@
    static constexpr std::uint64_t fingerprint() { return @fingerprint@; }
    static constexpr const char *type_name() { return "@full@"; }
    static constexpr std::size_t least_bytes = @least@;
    static constexpr bool holds_itself = @recursive@;

    std::size_t encoded_size() const;
    /// The message with its fingerprint. Throws kadenz_codec::Error where a length is not the vector's.
    std::vector<std::uint8_t> encode() const;
    /// The same in a buffer; returns how much of it is used. Allocates nothing.
    std::size_t encode(void *buffer, std::size_t size) const;
    /// The message of these bytes. Throws kadenz_codec::Error if they are not a message.
    static @name@ decode(const void *bytes, std::size_t size);
    static @name@ decode(const std::vector<std::uint8_t> &bytes);
    /// The same over this message, whose memory is used again.
    void decode_from(const void *bytes, std::size_t size);

    template <class Message, class Codec>
    static void visit(Message &m, Codec &codec);
};
"#;

fn functions(record: &StructPlan<'_>) -> String {
    let visit = |it: &Field<'_>| {
        let stated: String = it.stated().map(|by| format!(", m.{by}")).collect();
        format!("    codec(\"{}\", m.{}{stated});\n", it.key, it.name)
    };
    let same = record
        .fields
        .iter()
        .map(|it| format!("one.{0} == other.{0}", it.name));
    let same: Vec<String> = same.collect();
    let (visited, same) = match same.is_empty() {
        true => (
            "    static_cast<void>(m), static_cast<void>(codec);\n".to_owned(),
            "static_cast<void>(one), static_cast<void>(other), true".to_owned(),
        ),
        false => (record.fields.iter().map(visit).collect(), same.join(" && ")),
    };
    fill(
        FUNCTIONS,
        &[
            ("short", &record.short),
            ("name", &format!("::{}", record.path("::"))),
            ("visit", &visited),
            ("same", &same),
        ],
    )
}

// Parameters end in `_`, so that no member has their name.
const FUNCTIONS: &str = r"template <class Message, class Codec>
void @short@::visit(Message &m, Codec &codec) {
@visit@}

inline std::size_t @short@::encoded_size() const { return ::kadenz_codec::encode(*this, nullptr, 0); }

inline std::vector<std::uint8_t> @short@::encode() const {
    std::vector<std::uint8_t> bytes_(encoded_size());
    encode(bytes_.data(), bytes_.size());
    return bytes_;
}

inline std::size_t @short@::encode(void *buffer_, std::size_t size_) const {
    return ::kadenz_codec::encode(*this, buffer_, size_);
}

inline void @short@::decode_from(const void *bytes_, std::size_t size_) {
    ::kadenz_codec::decode(*this, bytes_, size_);
}

inline @name@ @short@::decode(const void *bytes_, std::size_t size_) {
    @name@ message_;
    message_.decode_from(bytes_, size_);
    return message_;
}

inline @name@ @short@::decode(const std::vector<std::uint8_t> &bytes_) {
    return decode(bytes_.data(), bytes_.size());
}

inline bool operator==(const @name@ &one, const @name@ &other) { return @same@; }
inline bool operator!=(const @name@ &one, const @name@ &other) { return !(one == other); }
";

/// How many bytes a member takes at least.
fn least(field: &Field<'_>) -> usize {
    match field.is_variable() {
        true => 0,
        false => field.fixed().saturating_mul(field.least),
    }
}

/// The least integers are not literals.
fn least_of(of: PrimitiveType, number: String) -> String {
    match of {
        PrimitiveType::Int64 if number == i64::MIN.to_string() => "INT64_MIN".to_owned(),
        PrimitiveType::Int32 if number == i32::MIN.to_string() => "INT32_MIN".to_owned(),
        _ => number,
    }
}

fn primitive(of: PrimitiveType) -> &'static str {
    match of {
        PrimitiveType::Int8 => "std::int8_t",
        PrimitiveType::Int16 => "std::int16_t",
        PrimitiveType::Int32 => "std::int32_t",
        PrimitiveType::Int64 => "std::int64_t",
        PrimitiveType::Byte => "std::uint8_t",
        PrimitiveType::Boolean => "bool",
        PrimitiveType::Float => "float",
        PrimitiveType::Double => "double",
        PrimitiveType::String => "std::string",
    }
}

/// The type of a member. Types of messages have their whole name, which no member hides.
fn whole(plan: &Plan<'_>, field: &Field<'_>) -> String {
    let one = match field.of {
        ElementType::Number(of) => primitive(of).to_owned(),
        ElementType::Text => primitive(PrimitiveType::String).to_owned(),
        ElementType::Record(index) => format!("::{}", plan.records[index].path("::")),
    };
    field.sizes.iter().rev().fold(one, |inner, it| match it {
        ArrayLength::Fixed(size) => format!("std::array<{inner}, {size}>"),
        ArrayLength::Stated(_) => format!("std::vector<{inner}>"),
    })
}
