//! What a command returns for the program to print.

use kadenz::report::document::{Answer, Document};
use kadenz::report::text::Text;

use super::{
    Outcome, complain, data, drawn, is_for_people, is_json, is_quiet, note, say_json, show,
    with_causes,
};

/// The reply of a command: its answer, notes on it, and its outcome. A command whose reply is its answer alone, with
/// the outcome kept, returns the answer. The program prints a reply after the command has released its resources.
#[must_use]
pub(crate) struct Reply {
    answer: Option<(Box<dyn Render>, Shown)>,
    notes: Vec<Note>,
    result: anyhow::Result<Outcome>,
}

/// An [`Answer`] of any type.
trait Render {
    fn json(&self) -> serde_json::Result<String>;
    fn document(&self) -> Document;
}

impl<A: Answer> Render for A {
    fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    fn document(&self) -> Document {
        Answer::document(self)
    }
}

/// How people see an answer. Scripts get all of it as JSON in any case.
enum Shown {
    Whole,
    /// Not with `--quiet`.
    Summary,
    /// On standard error.
    Note,
    /// As this text, exact in a file or a pipe.
    Data(String),
    /// Its parts were printed already.
    InParts,
}

enum Note {
    /// Not with `--quiet`.
    Usual(String),
    /// Even with `--quiet`.
    Complaint(String),
}

impl From<Outcome> for Reply {
    /// The reply of a command that has printed everything itself.
    fn from(outcome: Outcome) -> Self {
        Self {
            answer: None,
            notes: Vec::new(),
            result: Ok(outcome),
        }
    }
}

impl<A: Answer + 'static> From<A> for Reply {
    fn from(answer: A) -> Self {
        Self::shown(answer, Shown::Whole)
    }
}

impl Reply {
    fn shown(answer: impl Answer + 'static, how: Shown) -> Self {
        Self {
            answer: Some((Box::new(answer), how)),
            ..Outcome::Kept.into()
        }
    }

    /// The final answer of a continuing command: with `--quiet` as JSON only.
    pub(crate) fn summary(answer: impl Answer + 'static) -> Self {
        Self::shown(answer, Shown::Summary)
    }

    /// An answer that people see as a note: beside the effect of the command, its counts are not data to them.
    pub(crate) fn as_note(answer: impl Answer + 'static) -> Self {
        Self::shown(answer, Shown::Note)
    }

    /// An answer that people see as this text, unchanged.
    pub(crate) fn as_data(answer: impl Answer + 'static, text: String) -> Self {
        Self::shown(answer, Shown::Data(text))
    }

    /// An answer whose document was printed with [`part`](super::part).
    pub(crate) fn in_parts(answer: impl Answer + 'static) -> Self {
        Self::shown(answer, Shown::InParts)
    }

    /// The same with this outcome.
    pub(crate) fn with(self, outcome: Outcome) -> Self {
        self.map_outcome(|_| outcome)
    }

    /// The same with an outcome that depends on this one.
    pub(crate) fn map_outcome(self, outcome: impl FnOnce(Outcome) -> Outcome) -> Self {
        let result = self.result.map(outcome);
        Self { result, ..self }
    }

    /// The same with an error, which is printed after the answer and its notes.
    pub(crate) fn and_error(self, error: anyhow::Error) -> Self {
        let result = Err(error);
        Self { result, ..self }
    }

    /// The same with a note on standard error.
    pub(crate) fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(Note::Usual(text.into()));
        self
    }

    /// The same with these notes.
    pub(crate) fn notes(self, texts: impl IntoIterator<Item = String>) -> Self {
        texts.into_iter().fold(self, Self::note)
    }

    /// The same with a note that is printed even with `--quiet`: why something was not done.
    pub(crate) fn complain(mut self, text: impl Into<String>) -> Self {
        self.notes.push(Note::Complaint(text.into()));
        self
    }

    /// The same with these notes, which are printed even with `--quiet`.
    pub(crate) fn complaints(self, texts: impl IntoIterator<Item = String>) -> Self {
        texts.into_iter().fold(self, Self::complain)
    }

    /// Prints the answer and its notes. An answer that JSON cannot hold is an error, or a note beside the command's own.
    pub(crate) fn print(self) -> anyhow::Result<Outcome> {
        let answer = self.answer.as_ref();
        let printed = answer.map_or(Ok(()), |(answer, how)| print(answer.as_ref(), how));
        for it in &self.notes {
            match it {
                Note::Usual(text) => note(text),
                Note::Complaint(text) => complain(text),
            }
        }
        match (self.result, printed) {
            (Err(error), Err(unprinted)) => {
                note(&with_causes(&unprinted));
                Err(error)
            }
            (result, printed) => printed.and(result),
        }
    }
}

fn print(answer: &dyn Render, how: &Shown) -> anyhow::Result<()> {
    if is_json() {
        say_json(&answer.json()?);
        return Ok(());
    }
    let text = match how {
        Shown::InParts => Text::default(),
        Shown::Summary if is_quiet() => Text::default(),
        Shown::Data(text) if is_for_people() => {
            let _ = data(text);
            Text::default()
        }
        _ => drawn(&answer.document()),
    };
    match how {
        _ if text.is_empty() => {}
        Shown::Note if is_for_people() => note(&text),
        _ => show(&text),
    }
    Ok(())
}
