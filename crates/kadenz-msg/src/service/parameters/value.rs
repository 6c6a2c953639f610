use std::fmt;

use crate::service::messages::ParameterValue;

/// A parameter's value.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    serde(untagged),
    schemars(rename = "ParameterValue")
)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// Which values a parameter has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A text.
    Text,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Bool => "true or false",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Text => "a text",
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(it) => it.fmt(formatter),
            Self::Integer(it) => it.fmt(formatter),
            Self::Number(it) => it.fmt(formatter),
            Self::Text(it) => it.fmt(formatter),
        }
    }
}

impl Value {
    /// Which kind it is of.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::Integer(_) => Kind::Integer,
            Self::Number(_) => Kind::Number,
            Self::Text(_) => Kind::Text,
        }
    }

    /// What a user types, as a value of a kind; `None` where it is none.
    ///
    /// ```
    /// use kadenz_msg::service::parameters::{Kind, Value};
    ///
    /// assert_eq!(Value::parse("0.5", Kind::Number), Some(Value::Number(0.5)));
    /// assert_eq!(Value::parse("0.5", Kind::Integer), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str, kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::Bool => Self::Bool(text.parse().ok()?),
            Kind::Integer => Self::Integer(text.parse().ok()?),
            Kind::Number => Self::Number(text.parse().ok()?),
            Kind::Text => Self::Text(text.to_owned()),
        })
    }

    /// An integer as a number, where a number is wanted and it is exactly one.
    pub(super) fn as_kind(&self, kind: Kind) -> Option<Self> {
        match (self, kind) {
            (Self::Integer(it), Kind::Number) if it.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS => {
                Some(Self::Number(*it as f64))
            }
            _ if self.kind() == kind => Some(self.clone()),
            _ => None,
        }
    }

    pub(super) fn to_wire(&self) -> ParameterValue {
        let nothing = ParameterValue::default();
        match self {
            Self::Bool(it) => ParameterValue {
                kind: ParameterValue::TRUTH,
                truth: *it,
                ..nothing
            },
            Self::Integer(it) => ParameterValue {
                kind: ParameterValue::INTEGER,
                integer: *it,
                ..nothing
            },
            Self::Number(it) => ParameterValue {
                kind: ParameterValue::NUMBER,
                number: *it,
                ..nothing
            },
            Self::Text(it) => ParameterValue {
                kind: ParameterValue::TEXT,
                text: it.clone(),
                ..nothing
            },
        }
    }

    /// `None` where the wire says that there is none, or something unheard of.
    pub(super) fn from_wire(wire: &ParameterValue) -> Option<Self> {
        Some(match wire.kind {
            ParameterValue::TRUTH => Self::Bool(wire.truth),
            ParameterValue::INTEGER => Self::Integer(wire.integer),
            ParameterValue::NUMBER => Self::Number(wire.number),
            ParameterValue::TEXT => Self::Text(wire.text.clone()),
            _ => return None,
        })
    }
}
