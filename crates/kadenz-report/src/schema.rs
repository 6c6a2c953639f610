//! The JSON Schemas of the commands' output, made from its types.

use kadenz_record::run::model::Run;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Value, json};

use crate::json::{ComparisonOutput, Output};
use crate::matrix::Matrix;
use crate::modes::ModesOutput;

/// One schema file: a group of commands, each with its answer under its name in `$defs`.
///
/// ```
/// use kadenz_report::document::{Answer, Document, Version};
/// use kadenz_report::schema::SchemaFile;
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// /// Which ports are open.
/// #[derive(Serialize, JsonSchema)]
/// struct Ports {
///     version: Version<1>,
///     /// From 1 on.
///     ports: Vec<u16>,
/// }
///
/// impl Answer for Ports {
///     fn document(&self) -> Document {
///         format!("{} ports are open", self.ports.len()).into()
///     }
/// }
///
/// let schema = SchemaFile::new("net", 1).answer::<Ports>("ports").finish();
/// assert_eq!(schema["$id"], "urn:kadenz:schema:net:1");
/// assert_eq!(schema["anyOf"][0]["$ref"], "#/$defs/ports");
/// assert_eq!(schema["$defs"]["ports"]["description"], "Which ports are open.");
/// assert_eq!(schema["$defs"]["ports"]["required"][1], "ports");
/// ```
#[derive(Debug)]
pub struct SchemaFile {
    group: &'static str,
    version: u32,
    title: String,
    /// Whether a field without a value is absent in the described output, instead of null.
    absent: bool,
    generator: SchemaGenerator,
    root: Option<Value>,
    answers: Vec<(&'static str, Value)>,
}

impl SchemaFile {
    /// An empty file for the commands of `kadenz GROUP`.
    #[must_use]
    pub fn new(group: &'static str, version: u32) -> Self {
        let settings = SchemaSettings::draft2020_12();
        Self {
            group,
            version,
            title: format!("Output of kadenz {} --json", group.replace('-', " ")),
            absent: false,
            generator: settings.for_serialize().into_generator(),
            root: None,
            answers: Vec::new(),
        }
    }

    /// The file of a single command: all of it describes that command's output. A hyphen in the
    /// name stands for the space in `kadenz testbed model`.
    #[must_use]
    pub fn root<A: JsonSchema>(command: &'static str, version: u32) -> Self {
        let mut file = Self::new(command, version);
        file.root = Some(file.schema_of::<A>());
        file
    }

    /// The files about runs: `run.json` for its readers, and the output of commands about it.
    #[must_use]
    pub fn of_runs() -> [Self; 5] {
        let mut run = Self::new("run", 1).titled("run.json of a Kadenz run folder");
        run.generator = SchemaSettings::draft2020_12().into_generator();
        let schema = run.schema_of::<Run>();
        run.root = Some(schema);
        run.absent = true;
        [
            run,
            Self::root::<Output<'_>>("output", 1).titled("Output of Kadenz with --json"),
            Self::root::<ComparisonOutput<'_>>("compare", 1),
            Self::root::<Matrix>("matrix", 1).titled("A matrix of real-time measures"),
            Self::root::<ModesOutput>("modes", 1),
        ]
    }

    /// Sets a title.
    #[must_use]
    pub fn titled(mut self, title: &str) -> Self {
        title.clone_into(&mut self.title);
        self
    }

    fn schema_of<A: JsonSchema>(&mut self) -> Value {
        let mut schema = A::json_schema(&mut self.generator);
        if let Some(object) = schema.as_object_mut() {
            object.remove("title");
        }
        schema.to_value()
    }

    /// Its name in `docs/schema`.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.schema.json", self.group)
    }

    /// Adds the output of `kadenz GROUP COMMAND --json`.
    #[must_use]
    pub fn answer<A: JsonSchema>(mut self, command: &'static str) -> Self {
        let schema = self.schema_of::<A>();
        self.answers.push((command, schema));
        self
    }

    /// The file's content.
    #[must_use]
    pub fn finish(mut self) -> Value {
        let references = self.answers.iter();
        let references = references.map(|(name, _)| json!({"$ref": format!("#/$defs/{name}")}));
        let any_of = json!({
            "description": "Each command has its definition here, under its name. Times with _ns are in nanoseconds.",
            "anyOf": references.collect::<Vec<_>>(),
        });
        let mut definitions = self.generator.take_definitions(true);
        definitions.extend(
            self.answers
                .into_iter()
                .map(|(name, schema)| (name.to_owned(), schema)),
        );
        let mut file = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": format!("urn:kadenz:schema:{}:{}", self.group, self.version),
            "title": self.title,
            "$defs": definitions,
        });
        let described = self.root.unwrap_or(any_of);
        if let (Value::Object(file), Value::Object(described)) = (&mut file, described) {
            file.extend(described);
        }
        describe_plainly(&mut file);
        if self.absent {
            forbid_null(&mut file);
        }
        file
    }
}

/// Descriptions are doc comments: readers of JSON know neither Rust's links nor `None`.
fn describe_plainly(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "description" => *text = plain(text),
                    other => describe_plainly(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(describe_plainly),
        _ => {}
    }
}

/// A value, or null, becomes the value alone.
fn forbid_null(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Array(kinds)) = fields.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [kind] = kinds.as_slice() {
                    fields["type"] = kind.clone();
                }
            }
            let nothing = json!({"type": "null"});
            let either = fields.get("anyOf").and_then(Value::as_array);
            if let Some([Value::Object(value), other]) = either.map(Vec::as_slice)
                && *other == nothing
            {
                let value = value.clone();
                fields.remove("anyOf");
                fields.extend(value);
            }
            fields.values_mut().for_each(forbid_null);
        }
        Value::Array(items) => items.iter_mut().for_each(forbid_null),
        _ => {}
    }
}

/// Links become their words, escaped brackets brackets, and lines one line; what is for callers from Rust is left out:
/// an example or a heading such as `# Errors`, and what follows.
fn plain(text: &str) -> String {
    let for_rust = ["\n```", "\n# "]
        .iter()
        .filter_map(|it| text.find(it))
        .min();
    let text = text[..for_rust.unwrap_or(text.len())].trim_end();
    let text = text.replace("`None`", "null").replace('\n', " ");
    let text = text.replace("\\[", "[").replace("\\]", "]");
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
        let target = rest.strip_prefix('(').and_then(|it| it.split_once(')'));
        plain.push_str(name);
        plain.push_str(target.map_or(rest, |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_absent_is_never_null() {
        let mut schema = json!({
            "properties": {
                "a": {"type": ["string", "null"], "description": "a"},
                "b": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}], "description": "b"},
            },
        });
        forbid_null(&mut schema);
        let expected = json!({
            "properties": {
                "a": {"type": "string", "description": "a"},
                "b": {"$ref": "#/$defs/b", "description": "b"},
            },
        });
        assert_eq!(schema, expected);
    }

    #[test]
    fn descriptions_have_no_words_of_rust() {
        let text = plain(
            "By [`Display`](std::fmt::Display) or\n[`Self::name`]; `None` where \\[none\\] is.\n\n# Panics\nNever.",
        );
        assert_eq!(text, "By Display or Self::name; null where [none] is.");
    }
}
