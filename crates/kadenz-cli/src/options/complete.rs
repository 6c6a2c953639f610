//! Values that a shell completes.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};

/// Reads a value as its [`FromStr`] does; help and completion scripts list these, which need not be all.
pub(crate) fn complete<T>(values: impl IntoIterator<Item = impl Display>) -> Completed<T> {
    let values = values.into_iter().map(|value| value.to_string());
    Completed {
        values: values.collect(),
        read: PhantomData,
    }
}

/// See [`complete`].
#[derive(Clone)]
pub(crate) struct Completed<T> {
    values: Vec<String>,
    read: PhantomData<fn() -> T>,
}

impl<T> TypedValueParser for Completed<T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: Into<Box<dyn Error + Send + Sync + 'static>>,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let read: fn(&str) -> Result<T, T::Err> = T::from_str;
        read.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values.iter().map(PossibleValue::new)))
    }
}
