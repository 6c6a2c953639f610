//! Values to messages.

use super::super::{Definition, Dimension, Member, MemberType, Struct, TypeName, Types};
use super::path::ValuePath;
use super::{Array, Elements, Record, Value, ValueError, ValueResult};
use crate::codec::{EncodeError, Primitive};

impl Types {
    /// Encodes a value with the fingerprint of its type.
    ///
    /// # Errors
    /// If its type is not among these, a member differs from its description, an array is not as long as
    /// stated, or a string holds a NUL.
    pub fn encode(&self, value: &Value) -> ValueResult<Vec<u8>> {
        let name = match value {
            Value::Struct(it) => &it.of.name,
            Value::Enum(it) => &it.of.name,
            other => {
                return Err(ValueError::WrongKind {
                    path: "the message".to_owned(),
                    expected: "a struct or an enum".to_owned(),
                    found: other.kind(),
                });
            }
        };
        let fingerprint = self.fingerprint_of(name);
        let fingerprint =
            fingerprint.ok_or_else(|| ValueError::UnknownType { name: name.clone() })?;
        let mut encoder = ValueEncoder {
            types: self,
            bytes: fingerprint.0.to_be_bytes().to_vec(),
            trail: ValuePath::default(),
        };
        encoder.named(name, value)?;
        Ok(encoder.bytes)
    }
}

/// Encodes a value of a type that is known only at run time.
struct ValueEncoder<'a> {
    types: &'a Types,
    bytes: Vec<u8>,
    trail: ValuePath<'a>,
}

impl<'a> ValueEncoder<'a> {
    fn named(&mut self, name: &TypeName, value: &'a Value) -> ValueResult {
        match (self.types.definition(name), value) {
            (Some(Definition::Struct(of)), Value::Struct(record)) => self.record(of, record),
            (Some(Definition::Enum(of)), Value::Enum(it)) if it.of.name == of.name => {
                self.put(it.number);
                Ok(())
            }
            _ => Err(self.wrong(name.to_string(), value.kind())),
        }
    }

    fn record(&mut self, of: &'a Struct, record: &'a Record) -> ValueResult {
        let same = of.name == record.of.name && of.members.len() == record.members.len();
        if !same {
            return Err(self.wrong(of.name.to_string(), record.of.name.to_string()));
        }
        for (member, value) in of.members.iter().zip(&record.members) {
            self.trail.enter(&member.name);
            match value {
                Value::Array(array) => self.array(member, array, record)?,
                one if member.dimensions.is_empty() => self.one(member, one)?,
                other => return Err(self.wrong(member.type_text(), other.kind())),
            }
            self.trail.leave();
        }
        Ok(())
    }

    fn one(&mut self, member: &Member, value: &'a Value) -> ValueResult {
        let of = match &member.of {
            MemberType::Named(name) => return self.named(name, value),
            MemberType::Primitive(of) => *of,
        };
        if value.primitive() != Some(of) {
            return Err(self.wrong(of.to_string(), value.kind()));
        }
        match value {
            Value::Int8(it) => self.put(*it),
            Value::Int16(it) => self.put(*it),
            Value::Int32(it) => self.put(*it),
            Value::Int64(it) => self.put(*it),
            Value::Byte(it) => self.put(*it),
            Value::Float(it) => self.put(*it),
            Value::Double(it) => self.put(*it),
            Value::Boolean(it) => self.put(*it),
            Value::String(it) => self.string(it)?,
            Value::Enum(_) | Value::Struct(_) | Value::Array(_) => {}
        }
        Ok(())
    }

    fn array(&mut self, member: &'a Member, array: &'a Array, within: &Record) -> ValueResult {
        self.check_shape(member, array, within)?;
        let fits = match (&member.of, &array.elements) {
            (MemberType::Named(name), Elements::Enum(of, _)) => of.name == *name,
            (MemberType::Named(name), Elements::Struct(of, _)) => of.name == *name,
            (MemberType::Primitive(of), elements) => elements.primitive() == Some(*of),
            _ => false,
        };
        if !fits {
            return Err(self.wrong(member.type_text(), array.elements.kind()));
        }
        match &array.elements {
            Elements::Int8(it) => self.put_all(it),
            Elements::Int16(it) => self.put_all(it),
            Elements::Int32(it) | Elements::Enum(_, it) => self.put_all(it),
            Elements::Int64(it) => self.put_all(it),
            Elements::Byte(it) => self.put_all(it),
            Elements::Float(it) => self.put_all(it),
            Elements::Double(it) => self.put_all(it),
            Elements::Boolean(it) => self.put_all(it),
            Elements::String(it) => return self.strings(it),
            Elements::Struct(of, it) => return self.records(&of.name, it),
        }
        Ok(())
    }

    fn check_shape(&self, member: &Member, array: &Array, within: &Record) -> ValueResult {
        if array.shape.len() != member.dimensions.len() {
            let found = format!("an array of {} dimensions", array.shape.len());
            return Err(self.wrong(member.type_text(), found));
        }
        for (dimension, length) in member.dimensions.iter().zip(&array.shape) {
            let (stated_by, stated) = match dimension {
                Dimension::Fixed { size, .. } => ("its description", i64::try_from(*size).ok()),
                Dimension::Variable { member } => {
                    let stated = within.member(member).and_then(Value::integer);
                    (member.as_str(), stated)
                }
            };
            self.agree(*length, stated_by, stated.unwrap_or(-1))?;
        }
        let product = array
            .shape
            .iter()
            .try_fold(1_usize, |n, it| n.checked_mul(*it));
        let count = match array.shape.contains(&0) {
            true => 0,
            false => product.unwrap_or(usize::MAX),
        };
        let stated = i64::try_from(count).unwrap_or(i64::MAX);
        self.agree(array.elements.len(), "its shape", stated)
    }

    fn agree(&self, length: usize, stated_by: &str, stated: i64) -> ValueResult {
        if i64::try_from(length).is_ok_and(|length| length == stated) {
            return Ok(());
        }
        Err(ValueError::LengthMismatch {
            path: self.trail.path(),
            length,
            stated_by: stated_by.to_owned(),
            stated,
        })
    }

    fn strings(&mut self, texts: &[String]) -> ValueResult {
        for (index, text) in texts.iter().enumerate() {
            self.trail.enter_index(index);
            self.string(text)?;
            self.trail.leave();
        }
        Ok(())
    }

    fn records(&mut self, name: &TypeName, records: &'a [Record]) -> ValueResult {
        let Some(Definition::Struct(of)) = self.types.definition(name) else {
            return Err(ValueError::UnknownType { name: name.clone() });
        };
        for (index, record) in records.iter().enumerate() {
            self.trail.enter_index(index);
            self.record(of, record)?;
            self.trail.leave();
        }
        Ok(())
    }

    fn string(&mut self, text: &str) -> ValueResult {
        let member = "it";
        let length = i32::try_from(text.len().saturating_add(1));
        let problem = match length {
            _ if text.as_bytes().contains(&0) => Some(EncodeError::NulInString { member }),
            Ok(length) => {
                self.put(length);
                None
            }
            Err(_) => Some(EncodeError::StringTooLong {
                member,
                length: text.len(),
            }),
        };
        if let Some(cause) = problem {
            let path = self.trail.path();
            return Err(ValueError::Encode { path, cause });
        }
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        Ok(())
    }

    fn put<T: Primitive>(&mut self, value: T) {
        self.put_all(&[value]);
    }

    fn put_all<T: Primitive>(&mut self, values: &[T]) {
        let from = self.bytes.len();
        self.bytes.resize(from + values.len() * T::SIZE, 0);
        let places = self.bytes[from..].chunks_exact_mut(T::SIZE);
        for (place, value) in places.zip(values) {
            value.put_be(place);
        }
    }

    fn wrong(&self, expected: String, found: String) -> ValueError {
        ValueError::WrongKind {
            path: self.trail.path(),
            expected,
            found,
        }
    }
}
