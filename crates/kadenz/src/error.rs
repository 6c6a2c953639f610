use std::error::Error as AnyError;
use std::fmt;

/// Any error, for a program that ends with it. `main` prints the error's sentence, which names the remedy, and its
/// causes, where `Box<dyn std::error::Error>` would print its fields. It is created by `?`.
///
/// ```
/// fn main() -> kadenz::Result {
///     for tick in kadenz::Periodic::new("1kHz")?.start()?.take(10) {
///         std::hint::black_box(tick.step());
///     }
///     Ok(())
/// }
/// ```
///
/// It does not implement [`std::error::Error`]: a library returns the error of each function.
pub struct Error(Box<dyn AnyError + Send + Sync>);

/// The result of a program's `main`.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

impl<E: AnyError + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let words = error.to_string();
            // Many errors name their cause themselves.
            if !text.contains(&words) {
                text = format!("{text}: {words}");
            }
            cause = error.source();
        }
        f.write_str(&text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start")]
    struct Start(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("the folder is taken: name another")]
    struct Taken(#[source] io::Error);

    #[test]
    fn main_prints_the_sentence_and_each_cause_once() {
        let text = |error: Error| format!("{error:?}");
        let cause = || io::Error::other("no right");
        assert_eq!(text(Start(cause()).into()), "cannot start: no right");
        let taken = Taken(io::Error::other("taken"));
        assert_eq!(text(taken.into()), "the folder is taken: name another");
    }
}
