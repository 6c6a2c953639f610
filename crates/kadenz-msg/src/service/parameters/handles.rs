//! What the program itself reads its parameters by.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use super::LONGEST_TEXT;
use super::value::{Kind, Value};
use crate::sync::Lock;

/// Reads a parameter that is true or false. Real-time safe.
#[derive(Debug, Clone)]
pub struct Truth(Arc<AtomicBool>);

/// Reads a parameter that is a whole number. Real-time safe.
#[derive(Debug, Clone)]
pub struct Integer(Arc<AtomicI64>);

/// Reads a parameter that is a number. Real-time safe.
#[derive(Debug, Clone)]
pub struct Number(Arc<AtomicU64>);

/// Reads a parameter that is a text.
#[derive(Debug, Clone)]
pub struct Text(Arc<Lock<String>>);

impl Truth {
    /// Its value now. Takes no lock.
    #[must_use]
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Integer {
    /// Its value now. Takes no lock.
    #[must_use]
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Acquire)
    }
}

impl Number {
    /// Its value now. Takes no lock.
    #[must_use]
    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Acquire))
    }
}

impl Text {
    /// Its value now. Allocates.
    #[must_use]
    pub fn get(&self) -> String {
        self.0.with(|it| it.clone())
    }

    /// Its value now, over a text that is there, whose memory is used again. Real-time safe where that
    /// has room for 1000 bytes: takes a priority-inheriting lock for the time of one copy.
    pub fn read_into(&self, text: &mut String) {
        self.0.with(|it| {
            text.clear();
            text.push_str(it);
        });
    }
}

/// Where a value is kept, and what it may be.
#[derive(Debug)]
pub(super) enum Place {
    Truth(Arc<AtomicBool>),
    Integer(Arc<AtomicI64>, RangeInclusive<i64>),
    Number(Arc<AtomicU64>, RangeInclusive<f64>),
    /// With the most bytes it may have.
    Text(Arc<Lock<String>>, usize),
}

impl Place {
    pub(super) fn truth(value: bool) -> (Self, Truth) {
        let place = Arc::new(AtomicBool::new(value));
        (Self::Truth(Arc::clone(&place)), Truth(place))
    }

    pub(super) fn integer(value: i64, range: RangeInclusive<i64>) -> (Self, Integer) {
        let place = Arc::new(AtomicI64::new(value));
        (Self::Integer(Arc::clone(&place), range), Integer(place))
    }

    pub(super) fn number(value: f64, range: RangeInclusive<f64>) -> (Self, Number) {
        let place = Arc::new(AtomicU64::new(value.to_bits()));
        (Self::Number(Arc::clone(&place), range), Number(place))
    }

    pub(super) fn text(value: &str, most: usize) -> (Self, Text) {
        // Setting it copies into this room, so that nothing is allocated within the lock.
        let mut text = String::with_capacity(LONGEST_TEXT);
        text.push_str(value);
        let place = Arc::new(Lock::new(text));
        (Self::Text(Arc::clone(&place), most), Text(place))
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Truth(_) => Kind::Truth,
            Self::Integer(..) => Kind::Integer,
            Self::Number(..) => Kind::Number,
            Self::Text(..) => Kind::Text,
        }
    }

    pub(super) fn get(&self) -> Value {
        match self {
            Self::Truth(it) => Value::Truth(Truth(Arc::clone(it)).get()),
            Self::Integer(it, _) => Value::Integer(Integer(Arc::clone(it)).get()),
            Self::Number(it, _) => Value::Number(Number(Arc::clone(it)).get()),
            Self::Text(it, _) => Value::Text(Text(Arc::clone(it)).get()),
        }
    }

    /// The least and the most it may be; of a text, its bytes.
    pub(super) fn limits(&self) -> Option<(Value, Value)> {
        Some(match self {
            Self::Truth(_) => return None,
            Self::Integer(_, range) => {
                (Value::Integer(*range.start()), Value::Integer(*range.end()))
            }
            Self::Number(_, range) => (Value::Number(*range.start()), Value::Number(*range.end())),
            Self::Text(_, most) => {
                let most = i64::try_from(*most).unwrap_or(i64::MAX);
                (Value::Integer(0), Value::Integer(most))
            }
        })
    }

    /// Sets it, or says why not.
    pub(super) fn set(&self, value: &Value) -> Result<(), String> {
        let kind = self.kind();
        let Some(value) = value.as_kind(kind) else {
            return Err(format!("it is {kind}, not {}", value.kind()));
        };
        match (self, &value) {
            (Self::Truth(place), Value::Truth(value)) => place.store(*value, Ordering::Release),
            (Self::Integer(place, range), Value::Integer(value)) => {
                within(range.contains(value), value, range.start(), range.end())?;
                place.store(*value, Ordering::Release);
            }
            (Self::Number(place, range), Value::Number(value)) => {
                // No range holds NaN.
                within(range.contains(value), value, range.start(), range.end())?;
                place.store(value.to_bits(), Ordering::Release);
            }
            (Self::Text(place, most), Value::Text(value)) => {
                let length = value.len();
                if length > *most {
                    return Err(format!("it may have {most} bytes, not {length}"));
                }
                // LCM reads it and cannot send it: nobody could be told the value.
                if value.contains('\0') {
                    return Err("a text has no NUL".to_owned());
                }
                place.with(|text| {
                    text.clear();
                    text.push_str(value);
                });
            }
            _ => return Err(format!("it is {kind}, not {}", value.kind())),
        }
        Ok(())
    }
}

fn within<T: std::fmt::Display>(is: bool, value: &T, least: &T, most: &T) -> Result<(), String> {
    if is {
        return Ok(());
    }
    Err(format!("it may be {least} to {most}, not {value}"))
}
