//! JSON to values.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value as Json;

use super::super::{
    Definition, Dimension, Enum, Member, MemberType, PrimitiveType, Struct, TypeName, Types,
};
use super::path::ValuePath;
use super::{Array, Elements, EnumNumber, Record, Value};

/// The reason for which JSON is not a value of a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// There is no such type.
    #[error("no description of {name}; give its .lcm file")]
    UnknownType {
        /// The name of the requested type.
        name: TypeName,
    },
    /// A member has no value.
    #[error("{path} is missing: it is {expected}")]
    Missing {
        /// The path of the member, for example `pose.position[2]`.
        path: String,
        /// The description of the member.
        expected: String,
    },
    /// There is no such member.
    #[error("{path} is not a member of {within}{hint}")]
    Unknown {
        /// The path that the JSON has.
        path: String,
        /// The name of the struct that lacks the member.
        within: TypeName,
        /// A hint about the members that the type has.
        hint: String,
    },
    /// A value that its member cannot hold.
    #[error("{path} is {expected}, which {found} is not")]
    Wrong {
        /// The path of the member, for example `pose.position[2]`.
        path: String,
        /// The description of the member.
        expected: String,
        /// The JSON value, as text.
        found: String,
    },
    /// An array of another length than stated.
    #[error("{path} has {length} elements, but {stated_by} says {stated}")]
    LengthMismatch {
        /// The path of the array.
        path: String,
        /// How many elements it has.
        length: usize,
        /// The member or the description.
        stated_by: String,
        /// The value of that member.
        stated: i64,
    },
}

impl Types {
    /// Converts JSON to a value of a type, in the form that [`Value::to_json`] writes. A value of an enum may
    /// also be its number, and a `float` or `double` a whole number.
    ///
    /// # Errors
    /// If there is no such type, or the JSON differs from its description: the error names the path.
    pub fn value_from_json(&self, name: &str, json: &Json) -> JsonResult<Value> {
        let mut read = JsonDecoder {
            types: self,
            trail: ValuePath::default(),
        };
        read.named(&TypeName::new(name), json)
    }
}

/// Makes a value of JSON, by the description of its type.
struct JsonDecoder<'a> {
    types: &'a Types,
    trail: ValuePath<'a>,
}

/// A value from JSON, or its difference from the type's description.
type JsonResult<T> = std::result::Result<T, JsonError>;

impl<'a> JsonDecoder<'a> {
    fn named(&mut self, name: &TypeName, json: &'a Json) -> JsonResult<Value> {
        match self.definition(name)? {
            Definition::Struct(of) => self.record(of, json).map(Value::Struct),
            Definition::Enum(of) => {
                let number = self.enumerated(of, json)?;
                let of = Arc::clone(of);
                Ok(Value::Enum(EnumNumber { of, number }))
            }
        }
    }

    fn definition(&self, name: &TypeName) -> JsonResult<&'a Definition> {
        let definition = self.types.definition(name);
        definition.ok_or_else(|| JsonError::UnknownType { name: name.clone() })
    }

    fn record(&mut self, of: &'a Arc<Struct>, json: &'a Json) -> JsonResult<Record> {
        let Json::Object(given) = json else {
            return Err(self.wrong(&format!("a {}, an object", of.name), json));
        };
        for name in given.keys() {
            if of.index(name).is_none() {
                return Err(self.unknown(of, name));
            }
        }
        let mut record = Record {
            of: Arc::clone(of),
            members: Vec::with_capacity(of.members.len()),
        };
        for member in &of.members {
            self.trail.enter(&member.name);
            let Some(json) = given.get(&member.name) else {
                return Err(JsonError::Missing {
                    path: self.trail.path(),
                    expected: member.type_text(),
                });
            };
            let value = self.member(member, &record, json)?;
            record.members.push(value);
            self.trail.leave();
        }
        Ok(record)
    }

    fn member(&mut self, member: &'a Member, before: &Record, json: &'a Json) -> JsonResult<Value> {
        if member.dimensions.is_empty() {
            return match &member.of {
                MemberType::Primitive(of) => self.one(*of, json),
                MemberType::Named(name) => self.named(name, json),
            };
        }
        let mut shape = Vec::with_capacity(member.dimensions.len());
        for dimension in &member.dimensions {
            shape.push(stated(dimension, before));
        }
        let mut flat = Vec::new();
        self.gather(member, &shape, json, &mut flat)?;
        let lengths = shape.iter().map(|it| usize::try_from(it.length));
        let shape: Rc<[usize]> = lengths.map(|it| it.unwrap_or(0)).collect();
        let elements = self.elements(member, &flat, &shape)?;
        let shape = shape.to_vec();
        Ok(Value::Array(Array { shape, elements }))
    }

    /// Appends the elements of an array of arrays, one after the other.
    fn gather(
        &mut self,
        member: &Member,
        shape: &[StatedLength<'_>],
        json: &'a Json,
        flat: &mut Vec<&'a Json>,
    ) -> JsonResult<()> {
        let Some((outer, inner)) = shape.split_first() else {
            flat.push(json);
            return Ok(());
        };
        let Json::Array(rows) = json else {
            return Err(self.wrong(&member.type_text(), json));
        };
        // Rows without elements may be left out.
        let empty = inner.iter().any(|it| it.length == 0) && rows.is_empty();
        if i64::try_from(rows.len()) != Ok(outer.length) && !empty {
            return Err(JsonError::LengthMismatch {
                path: self.trail.path(),
                length: rows.len(),
                stated_by: outer.by.to_owned(),
                stated: outer.length,
            });
        }
        for (index, row) in rows.iter().enumerate() {
            self.trail.enter_index(index);
            self.gather(member, inner, row, flat)?;
            self.trail.leave();
        }
        Ok(())
    }

    fn elements(
        &mut self,
        member: &'a Member,
        flat: &[&'a Json],
        shape: &Rc<[usize]>,
    ) -> JsonResult<Elements> {
        let of = match &member.of {
            MemberType::Named(name) => return self.named_elements(name, flat, shape),
            MemberType::Primitive(of) => *of,
        };
        macro_rules! all {
            ($kind:ident) => {{
                let mut all = Vec::with_capacity(flat.len());
                for (index, json) in flat.iter().enumerate() {
                    self.trail.enter_place(index, shape);
                    if let Value::$kind(value) = self.one(of, json)? {
                        all.push(value);
                    }
                    self.trail.leave();
                }
                Elements::$kind(all)
            }};
        }
        Ok(match of {
            PrimitiveType::Int8 => all!(Int8),
            PrimitiveType::Int16 => all!(Int16),
            PrimitiveType::Int32 => all!(Int32),
            PrimitiveType::Int64 => all!(Int64),
            PrimitiveType::Byte => all!(Byte),
            PrimitiveType::Float => all!(Float),
            PrimitiveType::Double => all!(Double),
            PrimitiveType::Boolean => all!(Boolean),
            PrimitiveType::String => all!(String),
        })
    }

    fn named_elements(
        &mut self,
        name: &TypeName,
        flat: &[&'a Json],
        shape: &Rc<[usize]>,
    ) -> JsonResult<Elements> {
        let definition = self.definition(name)?;
        let mut records = Vec::new();
        let mut numbers = Vec::new();
        for (index, json) in flat.iter().enumerate() {
            self.trail.enter_place(index, shape);
            match definition {
                Definition::Struct(of) => records.push(self.record(of, json)?),
                Definition::Enum(of) => numbers.push(self.enumerated(of, json)?),
            }
            self.trail.leave();
        }
        Ok(match definition {
            Definition::Struct(of) => Elements::Struct(Arc::clone(of), records),
            Definition::Enum(of) => Elements::Enum(Arc::clone(of), numbers),
        })
    }

    fn one(&self, of: PrimitiveType, json: &Json) -> JsonResult<Value> {
        let wrong = || self.wrong(of.name(), json);
        let integer = json.as_i64();
        Ok(match of {
            PrimitiveType::Int8 => Value::Int8(narrow(integer).ok_or_else(wrong)?),
            PrimitiveType::Int16 => Value::Int16(narrow(integer).ok_or_else(wrong)?),
            PrimitiveType::Int32 => Value::Int32(narrow(integer).ok_or_else(wrong)?),
            PrimitiveType::Int64 => Value::Int64(integer.ok_or_else(wrong)?),
            PrimitiveType::Byte => Value::Byte(narrow(integer).ok_or_else(wrong)?),
            PrimitiveType::Float => Value::Float(float(json).ok_or_else(wrong)?),
            PrimitiveType::Double => Value::Double(double(json).ok_or_else(wrong)?),
            PrimitiveType::Boolean => Value::Boolean(json.as_bool().ok_or_else(wrong)?),
            PrimitiveType::String => {
                let text = json.as_str().ok_or_else(wrong)?;
                Value::String(text.to_owned())
            }
        })
    }

    fn enumerated(&self, of: &Enum, json: &Json) -> JsonResult<i32> {
        let named = json.as_str();
        let named = named.and_then(|name| of.values.iter().find(|it| it.name == name));
        let number = named.map(|it| it.number).or_else(|| narrow(json.as_i64()));
        number.ok_or_else(|| {
            let names: Vec<&str> = of.values.iter().map(|it| it.name.as_str()).collect();
            self.wrong(&format!("{}: {}", of.name, names.join(", ")), json)
        })
    }

    fn unknown(&mut self, of: &Struct, name: &'a str) -> JsonError {
        let names: Vec<&str> = of.members.iter().map(|it| it.name.as_str()).collect();
        self.trail.enter(name);
        JsonError::Unknown {
            path: self.trail.path(),
            within: of.name.clone(),
            hint: match names.is_empty() {
                true => ", which has none".to_owned(),
                false => format!("; it has {}", names.join(", ")),
            },
        }
    }

    fn wrong(&self, expected: &str, json: &Json) -> JsonError {
        let mut found = json.to_string();
        if found.len() > 40 {
            found = format!("{}...", found.chars().take(37).collect::<String>());
        }
        JsonError::Wrong {
            path: self.trail.path(),
            expected: expected.to_owned(),
            found,
        }
    }
}

/// The stated length of an array, and the member that states it.
struct StatedLength<'a> {
    length: i64,
    by: &'a str,
}

fn stated<'a>(dimension: &'a Dimension, before: &Record) -> StatedLength<'a> {
    match dimension {
        Dimension::Fixed { size, .. } => StatedLength {
            length: i64::try_from(*size).unwrap_or(i64::MAX),
            by: "its description",
        },
        Dimension::Variable { member } => {
            let at = before.of.index(member);
            let value = at.and_then(|it| before.members.get(it));
            StatedLength {
                length: value.and_then(Value::integer).unwrap_or(0),
                by: member,
            }
        }
    }
}

fn narrow<T: TryFrom<i64>>(integer: Option<i64>) -> Option<T> {
    T::try_from(integer?).ok()
}

fn double(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// A number that a `float` would make infinite is out of its range.
fn float(json: &Json) -> Option<f32> {
    let wide = double(json)?;
    let narrow = wide as f32;
    (narrow.is_finite() == wide.is_finite()).then_some(narrow)
}
