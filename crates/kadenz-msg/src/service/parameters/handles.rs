//! The handles by which a program reads its own parameters.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use super::{MAX_TEXT, ParameterType, Setting};
use crate::sync::Lock;

/// Reads a parameter that is true or false.
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug, Clone)]
pub struct BoolParameter(Arc<AtomicBool>);

/// Reads a parameter that is a whole number.
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug, Clone)]
pub struct IntegerParameter(Arc<AtomicI64>);

/// Reads a parameter that is a number.
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug, Clone)]
pub struct NumberParameter(Arc<AtomicU64>);

/// Reads a parameter that is a text.
#[derive(Debug, Clone)]
pub struct TextParameter(Arc<Lock<String>>);

impl BoolParameter {
    /// Its value now.
    ///
    /// # Real-time safety
    /// It takes no lock and allocates nothing.
    #[must_use]
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl IntegerParameter {
    /// Its value now.
    ///
    /// # Real-time safety
    /// It takes no lock and allocates nothing.
    #[must_use]
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Acquire)
    }
}

impl NumberParameter {
    /// Its value now.
    ///
    /// # Real-time safety
    /// It takes no lock and allocates nothing.
    #[must_use]
    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Acquire))
    }
}

impl TextParameter {
    /// Its value now.
    ///
    /// # Real-time safety
    /// It allocates, and takes a priority-inheriting lock for the time of one copy.
    #[must_use]
    pub fn get(&self) -> String {
        self.0.with(|it| it.clone())
    }

    /// Reads the present value into an existing text, whose memory is reused.
    ///
    /// # Real-time safety
    /// Real-time safe if the text has room for 1000 bytes: takes a priority-inheriting lock for the time of
    /// one copy.
    pub fn read_into(&self, text: &mut String) {
        self.0.with(|it| {
            text.clear();
            text.push_str(it);
        });
    }
}

/// A value by its handle, and its allowed range.
#[derive(Debug)]
pub(super) enum ParameterCell {
    Bool(BoolParameter),
    Integer(IntegerParameter, RangeInclusive<i64>),
    Number(NumberParameter, RangeInclusive<f64>),
    /// The text, and its maximum number of bytes.
    Text(TextParameter, usize),
}

impl ParameterCell {
    pub(super) fn truth(value: bool) -> (Self, BoolParameter) {
        let handle = BoolParameter(Arc::new(AtomicBool::new(value)));
        (Self::Bool(handle.clone()), handle)
    }

    pub(super) fn integer(value: i64, range: RangeInclusive<i64>) -> (Self, IntegerParameter) {
        let handle = IntegerParameter(Arc::new(AtomicI64::new(value)));
        (Self::Integer(handle.clone(), range), handle)
    }

    pub(super) fn number(value: f64, range: RangeInclusive<f64>) -> (Self, NumberParameter) {
        let handle = NumberParameter(Arc::new(AtomicU64::new(value.to_bits())));
        (Self::Number(handle.clone(), range), handle)
    }

    pub(super) fn text(value: &str, most: usize) -> (Self, TextParameter) {
        // Setting it copies into this room, so that nothing is allocated within the lock.
        let mut text = String::with_capacity(MAX_TEXT);
        text.push_str(value);
        let handle = TextParameter(Arc::new(Lock::new(text)));
        (Self::Text(handle.clone(), most), handle)
    }

    pub(super) fn kind(&self) -> ParameterType {
        match self {
            Self::Bool(_) => ParameterType::Bool,
            Self::Integer(..) => ParameterType::Integer,
            Self::Number(..) => ParameterType::Number,
            Self::Text(..) => ParameterType::Text,
        }
    }

    pub(super) fn get(&self) -> Setting {
        match self {
            Self::Bool(it) => Setting::Bool(it.get()),
            Self::Integer(it, _) => Setting::Integer(it.get()),
            Self::Number(it, _) => Setting::Number(it.get()),
            Self::Text(it, _) => Setting::Text(it.get()),
        }
    }

    /// Returns the minimum and the maximum; of a text, its bytes.
    pub(super) fn limits(&self) -> Option<(Setting, Setting)> {
        Some(match self {
            Self::Bool(_) => return None,
            Self::Integer(_, range) => (
                Setting::Integer(*range.start()),
                Setting::Integer(*range.end()),
            ),
            Self::Number(_, range) => (
                Setting::Number(*range.start()),
                Setting::Number(*range.end()),
            ),
            Self::Text(_, most) => {
                let most = i64::try_from(*most).unwrap_or(i64::MAX);
                (Setting::Integer(0), Setting::Integer(most))
            }
        })
    }

    /// Sets the value, or returns the reason for a refusal.
    pub(super) fn set(&self, value: &Setting) -> Result<(), String> {
        let kind = self.kind();
        let Some(value) = value.as_kind(kind) else {
            return Err(format!("it is {kind}, not {}", value.kind()));
        };
        match (self, &value) {
            (Self::Bool(place), Setting::Bool(value)) => place.0.store(*value, Ordering::Release),
            (Self::Integer(place, range), Setting::Integer(value)) => {
                within(range.contains(value), value, range.start(), range.end())?;
                place.0.store(*value, Ordering::Release);
            }
            (Self::Number(place, range), Setting::Number(value)) => {
                // No range holds NaN.
                within(range.contains(value), value, range.start(), range.end())?;
                place.0.store(value.to_bits(), Ordering::Release);
            }
            (Self::Text(place, most), Setting::Text(value)) => {
                let length = value.len();
                if length > *most {
                    return Err(format!("it may have {most} bytes, not {length}"));
                }
                // LCM reads it and cannot send it: no client could read the value.
                if value.contains('\0') {
                    return Err("a text has no NUL".to_owned());
                }
                place.0.with(|text| {
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
