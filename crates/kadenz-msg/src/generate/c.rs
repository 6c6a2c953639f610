//! C: a header for each type, and one header for types that hold each other.

use super::plan::{ElementType, Field, NamingRules, Plan, StructPlan, fill, marked};
use super::{GeneratedFile, file};
use crate::types::PrimitiveType;

/// The words of C that C++ has as well.
pub(super) const SHARED_KEYWORDS: &str = "\
    EOF NULL alignas alignof asm assert auto bool break case char const constexpr continue default do \
    double else enum errno extern false float for goto if inline int linux long nullptr \
    register return short signed sizeof static static_assert stderr stdin stdout struct switch \
    thread_local true typedef union unix unsigned void volatile while";

pub(super) const WORDS: NamingRules = NamingRules {
    keywords: &[SHARED_KEYWORDS, "restrict typeof"],
    members: "",
    derived: "_fingerprint _encoded_size _encode _decode _free _put _get",
    separator: "_",
    before_underscore: "",
    default_package: "",
};

pub(super) fn write(plan: &Plan<'_>) -> Vec<GeneratedFile> {
    let support = file("kadenz_codec.h", include_str!("support/kadenz_codec.h"));
    let headers = plan.headers("_", ".h", |records, includes| {
        header(plan, records, includes)
    });
    [support].into_iter().chain(headers).collect()
}

const HEAD: &str =
    "/* Written by `kadenz msg gen --lang c`: change the .lcm files, and write it again. */\n";

fn header(plan: &Plan<'_>, records: &[&StructPlan<'_>], includes: &str) -> String {
    let Some(first) = records.first() else {
        // The first of the types that hold each other describes this one, too.
        return format!("{HEAD}{includes}");
    };
    let each = |of: &dyn Fn(&StructPlan<'_>) -> String| {
        records.iter().map(|it| of(it)).collect::<String>()
    };
    let prototypes = match records.len() {
        1 => String::new(),
        _ => each(&|it| fill(PROTOTYPES, &[("name", &it.path("_"))])),
    };
    let guard = format!("KADENZ_{}_H", first.path("_").to_uppercase());
    format!(
        "{HEAD}#ifndef {guard}\n#define {guard}\n\n#include \"kadenz_codec.h\"\n{includes}{}\n{}{}{}{}\n#endif\n",
        each(&constants),
        each(&|it| fill(
            "typedef struct @name@ @name@;\n",
            &[("name", &it.path("_"))]
        )),
        each(&|it| structure(plan, it)),
        prototypes,
        each(&|it| functions(plan, it)),
    )
}

fn constants(record: &StructPlan<'_>) -> String {
    let name = record.path("_").to_uppercase();
    let line = |it: &super::plan::Fixed<'_>| {
        let number = it.number();
        let value = match it.of {
            PrimitiveType::Int64 if number == i64::MIN.to_string() => "(-INT64_MAX - 1)".to_owned(),
            PrimitiveType::Int64 => format!("INT64_C({number})").replace("C(-", "C(0) - INT64_C("),
            PrimitiveType::Int32 if number == i32::MIN.to_string() => "(-INT32_MAX - 1)".to_owned(),
            PrimitiveType::Float => format!("{number}f"),
            _ => number,
        };
        let value = if value.contains(['-', ' ']) && !value.starts_with('(') {
            format!("({value})")
        } else {
            value
        };
        let said = marked("//", &it.comment());
        format!("{said}#define {name}_{} {value}\n", it.name)
    };
    let lines: String = record.constants.iter().map(line).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("\n{lines}")
    }
}

fn structure(plan: &Plan<'_>, record: &StructPlan<'_>) -> String {
    let mut members = String::new();
    for it in &record.fields {
        let of = one(plan, it.of);
        let name = &it.name;
        members += &marked("    //", &it.comment());
        members += &match it.is_variable() {
            true => format!("    {of}{}*{name};\n", space(&of)),
            false => {
                let sizes = it.sizes(str::to_owned);
                let sizes: String = sizes.iter().map(|it| format!("[{it}]")).collect();
                format!("    {of}{}{name}{sizes};\n", space(&of))
            }
        };
    }
    if members.is_empty() {
        members = "    char nothing; // C has no empty structs\n".to_owned();
    }
    let said = marked("//", &record.comment());
    format!("\n{said}struct {} {{\n{members}}};\n", record.path("_"))
}

fn space(of: &str) -> &'static str {
    if of.ends_with('*') { "" } else { " " }
}

fn one(plan: &Plan<'_>, of: ElementType) -> String {
    match of {
        ElementType::Number(of) => primitive(of).to_owned(),
        ElementType::Text => "char *".to_owned(),
        ElementType::Record(index) => plan.records[index].path("_"),
    }
}

fn primitive(of: PrimitiveType) -> &'static str {
    match of {
        PrimitiveType::Int8 => "int8_t",
        PrimitiveType::Int16 => "int16_t",
        PrimitiveType::Int32 => "int32_t",
        PrimitiveType::Int64 => "int64_t",
        PrimitiveType::Byte => "uint8_t",
        PrimitiveType::Boolean => "bool",
        PrimitiveType::Float => "float",
        PrimitiveType::Double => "double",
        PrimitiveType::String => "char *",
    }
}

fn functions(plan: &Plan<'_>, record: &StructPlan<'_>) -> String {
    let fields = record.fields.iter();
    let put: String = fields.clone().map(|it| put(plan, it)).collect();
    let mut get: String = fields.clone().map(|it| get(plan, it)).collect();
    if record.recursive {
        get = format!("    if (!kadenz_enter(c)) return;\n{get}    --c->depth;\n");
    }
    let unused = |text: String| match text.is_empty() {
        true => "    (void)c, (void)m;\n".to_owned(),
        false => text,
    };
    fill(
        FUNCTIONS,
        &[
            ("name", &record.path("_")),
            ("fingerprint", &record.c_fingerprint()),
            ("put", &unused(put)),
            ("get", &unused(get)),
            ("free", &fields.map(|it| free(plan, it)).collect::<String>()),
        ],
    )
}

const PROTOTYPES: &str = "
static inline void @name@_put(kadenz_cursor *c, const @name@ *m);
static inline void @name@_get(kadenz_cursor *c, @name@ *m);
static inline void @name@_free(@name@ *m);
";

const FUNCTIONS: &str = r"
/* Gives back what decoding took, and leaves an empty message. */
static inline void @name@_free(@name@ *m)
{
@free@    memset(m, 0, sizeof *m);
}

static inline void @name@_put(kadenz_cursor *c, const @name@ *m)
{
@put@}

static inline void @name@_get(kadenz_cursor *c, @name@ *m)
{
@get@}

static inline uint64_t @name@_fingerprint(void)
{
    return @fingerprint@;
}

/* Writes the message, and returns how many bytes it takes, or an error below 0. */
static inline ptrdiff_t @name@_encode(void *buffer, size_t size, const @name@ *m)
{
    kadenz_cursor c = kadenz_writer(buffer, size, @name@_fingerprint());
    @name@_put(&c, m);
    return kadenz_end(&c);
}

/* How many bytes the message takes, or an error below 0. */
static inline ptrdiff_t @name@_encoded_size(const @name@ *m)
{
    return @name@_encode(NULL, 0, m);
}

/* Reads a whole message over whatever m holds, and returns how many bytes it took. @name@_free gives back its
   arrays and strings; after an error below 0 there are none. */
static inline ptrdiff_t @name@_decode(const void *buffer, size_t size, @name@ *m)
{
    kadenz_cursor c = kadenz_reader(buffer, size, @name@_fingerprint());
    memset(m, 0, sizeof *m);
    @name@_get(&c, m);
    if (c.at < c.size) kadenz_fail(&c, KADENZ_TOO_LONG);
    if (c.error) @name@_free(m);
    return kadenz_end(&c);
}
";

/// How many elements an array has.
fn count(field: &Field<'_>) -> String {
    field.stated().fold(field.fixed().to_string(), |count, by| {
        format!("kadenz_times({count}, m->{by})")
    })
}

/// Returns the address of the first element: rows are contiguous.
fn first(field: &Field<'_>, of: &str) -> String {
    let name = &field.name;
    match field.is_variable() || field.sizes.len() == 1 {
        true => format!("m->{name}"),
        false if field.sizes.is_empty() => format!("&m->{name}"),
        false => format!("({of}{}*)m->{name}", space(of)),
    }
}

fn put(plan: &Plan<'_>, field: &Field<'_>) -> String {
    let count = count(field);
    match field.of {
        ElementType::Number(of) => {
            let first = first(field, &format!("const {}", primitive(of)));
            format!(
                "    kadenz_put(c, {first}, {count}, {});\n",
                of.least_bytes()
            )
        }
        ElementType::Text => {
            let first = first(field, "char *const");
            format!("    kadenz_put_text(c, {first}, {count});\n")
        }
        ElementType::Record(index) => {
            let of = plan.records[index].path("_");
            let first = first(field, &format!("const {of}"));
            match field.sizes.is_empty() {
                true => format!("    {of}_put(c, {first});\n"),
                false => format!(
                    "    for (size_t i = 0, n = kadenz_count(c, {first}, {count}); i < n && !c->error; ++i) {of}_put(c, {first} + i);\n"
                ),
            }
        }
    }
}

fn get(plan: &Plan<'_>, field: &Field<'_>) -> String {
    let (name, of, count) = (&field.name, one(plan, field.of), count(field));
    let first = first(field, &of);
    let made = match field.is_variable() {
        true => format!(
            "    m->{name} = ({of}{}*)kadenz_new(c, {count}, {}, sizeof *m->{name});\n",
            space(&of),
            field.least
        ),
        false => String::new(),
    };
    let read = match field.of {
        ElementType::Number(PrimitiveType::Boolean) => {
            format!("kadenz_get_bool(c, {first}, {count});")
        }
        ElementType::Number(of) => {
            format!("kadenz_get(c, {first}, {count}, {});", of.least_bytes())
        }
        ElementType::Text => format!("kadenz_get_text(c, {first}, {count});"),
        ElementType::Record(_) if field.sizes.is_empty() => format!("{of}_get(c, {first});"),
        ElementType::Record(_) => format!(
            "for (size_t i = 0, n = kadenz_count(c, {first}, {count}); i < n && !c->error; ++i) {of}_get(c, {first} + i);"
        ),
    };
    format!("{made}    {read}\n")
}

fn free(plan: &Plan<'_>, field: &Field<'_>) -> String {
    let (name, of, count) = (&field.name, one(plan, field.of), count(field));
    let first = first(field, &of);
    let mut text = match field.of {
        ElementType::Number(_) => String::new(),
        ElementType::Text => format!("    kadenz_free_text({first}, {count});\n"),
        ElementType::Record(_) if field.sizes.is_empty() => format!("    {of}_free({first});\n"),
        ElementType::Record(_) => format!(
            "    for (size_t i = 0, n = kadenz_held({first}, {count}); i < n; ++i) {of}_free({first} + i);\n"
        ),
    };
    if field.is_variable() {
        text += &format!("    free(m->{name});\n");
    }
    text
}
