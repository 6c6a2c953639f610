//! Logs and the types of their messages: adds descriptions, and converts messages to JSON.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::{ByAddress, Entry, LCM_ENCODING, LoggedChannel, Schema, remember};
use crate::message::Fingerprint;
use crate::types::{
    Definition, MemberType, PrimitiveType, Struct, TypeName, Types, Value, ValueError,
};

/// The known types: from `.lcm` files, and from the logs themselves.
///
/// ```
/// use kadenz_msg::log::{Dictionary, Entry, LoggedChannel};
/// use kadenz_msg::types::Types;
///
/// let types = Types::from_text("struct pose_t { double x; }")?;
/// let fingerprint = types.fingerprint("pose_t").unwrap();
/// let mut dictionary = Dictionary::new(types);
/// let channel = dictionary.describe("POSE", Some(fingerprint));
/// assert_eq!(channel.schema.as_ref().unwrap().name, "pose_t");
///
/// let mut payload = fingerprint.0.to_be_bytes().to_vec();
/// payload.extend(1.5_f64.to_be_bytes());
/// let mut entry = Entry { channel: channel.into(), payload, ..Entry::default() };
/// dictionary.to_json(&mut entry)?;
/// assert_eq!(entry.payload, br#"{"x":1.5}"#);
/// assert_eq!(entry.channel.schema.as_ref().unwrap().encoding, "jsonschema");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Dictionary {
    types: Arc<Types>,
    /// The descriptions of a log, by the fingerprints of their types.
    of_log: HashMap<Fingerprint, Arc<Schema>>,
    /// The types that logs contain, if they can be parsed.
    embedded: HashMap<ByAddress<Schema>, Option<Arc<Types>>>,
    /// Channels with their descriptions, once searched.
    described: HashMap<(ByAddress<LoggedChannel>, Fingerprint), Arc<LoggedChannel>>,
    as_json: HashMap<(ByAddress<LoggedChannel>, TypeName), Arc<LoggedChannel>>,
}

/// The maximum length of a message that is decoded, in bytes, and of the text from one: JSON is several times
/// as long.
const MAX_DECODED_BYTES: usize = 32 << 20;
const MAX_TEXT_BYTES: usize = 64 << 20;

/// A message that was decoded, or the type that it does not follow.
pub(crate) struct Decoded {
    pub(crate) types: Arc<Types>,
    pub(crate) name: TypeName,
    pub(crate) value: Result<Value, NoJson>,
}

/// The reason for which a message cannot be decoded, or converted to JSON.
#[derive(Debug, thiserror::Error)]
pub enum NoJson {
    /// The message is not an LCM message.
    #[error("{channel} carries {encoding}, not lcm")]
    Encoding {
        /// The channel of the message.
        channel: String,
        /// The encoding of the message.
        encoding: String,
    },
    /// The message, or its text, is longer than the maximum.
    #[error("{channel}: a message of {length} bytes, or its JSON, is longer than what is decoded")]
    TooLong {
        /// The channel of the message.
        channel: String,
        /// How long the message is.
        length: usize,
    },
    /// The type is not known, or the message does not follow it.
    #[error("{channel}: {source}")]
    Value {
        /// The channel of the message.
        channel: String,
        /// The error of the value.
        source: ValueError,
    },
}

impl Dictionary {
    /// Returns a dictionary of those types, which also takes types from logs.
    #[must_use]
    pub fn new(types: Types) -> Self {
        Self {
            types: Arc::new(types),
            ..Self::default()
        }
    }

    /// Adds a description in a log, for its messages whose channel has none.
    pub(crate) fn add_of_log(&mut self, schema: Arc<Schema>) {
        let types = types_in(&schema);
        if let Some(fingerprint) = types.and_then(|it| it.fingerprint(&schema.name)) {
            self.of_log.entry(fingerprint).or_insert(schema);
        }
    }

    /// Whether the log has the description of a message's type.
    pub(crate) fn is_of_log(&self, entry: &Entry) -> bool {
        let fingerprint = entry.fingerprint();
        fingerprint.is_some_and(|it| self.of_log.contains_key(&it))
    }

    /// Returns a channel of LCM messages with that fingerprint, with a description if the type is known.
    #[must_use]
    pub fn describe(&self, channel: &str, fingerprint: Option<Fingerprint>) -> LoggedChannel {
        let schema = fingerprint.and_then(|it| self.schema(it));
        LoggedChannel {
            schema,
            ..LoggedChannel::lcm(channel)
        }
    }

    fn schema(&self, fingerprint: Fingerprint) -> Option<Arc<Schema>> {
        if let Some(schema) = self.of_log.get(&fingerprint) {
            return Some(Arc::clone(schema));
        }
        let definition = self.types.by_fingerprint(fingerprint).next()?;
        let name = definition.name().to_string();
        Some(Arc::new(Schema {
            data: self.types.text_of(&name)?.into_bytes(),
            encoding: LCM_ENCODING.to_owned(),
            name,
        }))
    }

    /// Adds the description of its type to an LCM message of an event log, if it is known. Returns whether
    /// the message has one now.
    pub fn complete(&mut self, entry: &mut Entry) -> bool {
        if entry.channel.schema.is_some() {
            return true;
        }
        let Some(fingerprint) = entry.fingerprint() else {
            return false;
        };
        let key = (ByAddress::new(&entry.channel), fingerprint);
        let known = self.described.get(&key).map(Arc::clone);
        let described = known.unwrap_or_else(|| {
            let channel = LoggedChannel {
                schema: self.schema(fingerprint),
                ..LoggedChannel::clone(&entry.channel)
            };
            remember(&mut self.described, key, Arc::new(channel))
        });
        entry.channel = described;
        entry.channel.schema.is_some()
    }

    /// Returns the types by which an entry is decoded: those of its own log before those of the user.
    fn types_of(&mut self, entry: &Entry) -> Option<Arc<Types>> {
        let schema = entry.channel.schema.as_ref()?;
        let address = ByAddress::new(schema);
        if let Some(known) = self.embedded.get(&address) {
            return known.clone();
        }
        let types = types_in(schema).map(Arc::new);
        remember(&mut self.embedded, address, types)
    }

    /// Decodes an LCM message by the type that its fingerprint names, or else its log.
    pub(crate) fn decode(&mut self, entry: &Entry) -> Result<Decoded, NoJson> {
        let channel = || entry.channel.name.clone();
        if entry.channel.encoding != LCM_ENCODING {
            return Err(NoJson::Encoding {
                channel: channel(),
                encoding: entry.channel.encoding.clone(),
            });
        }
        let failed = |source| NoJson::Value {
            channel: channel(),
            source,
        };
        let own = self.types_of(entry);
        let all = [own.as_ref(), Some(&self.types)].into_iter().flatten();
        let found = entry.fingerprint().and_then(|found| {
            let named = |it: &Arc<Types>| {
                Some((
                    Arc::clone(it),
                    it.by_fingerprint(found).next()?.name().clone(),
                ))
            };
            all.clone().find_map(named)
        });
        let stated = || {
            let (own, schema) = (own.as_ref()?, entry.channel.schema.as_ref()?);
            Some((Arc::clone(own), own.get(&schema.name)?.name().clone()))
        };
        let Some((types, name)) = found.or_else(stated) else {
            let error = self.types.decode(&entry.payload).err();
            let none = ValueError::UnknownFingerprint {
                found: Fingerprint(0),
            };
            return Err(failed(error.unwrap_or(none)));
        };
        let length = entry.payload.len();
        let value = if length > MAX_DECODED_BYTES {
            let channel = channel();
            Err(NoJson::TooLong { channel, length })
        } else {
            types
                .decode_as(&name.to_string(), &entry.payload)
                .map_err(failed)
        };
        Ok(Decoded { types, name, value })
    }

    /// Converts an LCM message to JSON, with a JSON schema, which viewers such as Foxglove show.
    ///
    /// # Errors
    /// If it is not an LCM message, or its type is not known. The entry is unchanged then.
    pub fn to_json(&mut self, entry: &mut Entry) -> Result<(), NoJson> {
        let Decoded { types, name, value } = self.decode(entry)?;
        let value = value?;
        let too_long = || NoJson::TooLong {
            channel: entry.channel.name.clone(),
            length: entry.payload.len(),
        };
        let text = value.to_json_text(MAX_TEXT_BYTES).ok_or_else(too_long)?;
        entry.payload = text.into_bytes();
        let key = (ByAddress::new(&entry.channel), name.clone());
        if let Some(known) = self.as_json.get(&key) {
            entry.channel = Arc::clone(known);
            return Ok(());
        }
        let definition = types.definition(&name);
        let schema = definition.map(|definition| Schema {
            name: definition.name().to_string(),
            encoding: "jsonschema".to_owned(),
            data: json_schema(&types, definition).to_string().into_bytes(),
        });
        let channel = LoggedChannel {
            encoding: "json".to_owned(),
            schema: schema.map(Arc::new),
            ..LoggedChannel::clone(&entry.channel)
        };
        entry.channel = remember(&mut self.as_json, key, Arc::new(channel));
        Ok(())
    }
}

/// The types in a description, if it is one of LCM and can be parsed.
fn types_in(schema: &Schema) -> Option<Types> {
    if schema.encoding != LCM_ENCODING {
        return None;
    }
    let text = String::from_utf8_lossy(&schema.data);
    Types::from_text(&text).ok()
}

/// Returns a type as a JSON schema. Structs are written out at each use, as viewers follow no references; a
/// struct within itself is any object.
fn json_schema(types: &Types, definition: &Definition) -> Json {
    let mut budget = MAX_MEMBERS;
    of_definition(types, definition, &mut Vec::new(), &mut budget)
}

/// The most members of a schema: written out, types can grow beyond all bounds.
const MAX_MEMBERS: usize = 10_000;

fn of_definition<'a>(
    types: &'a Types,
    definition: &'a Definition,
    within: &mut Vec<&'a Struct>,
    budget: &mut usize,
) -> Json {
    let Definition::Struct(of) = definition else {
        return json!({"type": "string"});
    };
    if within.iter().any(|it| it.name == of.name) || *budget == 0 {
        return json!({"type": "object"});
    }
    within.push(of);
    let mut properties = Map::new();
    for member in &of.members {
        *budget = budget.saturating_sub(1);
        let mut schema = match &member.of {
            MemberType::Primitive(primitive) => json!({"type": json_type(*primitive)}),
            MemberType::Named(name) => match types.get(&name.to_string()) {
                Some(inner) => of_definition(types, inner, within, budget),
                None => json!({"type": "object"}),
            },
        };
        for _ in &member.dimensions {
            schema = json!({"type": "array", "items": schema});
        }
        if !member.doc.is_empty() {
            schema["description"] = Json::from(member.doc.as_str());
        }
        properties.insert(member.name.clone(), schema);
    }
    within.pop();
    json!({"type": "object", "properties": properties})
}

fn json_type(primitive: PrimitiveType) -> &'static str {
    match primitive.name() {
        "float" | "double" => "number",
        "string" => "string",
        "boolean" => "boolean",
        _ => "integer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "package robot;
        struct arm_t { int32_t n; float joints[n]; }
        struct pose_t {
            // Where it is.
            double position[3]; string name; boolean ok; byte raw[2]; arm_t arms[2]; int64_t t;
        }
        struct tree_t { int8_t n; tree_t children[n]; }";

    fn schema_of(name: &str) -> Json {
        let types = Types::from_text(TEXT).unwrap();
        json_schema(&types, types.get(name).unwrap())
    }

    #[test]
    fn a_type_is_a_json_schema_with_its_comments() {
        let schema = schema_of("robot.pose_t");
        let properties = &schema["properties"];
        assert_eq!(properties["position"]["items"]["type"], "number");
        assert_eq!(properties["position"]["description"], "Where it is.");
        assert_eq!(properties["name"]["type"], "string");
        assert_eq!(properties["ok"]["type"], "boolean");
        let arm = &properties["arms"]["items"]["properties"];
        assert_eq!(arm["joints"]["items"]["type"], "number");
    }

    #[test]
    fn a_type_within_itself_ends() {
        let schema = schema_of("robot.tree_t");
        let children = &schema["properties"]["children"]["items"];
        assert_eq!(*children, json!({"type": "object"}));
    }

    #[test]
    fn a_log_decodes_itself_before_the_users_types_are_asked() {
        let types = Types::from_text("struct a_t { int8_t n; }").unwrap();
        let fingerprint = types.fingerprint("a_t").unwrap();
        let channel = Dictionary::new(types).describe("A", Some(fingerprint));
        let mut payload = fingerprint.0.to_be_bytes().to_vec();
        payload.push(7);
        let mut entry = Entry {
            channel: channel.into(),
            payload: payload.clone(),
            ..Entry::default()
        };
        let mut ignorant = Dictionary::default();
        ignorant.to_json(&mut entry).unwrap();
        assert_eq!(entry.payload, br#"{"n":7}"#);

        let mut bare = Entry {
            channel: LoggedChannel::lcm("A").into(),
            payload: payload.clone(),
            ..Entry::default()
        };
        let error = ignorant.to_json(&mut bare).unwrap_err().to_string();
        assert!(error.contains(&fingerprint.to_string()), "{error}");
        assert_eq!(bare.payload, payload);
        assert!(!ignorant.complete(&mut bare));
    }
}
