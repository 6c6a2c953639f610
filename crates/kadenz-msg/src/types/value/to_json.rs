//! Values to JSON.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value as Json};

use super::{Array, Elements, Record, Value};
use crate::types::model::Enum;

impl Value {
    /// Returns the value as JSON: structs as objects with their members in order of name, arrays as arrays of
    /// arrays, 64-bit integers as numbers, a value of an enum by its name if it has one, and numbers that
    /// JSON lacks as `"NaN"`, `"Infinity"` and `"-Infinity"`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Int8(it) => Json::from(*it),
            Self::Int16(it) => Json::from(*it),
            Self::Int32(it) => Json::from(*it),
            Self::Int64(it) => Json::from(*it),
            Self::Byte(it) => Json::from(*it),
            Self::Float(it) => float(*it),
            Self::Double(it) => double(*it),
            Self::Boolean(it) => Json::from(*it),
            Self::String(it) => Json::from(it.as_str()),
            Self::Enum(it) => enumerated(&it.of, it.number),
            Self::Struct(it) => record(it),
            Self::Array(it) => array(it),
        }
    }

    /// Returns the text of [`Value::to_json`], without holding more than the text in memory; `None` if it is
    /// longer than so many bytes.
    pub(crate) fn to_json_text(&self, longest: usize) -> Option<String> {
        let mut text = Text {
            text: String::new(),
            longest,
        };
        text.value(self)?;
        Some(text.text)
    }
}

/// A text that grows up to a limit.
struct Text {
    text: String,
    longest: usize,
}

impl Text {
    fn value(&mut self, value: &Value) -> Option<()> {
        match value {
            Value::Struct(it) => self.record(it),
            Value::Array(it) => self.rows(&it.elements, &it.shape, &mut 0),
            scalar => self.put(&scalar.to_json()),
        }
    }

    fn put(&mut self, scalar: &Json) -> Option<()> {
        write!(self.text, "{scalar}").ok()?;
        (self.text.len() <= self.longest).then_some(())
    }

    fn record(&mut self, it: &Record) -> Option<()> {
        let mut members: Vec<(&str, &Value)> = it.iter().collect();
        members.sort_unstable_by_key(|(name, _)| *name);
        self.text.push('{');
        for (number, (name, value)) in members.into_iter().enumerate() {
            if number > 0 {
                self.text.push(',');
            }
            self.put(&Json::from(name))?;
            self.text.push(':');
            self.value(value)?;
        }
        self.text.push('}');
        Some(())
    }

    /// Writes rows of rows, whose elements are contiguous from `next` on.
    fn rows(&mut self, all: &Elements, shape: &[usize], next: &mut usize) -> Option<()> {
        self.text.push('[');
        let (length, inner) = shape.split_first().unwrap_or((&0, &[]));
        let rows = if all.is_empty() { 0 } else { *length };
        for row in 0..rows {
            if row > 0 {
                self.text.push(',');
            }
            if inner.is_empty() {
                self.element(all, *next)?;
                *next += 1;
            } else {
                self.rows(all, inner, next)?;
            }
        }
        self.text.push(']');
        Some(())
    }

    fn element(&mut self, all: &Elements, place: usize) -> Option<()> {
        match all {
            Elements::Struct(_, all) => self.record(all.get(place)?),
            scalars => self.put(&scalars.get(place)?.to_json()),
        }
    }
}

fn record(it: &Record) -> Json {
    let members = it.iter();
    let members = members.map(|(name, value)| (name.to_owned(), value.to_json()));
    Json::Object(members.collect::<Map<_, _>>())
}

fn array(it: &Array) -> Json {
    let flat = match &it.elements {
        Elements::Struct(_, all) => all.iter().map(record).collect(),
        Elements::String(all) => all.iter().map(|it| Json::from(it.as_str())).collect(),
        Elements::Enum(of, all) => all.iter().map(|it| enumerated(of, *it)).collect(),
        all => {
            let scalars = (0..all.len()).filter_map(|at| all.get(at));
            scalars.map(|it| it.to_json()).collect()
        }
    };
    nested(flat, &it.shape)
}

/// Returns rows of rows. If an inner length is 0, the outer rows are left out: `[]`.
fn nested(flat: Vec<Json>, shape: &[usize]) -> Json {
    if flat.is_empty() {
        return Json::Array(flat);
    }
    let mut level = flat;
    for length in shape.iter().skip(1).rev() {
        let mut rows = Vec::with_capacity(level.len() / length.max(&1));
        let mut elements = level.into_iter().peekable();
        while elements.peek().is_some() {
            // No decoded array has elements beside an inner length of 0, but a hand-made one may.
            let length = (*length).max(1);
            rows.push(Json::Array(elements.by_ref().take(length).collect()));
        }
        level = rows;
    }
    Json::Array(level)
}

fn enumerated(of: &Enum, number: i32) -> Json {
    of.name_of(number)
        .map_or_else(|| Json::from(number), Json::from)
}

fn double(value: f64) -> Json {
    match Number::from_f64(value) {
        Some(number) => Json::Number(number),
        None if value.is_nan() => Json::from("NaN"),
        None if value > 0.0 => Json::from("Infinity"),
        None => Json::from("-Infinity"),
    }
}

/// Returns the fewest digits that distinguish the value from every other `float`: 0.1 and not
/// 0.10000000149011612.
fn float(value: f32) -> Json {
    let short: Option<f64> = value.to_string().parse().ok();
    match short {
        Some(short) if short as f32 == value => double(short),
        _ => double(f64::from(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Array, Elements, Value};
    use crate::types::Types;

    #[test]
    fn an_array_with_more_elements_than_its_shape_ends() {
        let array = Array {
            shape: vec![2, 0],
            elements: Elements::Int8(vec![1, 2]),
        };
        let json = Value::Array(array).to_json();
        assert_eq!(json, serde_json::json!([[1], [2]]));
    }

    #[test]
    fn the_text_of_a_value_is_that_of_its_json_up_to_a_limit() {
        let text = "package a; enum e_t { ONE = 1 }
            struct in_t { float z; string a; }
            struct out_t { int8_t n; in_t all[n]; double rows[2][3]; boolean none[n][0x2]; e_t e;
                byte b; string s; }";
        let types = Types::from_text(text).unwrap();
        let json = r#"{"n":2,"all":[{"z":0.1,"a":"q\"\n"},{"z":"NaN","a":""}],
            "rows":[[1,2.5,3],[4,5,-6e300]],"none":[[true,false],[true,true]],"e":"ONE","b":255,
            "s":"\u0007"}"#;
        let value = types.value_from_json("a.out_t", &serde_json::from_str(json).unwrap());
        let value = value.unwrap();
        let expected = value.to_json().to_string();
        assert_eq!(value.to_json_text(expected.len()), Some(expected.clone()));
        assert_eq!(value.to_json_text(expected.len() - 2), None);
    }
}
