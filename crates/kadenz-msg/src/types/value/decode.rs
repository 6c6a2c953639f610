//! Decodes messages to values. Memory is taken in proportion to the number of bytes, whatever they contain.

use std::sync::Arc;

use super::super::{
    Definition, Dimension, Member, MemberType, PrimitiveType, Struct, TypeName, Types,
};
use super::path::ValuePath;
use super::{Array, Elements, EnumNumber, Record, Value, ValueError, ValueResult};
use crate::codec::{DecodeError, Primitive, Reader};
use crate::message::Fingerprint;

/// The maximum depth of structs within structs in a message that is decoded into a [`Value`].
pub const MAX_VALUE_DEPTH: usize = 128;

/// How much memory the structs and strings of a message may take, in bytes: a struct of a byte takes over
/// a hundred times as much as its byte.
const MAX_VALUE_BYTES: usize = 128 << 20;

/// The maximum number of elements without bytes in a message, besides one for each of its bytes.
const FREE_ELEMENTS: usize = 1024;

impl Types {
    /// Decodes a message whose fingerprint names its type: the first by name if several have it.
    ///
    /// Memory is taken in proportion to the bytes that are there, whatever they contain.
    ///
    /// # Errors
    /// If no type has the fingerprint, or the bytes are not a message of it.
    pub fn decode(&self, bytes: &[u8]) -> ValueResult<Value> {
        let found = fingerprint(bytes)?;
        let Some(definition) = self.by_fingerprint(found).next() else {
            return Err(ValueError::UnknownFingerprint { found });
        };
        self.decode_definition(definition, bytes)
    }

    /// Decodes a message of a type.
    ///
    /// # Errors
    /// If there is no such type, the message carries another fingerprint, or its bytes do not follow the
    /// description.
    pub fn decode_as(&self, name: &str, bytes: &[u8]) -> ValueResult<Value> {
        let definition = self.required(name)?;
        let name = definition.name();
        let found = fingerprint(bytes)?;
        match self.fingerprint_of(name) {
            Some(expected) if expected != found => Err(ValueError::OtherType {
                found,
                expected,
                name: name.clone(),
            }),
            _ => self.decode_definition(definition, bytes),
        }
    }

    pub(super) fn required(&self, name: &str) -> ValueResult<&Definition> {
        self.get(name).ok_or_else(|| ValueError::UnknownType {
            name: TypeName::new(name),
        })
    }

    fn decode_definition(&self, of: &Definition, bytes: &[u8]) -> ValueResult<Value> {
        let mut decoder = ValueDecoder {
            types: self,
            reader: Reader::new(bytes.get(8..).unwrap_or_default()),
            trail: ValuePath::default(),
            depth: 0,
            length: bytes.len(),
            free: bytes.len().saturating_add(FREE_ELEMENTS),
            memory: MAX_VALUE_BYTES,
        };
        let value = decoder.definition(of)?;
        match decoder.reader.left() {
            0 => Ok(value),
            left => Err(ValueError::TooLong { left }),
        }
    }
}

fn fingerprint(bytes: &[u8]) -> ValueResult<Fingerprint> {
    let found = Reader::new(bytes).u64("the fingerprint");
    found.map(Fingerprint).map_err(|cause| ValueError::Decode {
        path: "the message".to_owned(),
        cause,
    })
}

/// Decodes a value of a type that is known only at run time, in bounded memory.
struct ValueDecoder<'a> {
    types: &'a Types,
    reader: Reader<'a>,
    trail: ValuePath<'a>,
    depth: usize,
    length: usize,
    /// How many more elements may take no bytes.
    free: usize,
    /// How much memory structs and strings may still take.
    memory: usize,
}

impl<'a> ValueDecoder<'a> {
    fn definition(&mut self, of: &'a Definition) -> ValueResult<Value> {
        match of {
            Definition::Struct(of) => self.record(of).map(Value::Struct),
            Definition::Enum(of) => {
                let (of, number) = (Arc::clone(of), self.primitive()?);
                Ok(Value::Enum(EnumNumber { of, number }))
            }
        }
    }

    fn record(&mut self, of: &'a Arc<Struct>) -> ValueResult<Record> {
        if self.depth >= MAX_VALUE_DEPTH {
            let (path, most) = (self.trail.path(), MAX_VALUE_DEPTH);
            return Err(ValueError::TooDeep { path, most });
        }
        if self.types.least_bytes(&of.name) == 0 {
            self.spend()?;
        }
        self.take(size_of::<Record>() + of.members.len() * size_of::<Value>())?;
        self.depth += 1;
        let mut members = Vec::with_capacity(of.members.len());
        for member in &of.members {
            self.trail.enter(&member.name);
            let value = self.member(member, of, &members)?;
            members.push(value);
            self.trail.leave();
        }
        self.depth -= 1;
        let of = Arc::clone(of);
        Ok(Record { of, members })
    }

    fn member(&mut self, member: &'a Member, of: &Struct, before: &[Value]) -> ValueResult<Value> {
        if !member.dimensions.is_empty() {
            return self.array(member, of, before).map(Value::Array);
        }
        match &member.of {
            MemberType::Primitive(of) => self.one(*of),
            MemberType::Named(name) => {
                let definition = self.named(name)?;
                self.definition(definition)
            }
        }
    }

    fn one(&mut self, of: PrimitiveType) -> ValueResult<Value> {
        Ok(match of {
            PrimitiveType::Int8 => Value::Int8(self.primitive()?),
            PrimitiveType::Int16 => Value::Int16(self.primitive()?),
            PrimitiveType::Int32 => Value::Int32(self.primitive()?),
            PrimitiveType::Int64 => Value::Int64(self.primitive()?),
            PrimitiveType::Byte => Value::Byte(self.primitive()?),
            PrimitiveType::Float => Value::Float(self.primitive()?),
            PrimitiveType::Double => Value::Double(self.primitive()?),
            PrimitiveType::Boolean => Value::Boolean(self.primitive()?),
            PrimitiveType::String => Value::String(self.string()?),
        })
    }

    fn array(&mut self, member: &'a Member, of: &Struct, before: &[Value]) -> ValueResult<Array> {
        let shape = member
            .dimensions
            .iter()
            .map(|dimension| self.length(dimension, of, before))
            .collect::<Result<Vec<usize>, _>>()?;
        let count = self.count(&shape, self.types.least_of(&member.of))?;
        let elements = match &member.of {
            MemberType::Primitive(of) => self.elements(*of, count)?,
            MemberType::Named(name) => match self.named(name)? {
                Definition::Enum(of) => Elements::Enum(Arc::clone(of), self.vector(count)?),
                Definition::Struct(of) => {
                    Elements::Struct(Arc::clone(of), self.records(of, count)?)
                }
            },
        };
        Ok(Array { shape, elements })
    }

    fn length(&self, dimension: &Dimension, of: &Struct, before: &[Value]) -> ValueResult<usize> {
        match dimension {
            Dimension::Fixed { size, .. } => Ok(*size),
            Dimension::Variable { member } => {
                let value = of.index(member).and_then(|it| before.get(it));
                let stated = value.and_then(Value::integer).unwrap_or(0);
                Reader::length("it", stated).map_err(|cause| self.failed(cause))
            }
        }
    }

    /// Returns how many elements there are: no more than there can be.
    fn count(&self, shape: &[usize], least: usize) -> ValueResult<usize> {
        if shape.contains(&0) {
            return Ok(0);
        }
        let count = shape
            .iter()
            .fold(1_usize, |count, it| count.saturating_mul(*it));
        let possible = match self.reader.left().checked_div(least) {
            Some(possible) => possible,
            None => self.free,
        };
        if count > possible {
            return Err(ValueError::TooMany {
                path: self.trail.path(),
                count,
                length: self.length,
            });
        }
        Ok(count)
    }

    /// Counts one more struct that may take no bytes: a few hundred of these can hold each other 2^90 times.
    fn spend(&mut self) -> ValueResult {
        match self.free.checked_sub(1) {
            Some(free) => {
                self.free = free;
                Ok(())
            }
            None => Err(ValueError::TooMany {
                path: self.trail.path(),
                count: self.length.saturating_add(FREE_ELEMENTS),
                length: self.length,
            }),
        }
    }

    /// Takes memory for what is not as long as its bytes.
    fn take(&mut self, bytes: usize) -> ValueResult {
        let left = self.memory.checked_sub(bytes);
        self.memory = left.ok_or_else(|| ValueError::TooMuchMemory {
            path: self.trail.path(),
            most: MAX_VALUE_BYTES,
        })?;
        Ok(())
    }

    fn elements(&mut self, of: PrimitiveType, count: usize) -> ValueResult<Elements> {
        Ok(match of {
            PrimitiveType::Int8 => Elements::Int8(self.vector(count)?),
            PrimitiveType::Int16 => Elements::Int16(self.vector(count)?),
            PrimitiveType::Int32 => Elements::Int32(self.vector(count)?),
            PrimitiveType::Int64 => Elements::Int64(self.vector(count)?),
            PrimitiveType::Byte => Elements::Byte(self.vector(count)?),
            PrimitiveType::Float => Elements::Float(self.vector(count)?),
            PrimitiveType::Double => Elements::Double(self.vector(count)?),
            PrimitiveType::Boolean => Elements::Boolean(self.vector(count)?),
            PrimitiveType::String => {
                let mut strings = Vec::new();
                for index in 0..count {
                    self.trail.enter_index(index);
                    self.take(2 * size_of::<String>())?;
                    strings.push(self.string()?);
                    self.trail.leave();
                }
                Elements::String(strings)
            }
        })
    }

    fn records(&mut self, of: &'a Arc<Struct>, count: usize) -> ValueResult<Vec<Record>> {
        let mut records = Vec::new();
        for index in 0..count {
            self.trail.enter_index(index);
            records.push(self.record(of)?);
            self.trail.leave();
        }
        Ok(records)
    }

    fn vector<T: Primitive>(&mut self, count: usize) -> ValueResult<Vec<T>> {
        let mut values = Vec::new();
        let read = self.reader.vector("it", count, &mut values);
        read.map_err(|cause| self.failed(cause))?;
        Ok(values)
    }

    fn primitive<T: Primitive>(&mut self) -> ValueResult<T> {
        let read = self.reader.value("it");
        read.map_err(|cause| self.failed(cause))
    }

    fn string(&mut self) -> ValueResult<String> {
        let mut text = String::new();
        let read = self.reader.string("it", &mut text);
        read.map_err(|cause| self.failed(cause))?;
        Ok(text)
    }

    fn named(&self, name: &TypeName) -> ValueResult<&'a Definition> {
        let definition = self.types.definition(name);
        definition.ok_or_else(|| ValueError::UnknownType { name: name.clone() })
    }

    fn failed(&self, cause: DecodeError) -> ValueError {
        ValueError::Decode {
            path: self.trail.path(),
            cause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_of_a_byte_each_take_no_more_memory_than_is_taken() {
        let text = "struct small_t { int8_t a; } struct many_t { int32_t n; small_t all[n]; }";
        let types = Types::from_text(text).unwrap();
        let message = |count: u32| {
            let mut bytes = types
                .fingerprint("many_t")
                .unwrap()
                .0
                .to_be_bytes()
                .to_vec();
            bytes.extend(count.to_be_bytes());
            bytes.resize(bytes.len() + count as usize, 1);
            bytes
        };
        assert!(types.decode(&message(100_000)).is_ok());
        let error = types.decode(&message(5_000_000)).unwrap_err();
        assert!(matches!(error, ValueError::TooMuchMemory { .. }), "{error}");
    }
}
