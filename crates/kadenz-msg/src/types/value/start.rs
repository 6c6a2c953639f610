//! The value a message begins with: zeros, empty strings, empty variable arrays.

use std::sync::Arc;

use super::super::{
    Definition, Dimension, Member, MemberType, PrimitiveType, Struct, TypeName, Types,
};
use super::{Array, Elements, EnumNumber, Record, Value, ValueError, ValueResult};

/// The maximum size of a message in LCM.
const MAX_BYTES: usize = 1 << 28;

/// How many elements that take no bytes a value may begin with.
const MAX_PREALLOCATED: usize = 1 << 16;

impl Types {
    /// Returns the default value of a type: zeros, `false`, empty strings, variable arrays without elements;
    /// an enum has its first value.
    ///
    /// # Errors
    /// If there is no such type, or a value takes more bytes than LCM allows for a message.
    pub fn default_value(&self, name: &str) -> ValueResult<Value> {
        let definition = self.required(name)?;
        let name = definition.name().clone();
        let bytes = self.least_bytes(&name);
        let mut start = Start {
            types: self,
            free: MAX_PREALLOCATED,
        };
        let value = match bytes <= MAX_BYTES {
            true => start.definition(definition),
            false => None,
        };
        value.ok_or(ValueError::TooLarge { name, bytes })
    }
}

struct Start<'a> {
    types: &'a Types,
    free: usize,
}

impl Start<'_> {
    fn definition(&mut self, of: &Definition) -> Option<Value> {
        match of {
            Definition::Struct(of) => self.record(of).map(Value::Struct),
            Definition::Enum(of) => Some(Value::Enum(EnumNumber {
                number: of.first(),
                of: Arc::clone(of),
            })),
        }
    }

    fn record(&mut self, of: &Arc<Struct>) -> Option<Record> {
        if self.types.least_bytes(&of.name) == 0 {
            self.free = self.free.checked_sub(1)?;
        }
        let members = of.members.iter().map(|it| self.member(it));
        Some(Record {
            members: members.collect::<Option<_>>()?,
            of: Arc::clone(of),
        })
    }

    fn member(&mut self, member: &Member) -> Option<Value> {
        if member.dimensions.is_empty() {
            return match &member.of {
                MemberType::Primitive(of) => zeros(*of, 1).get(0),
                MemberType::Named(name) => self.definition(self.types.definition(name)?),
            };
        }
        let length = |it: &Dimension| it.fixed().unwrap_or(0);
        let shape: Vec<usize> = member.dimensions.iter().map(length).collect();
        let count = match shape.contains(&0) {
            true => 0,
            false => shape.iter().try_fold(1_usize, |n, it| n.checked_mul(*it))?,
        };
        let elements = match &member.of {
            MemberType::Primitive(of) => zeros(*of, count),
            MemberType::Named(name) => self.named(name, count)?,
        };
        Some(Value::Array(Array { shape, elements }))
    }

    fn named(&mut self, name: &TypeName, count: usize) -> Option<Elements> {
        match self.types.definition(name)? {
            Definition::Enum(of) => Some(Elements::Enum(Arc::clone(of), vec![of.first(); count])),
            Definition::Struct(of) => {
                if self.types.least_bytes(name) == 0 && count > self.free {
                    return None;
                }
                let records = (0..count).map(|_| self.record(of));
                let records = records.collect::<Option<Vec<_>>>()?;
                Some(Elements::Struct(Arc::clone(of), records))
            }
        }
    }
}

fn zeros(of: PrimitiveType, count: usize) -> Elements {
    match of {
        PrimitiveType::Int8 => Elements::Int8(vec![0; count]),
        PrimitiveType::Int16 => Elements::Int16(vec![0; count]),
        PrimitiveType::Int32 => Elements::Int32(vec![0; count]),
        PrimitiveType::Int64 => Elements::Int64(vec![0; count]),
        PrimitiveType::Byte => Elements::Byte(vec![0; count]),
        PrimitiveType::Float => Elements::Float(vec![0.0; count]),
        PrimitiveType::Double => Elements::Double(vec![0.0; count]),
        PrimitiveType::String => Elements::String(vec![String::new(); count]),
        PrimitiveType::Boolean => Elements::Boolean(vec![false; count]),
    }
}
