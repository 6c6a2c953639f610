//! Failures to write files, and how long they lasted.

use std::io;
use std::time::Duration;

use crate::run::model::Warning;

/// Most separate failures; beyond it the last one of a file is extended.
const MAX_TROUBLES: usize = 64;

/// A file of the run that could not be written for a while, or cannot be now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteTrouble {
    /// Name of the file inside the run folder.
    pub file: String,
    /// The operating system's last error.
    pub cause: String,
    /// When it began, counted from the start of the run.
    pub since: Duration,
    /// When it was over; `None` while it lasts.
    pub until: Option<Duration>,
    /// How often writing failed.
    pub attempts: u64,
    /// Samples that were dropped meanwhile, because memory holds only so many for a disk that accepts none.
    pub dropped: u64,
}

impl WriteTrouble {
    /// The sentence for the run's warnings.
    pub(super) fn warning(&self) -> Warning {
        let Self {
            file,
            cause,
            since,
            until,
            attempts,
            dropped,
        } = self;
        let since = since.as_secs_f64();
        let outcome = until.map_or_else(
            || "to the end; what it lacks is lost".to_owned(),
            |until| {
                let until = until.as_secs_f64();
                match dropped {
                    0 => format!("to {until:.1} s; what it lacked was kept and written then"),
                    _ => format!(
                        "to {until:.1} s; {dropped} samples were dropped meanwhile, what else it lacked was kept and \
                         written then"
                    ),
                }
            },
        );
        Warning::new(
            "write_failed",
            format!(
                "{file} could not be written from {since:.1} s ({cause}, {attempts} attempts) {outcome}"
            ),
            Some("make room on the disk, or choose a folder on another one"),
        )
    }
}

/// The failures to write so far.
#[derive(Debug, Default)]
pub(super) struct Troubles(Vec<WriteTrouble>);

impl Troubles {
    /// Records the result of writing `file` at `at`.
    pub(super) fn note(&mut self, file: &str, at: Duration, attempt: &io::Result<()>) {
        let many = self.0.len() >= MAX_TROUBLES;
        let last = self.0.iter_mut().rfind(|trouble| trouble.file == file);
        match (attempt, last) {
            (Ok(()), Some(last)) if last.until.is_none() => last.until = Some(at),
            (Ok(()), _) => {}
            (Err(error), Some(last)) if last.until.is_none() || many => {
                last.until = None;
                last.cause = error.to_string();
                last.attempts += 1;
            }
            (Err(error), _) => self.0.push(WriteTrouble {
                file: file.to_owned(),
                cause: error.to_string(),
                since: at,
                until: None,
                attempts: 1,
                dropped: 0,
            }),
        }
    }

    /// Records that samples for `file` were dropped, as it could not be written for too long.
    pub(super) fn note_dropped(&mut self, file: &str, samples: u64) {
        if let Some(last) = self.0.iter_mut().rfind(|trouble| trouble.file == file) {
            last.dropped += samples;
        }
    }

    /// All failures, in the order in which they began.
    pub(super) fn all(&self) -> &[WriteTrouble] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }

    #[test]
    fn one_trouble_lasts_until_a_write_succeeds() {
        let mut troubles = Troubles::default();
        let at = Duration::from_secs;
        troubles.note("a.hlog", at(1), &Ok(()));
        troubles.note("a.hlog", at(2), &full());
        troubles.note("b.hlog", at(2), &Ok(()));
        troubles.note("a.hlog", at(3), &full());
        assert_eq!(troubles.all()[0].until, None);
        troubles.note("a.hlog", at(4), &Ok(()));
        assert_eq!(troubles.all()[0].until, Some(at(4)));
        troubles.note("a.hlog", at(5), &full());
        let [first, second] = troubles.all() else {
            panic!("two troubles")
        };
        assert_eq!(
            (first.since, first.until, first.attempts),
            (at(2), Some(at(4)), 2)
        );
        assert_eq!((second.since, second.until), (at(5), None));
        let text = troubles.all()[0].warning().text;
        assert!(
            text.contains("a.hlog") && text.contains("written then"),
            "{text}"
        );
    }

    #[test]
    fn nothing_is_called_kept_that_was_dropped() {
        let mut troubles = Troubles::default();
        let at = Duration::from_secs;
        for (begin, dropped) in [(1, 7), (3, 0)] {
            troubles.note("a.samples.arrow", at(begin), &full());
            troubles.note_dropped("a.samples.arrow", dropped);
            troubles.note("a.samples.arrow", at(begin + 1), &Ok(()));
        }
        let texts = troubles.all().iter().map(|it| it.warning().text);
        let [first, second] = texts.collect::<Vec<_>>().try_into().unwrap();
        assert!(
            first.contains("7 samples were dropped meanwhile"),
            "{first}"
        );
        assert!(!second.contains("dropped"), "{second}");
    }

    #[test]
    fn a_flapping_disk_fills_no_memory() {
        let mut troubles = Troubles::default();
        for second in 0..1000 {
            troubles.note("a.hlog", Duration::from_secs(second), &full());
            troubles.note("a.hlog", Duration::from_secs(second), &Ok(()));
        }
        assert_eq!(troubles.all().len(), MAX_TROUBLES);
    }
}
