//! Values to JSON.

use serde_json::{Map, Number, Value as Json};

use super::{Array, Elements, Record, Value};
use crate::types::model::Enum;

impl Value {
    /// The value as JSON: structs as objects with their members in order of name, arrays as arrays of
    /// arrays, 64-bit integers as numbers, a value of an enum by its name if it has one, and what JSON
    /// has no number for as `"NaN"`, `"Infinity"` and `"-Infinity"`.
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
}

fn record(it: &Record) -> Json {
    let members = it.iter();
    let members = members.map(|(name, value)| (name.to_owned(), value.to_json()));
    Json::Object(members.collect::<Map<_, _>>())
}

fn array(it: &Array) -> Json {
    let flat: Vec<Json> = match &it.elements {
        Elements::Int8(all) => all.iter().map(|it| Json::from(*it)).collect(),
        Elements::Int16(all) => all.iter().map(|it| Json::from(*it)).collect(),
        Elements::Int32(all) => all.iter().map(|it| Json::from(*it)).collect(),
        Elements::Int64(all) => all.iter().map(|it| Json::from(*it)).collect(),
        Elements::Byte(all) => all.iter().map(|it| Json::from(*it)).collect(),
        Elements::Float(all) => all.iter().map(|it| float(*it)).collect(),
        Elements::Double(all) => all.iter().map(|it| double(*it)).collect(),
        Elements::Boolean(all) => all.iter().map(|it| Json::from(*it)).collect(),
        Elements::String(all) => all.iter().map(|it| Json::from(it.as_str())).collect(),
        Elements::Enum(of, all) => all.iter().map(|it| enumerated(of, *it)).collect(),
        Elements::Struct(_, all) => all.iter().map(record).collect(),
    };
    nested(flat, &it.shape)
}

/// Rows of rows. Where an inner length is 0 there is nothing to tell of the outer ones: `[]`.
fn nested(flat: Vec<Json>, shape: &[usize]) -> Json {
    if flat.is_empty() {
        return Json::Array(flat);
    }
    let mut level = flat;
    for length in shape.iter().skip(1).rev() {
        let mut rows = Vec::with_capacity(level.len() / length.max(&1));
        let mut elements = level.into_iter().peekable();
        while elements.peek().is_some() {
            rows.push(Json::Array(elements.by_ref().take(*length).collect()));
        }
        level = rows;
    }
    Json::Array(level)
}

fn enumerated(of: &Enum, number: i32) -> Json {
    let named = of.values.iter().find(|it| it.number == number);
    named.map_or_else(|| Json::from(number), |it| Json::from(it.name.as_str()))
}

fn double(value: f64) -> Json {
    match Number::from_f64(value) {
        Some(number) => Json::Number(number),
        None if value.is_nan() => Json::from("NaN"),
        None if value > 0.0 => Json::from("Infinity"),
        None => Json::from("-Infinity"),
    }
}

/// As few digits as tell it from every other `float`: 0.1 and not 0.10000000149011612.
fn float(value: f32) -> Json {
    let short: Option<f64> = value.to_string().parse().ok();
    match short {
        Some(short) if short as f32 == value => double(short),
        _ => double(f64::from(value)),
    }
}
