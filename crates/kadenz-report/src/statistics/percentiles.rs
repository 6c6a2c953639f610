//! Percentiles by name: the form that they have in JSON.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{SerializeMap, Serializer};

use super::{Percent, Percentile};

/// How many of the ladder are always there.
const ALWAYS: usize = 4;

/// Percentiles by name, ascending. 50, 90, 99 and 99.9 are always there, `null` where the sample
/// cannot carry them; higher ones only where it can.
pub(crate) fn by_name<S: Serializer>(
    rows: &[Percentile],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serialize(rows, serializer, |row| row.value_ns)
}

/// The same, each as the lowest value that the histogram cannot tell from it.
pub(crate) fn by_name_at_least<S: Serializer>(
    rows: &[Percentile],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serialize(rows, serializer, |row| row.at_least_ns)
}

fn serialize<S: Serializer>(
    rows: &[Percentile],
    serializer: S,
    value: fn(&Percentile) -> i64,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (index, percent) in Percent::LADDER.into_iter().enumerate() {
        let row = rows.iter().find(|row| row.percent == percent);
        if index < ALWAYS || row.is_some() {
            map.serialize_entry(&percent.to_string(), &row.map(value))?;
        }
    }
    map.end()
}

/// The schema of what [`by_name`] writes.
pub(crate) struct Percentiles;

impl JsonSchema for Percentiles {
    fn schema_name() -> Cow<'static, str> {
        "Percentiles".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let value = json_schema!({ "type": ["integer", "null"] });
        json_schema!({
            "type": "object",
            "description": "Values by percentile. One that the sample is too small for, count * (1 - p) < 1, is \
                            null (50, 90, 99, 99.9) or absent (the others).",
            "required": ["50", "90", "99", "99.9"],
            "properties": { "50": value, "90": value, "99": value, "99.9": value },
            "patternProperties": { "^99\\.99+$": { "type": "integer" } },
            "additionalProperties": false,
        })
    }
}
