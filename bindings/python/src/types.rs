//! The content of `.lcm` files, of which Python makes classes.

use std::path::PathBuf;

use kadenz::msg::types::{Definition, Dimension, Enum, MemberType, Struct, Types};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error;

/// The types of files and folders, as JSON: a list in the order of their names.
#[pyfunction]
pub(crate) fn parse_types(paths: Vec<PathBuf>) -> PyResult<String> {
    let types = Types::from_files(paths).map_err(error)?;
    let described = types.iter().map(|it| {
        let fingerprint = types.fingerprint_of(it.name()).map(|it| it.0);
        match it {
            Definition::Struct(it) => of_struct(it, fingerprint),
            Definition::Enum(it) => of_enum(it, fingerprint),
        }
    });
    Ok(Value::from_iter(described).to_string())
}

fn of_struct(it: &Struct, fingerprint: Option<u64>) -> Value {
    let constants = it.constants.iter().map(|it| json!([it.name, it.text]));
    let members = it.members.iter().map(|member| {
        let of = match &member.of {
            MemberType::Primitive(primitive) => json!({ "primitive": primitive.name() }),
            MemberType::Named(name) => json!({ "named": name.to_string() }),
        };
        let dimensions = member.dimensions.iter().map(|it| match it {
            Dimension::Fixed { size, .. } => json!(size),
            Dimension::Variable { member } => json!(member),
        });
        json!({
            "name": member.name,
            "of": of,
            "dimensions": Value::from_iter(dimensions),
            "is_length": it.is_length(&member.name),
        })
    });
    json!({
        "kind": "struct",
        "name": it.name.to_string(),
        "doc": it.doc,
        "fingerprint": fingerprint,
        "constants": Value::from_iter(constants),
        "members": Value::from_iter(members),
    })
}

fn of_enum(it: &Enum, fingerprint: Option<u64>) -> Value {
    let values = it.values.iter().map(|it| json!([it.name, it.number]));
    json!({
        "kind": "enum",
        "name": it.name.to_string(),
        "doc": it.doc,
        "fingerprint": fingerprint,
        "values": Value::from_iter(values),
    })
}
