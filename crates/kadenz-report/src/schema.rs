//! The JSON Schemas of what commands print, made from the types that they print.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::document::Answer;

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
    generator: SchemaGenerator,
    answers: Vec<(&'static str, Value)>,
}

impl SchemaFile {
    /// An empty one for the commands of `kadenz GROUP`.
    #[must_use]
    pub fn new(group: &'static str, version: u32) -> Self {
        Self {
            group,
            version,
            generator: SchemaSettings::draft2020_12()
                .for_serialize()
                .into_generator(),
            answers: Vec::new(),
        }
    }

    /// Its name in `docs/schema`.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.schema.json", self.group)
    }

    /// Adds what `kadenz GROUP COMMAND --json` prints.
    #[must_use]
    pub fn answer<A: Answer>(mut self, command: &'static str) -> Self {
        let mut schema = A::json_schema(&mut self.generator);
        if let Some(object) = schema.as_object_mut() {
            object.remove("title");
        }
        self.answers.push((command, schema.to_value()));
        self
    }

    /// The file's content.
    #[must_use]
    pub fn finish(mut self) -> Value {
        let references = self.answers.iter();
        let references = references.map(|(name, _)| json!({"$ref": format!("#/$defs/{name}")}));
        let any_of = references.collect::<Vec<_>>();
        let mut definitions = self.generator.take_definitions(true);
        definitions.extend(
            self.answers
                .into_iter()
                .map(|(name, schema)| (name.to_owned(), schema)),
        );
        let mut file = Map::new();
        let mut set = |key: &str, value: Value| file.insert(key.to_owned(), value);
        set(
            "$schema",
            "https://json-schema.org/draft/2020-12/schema".into(),
        );
        set(
            "$id",
            format!("urn:kadenz:schema:{}:{}", self.group, self.version).into(),
        );
        set(
            "title",
            format!("Output of kadenz {} --json", self.group).into(),
        );
        set("anyOf", any_of.into());
        set("$defs", Value::Object(definitions));
        Value::Object(file)
    }
}
