//! Values of options: completion in a shell, and a command in one argument.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::fmt::Display;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PathBufValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Command, ValueEnum};
use kadenz::lab::timer::going_on;
use kadenz::rt::beat::Overrun;

/// Parses a value by its [`FromStr`]; help and completion scripts list these values, which need not be all.
pub(crate) fn complete<T>(values: impl IntoIterator<Item = impl Display>) -> Completed<T> {
    let values = values.into_iter().map(|value| value.to_string());
    Completed {
        values: values.collect(),
        read: PhantomData,
    }
}

/// Parser of the loop's reaction to a late wake-up.
pub(crate) fn pace() -> impl TypedValueParser<Value = Overrun> {
    complete::<Overrun>(Overrun::GOING_ON).try_map(going_on)
}

/// A choice as the user types it.
pub(crate) fn word(choice: &impl ValueEnum) -> String {
    let value = choice.to_possible_value();
    value.map_or_else(String::new, |it| it.get_name().to_owned())
}

/// Parser of a folder that this command names to other commands in their arguments.
pub(crate) fn folder() -> impl TypedValueParser<Value = PathBuf> {
    let not_text = "the commands that this one starts need a name in UTF-8; choose another folder";
    PathBufValueParser::new().try_map(move |it| it.to_str().map(PathBuf::from).ok_or(not_text))
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

/// A command in one option, split into words as by a shell: at blanks outside quotes and without a backslash. No
/// other character is special.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandWords(pub(crate) Vec<String>);

impl FromStr for CommandWords {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match (letter, quote) {
                (_, Some(open)) if letter == open => quote = None,
                ('\\', None | Some('"')) => match letters.next() {
                    Some(next) => word.get_or_insert_default().push(next),
                    None => return Err("it ends in a backslash".to_owned()),
                },
                ('\'' | '"', None) => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                (_, None) if letter.is_whitespace() => words.extend(word.take()),
                _ => word.get_or_insert_default().push(letter),
            }
        }
        if let Some(open) = quote {
            return Err(format!("the quote {open} does not end"));
        }
        words.extend(word);
        match words.first().is_some_and(|it| !it.is_empty()) {
            true => Ok(Self(words)),
            false => Err("it names no program".to_owned()),
        }
    }
}

impl fmt::Display for CommandWords {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0.join(" "))
    }
}
