//! The kinds of values, and the numbers in them.

use super::super::PrimitiveType;
use super::{Array, Elements, Record, Value, join};

impl Value {
    /// Returns its primitive type, if it has one.
    #[must_use]
    pub fn primitive(&self) -> Option<PrimitiveType> {
        Some(match self {
            Self::Int8(_) => PrimitiveType::Int8,
            Self::Int16(_) => PrimitiveType::Int16,
            Self::Int32(_) => PrimitiveType::Int32,
            Self::Int64(_) => PrimitiveType::Int64,
            Self::Byte(_) => PrimitiveType::Byte,
            Self::Float(_) => PrimitiveType::Float,
            Self::Double(_) => PrimitiveType::Double,
            Self::Boolean(_) => PrimitiveType::Boolean,
            Self::String(_) => PrimitiveType::String,
            Self::Enum(_) | Self::Struct(_) | Self::Array(_) => return None,
        })
    }

    /// Returns the kind of the value, in words.
    #[must_use]
    pub fn kind(&self) -> String {
        match (self, self.primitive()) {
            (_, Some(of)) => of.to_string(),
            (Self::Enum(it), _) => it.of.name.to_string(),
            (Self::Struct(it), _) => it.of.name.to_string(),
            (Self::Array(it), _) => it.elements.kind(),
            _ => "something else".to_owned(),
        }
    }

    /// Returns its value if it is an integer that may state an array's length.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Int8(it) => Some(i64::from(*it)),
            Self::Int16(it) => Some(i64::from(*it)),
            Self::Int32(it) => Some(i64::from(*it)),
            Self::Int64(it) => Some(*it),
            _ => None,
        }
    }

    /// Returns its value as a number, if it is one: a boolean is 0 or 1, an enum its number. 64-bit integers
    /// beyond 2^53 are rounded.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Byte(it) => Some(f64::from(*it)),
            Self::Float(it) => Some(f64::from(*it)),
            Self::Double(it) => Some(*it),
            Self::Boolean(it) => Some(f64::from(u8::from(*it))),
            Self::Enum(it) => Some(f64::from(it.number)),
            other => other.integer().map(|it| it as f64),
        }
    }

    /// Returns the struct's members, if it is a struct.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        match self {
            Self::Struct(record) => Some(record),
            _ => None,
        }
    }

    /// Returns all numbers in it with their paths, in the order in which they are sent, without strings. At
    /// most `most`: an image has millions. For tables and plots.
    #[must_use]
    pub fn numbers(&self, most: usize) -> Vec<(String, f64)> {
        let mut numbers = Vec::new();
        self.gather("", most, &mut numbers);
        numbers
    }

    fn gather(&self, path: &str, most: usize, numbers: &mut Vec<(String, f64)>) {
        match self {
            Self::Struct(record) => gather_record(record, path, most, numbers),
            Self::Array(array) => gather_array(array, path, most, numbers),
            one => {
                if let (Some(number), true) = (one.number(), numbers.len() < most) {
                    numbers.push((path.to_owned(), number));
                }
            }
        }
    }
}

fn gather_record(record: &Record, path: &str, most: usize, numbers: &mut Vec<(String, f64)>) {
    for (name, value) in record.iter() {
        if numbers.len() >= most {
            return;
        }
        value.gather(&join(path, name), most, numbers);
    }
}

fn gather_array(array: &Array, path: &str, most: usize, numbers: &mut Vec<(String, f64)>) {
    if matches!(array.elements, Elements::String(_)) {
        return;
    }
    for index in 0..array.elements.len() {
        if numbers.len() >= most {
            return;
        }
        let path = format!("{path}{}", array.indices(index));
        match &array.elements {
            Elements::Struct(_, records) => {
                if let Some(record) = records.get(index) {
                    gather_record(record, &path, most, numbers);
                }
            }
            elements => {
                let number = elements.number(index);
                numbers.extend(number.map(|number| (path, number)));
            }
        }
    }
}

impl Array {
    /// The indices of an element by its place, as `[1][0]`.
    #[must_use]
    pub fn indices(&self, place: usize) -> String {
        indices(place, &self.shape)
    }
}

pub(super) fn indices(mut place: usize, shape: &[usize]) -> String {
    let mut text = String::new();
    for length in shape.iter().rev() {
        let length = (*length).max(1);
        text.insert_str(0, &format!("[{}]", place % length));
        place /= length;
    }
    text
}

impl Elements {
    /// Returns the primitive type of the elements, if they have one.
    #[must_use]
    pub fn primitive(&self) -> Option<PrimitiveType> {
        Some(match self {
            Self::Int8(_) => PrimitiveType::Int8,
            Self::Int16(_) => PrimitiveType::Int16,
            Self::Int32(_) => PrimitiveType::Int32,
            Self::Int64(_) => PrimitiveType::Int64,
            Self::Byte(_) => PrimitiveType::Byte,
            Self::Float(_) => PrimitiveType::Float,
            Self::Double(_) => PrimitiveType::Double,
            Self::Boolean(_) => PrimitiveType::Boolean,
            Self::String(_) => PrimitiveType::String,
            Self::Enum(..) | Self::Struct(..) => return None,
        })
    }

    /// Returns the kind of the elements, in words.
    #[must_use]
    pub fn kind(&self) -> String {
        let of = match (self, self.primitive()) {
            (_, Some(of)) => of.to_string(),
            (Self::Enum(of, _), _) => of.name.to_string(),
            (Self::Struct(of, _), _) => of.name.to_string(),
            _ => "something else".to_owned(),
        };
        format!("an array of {of}")
    }
}
