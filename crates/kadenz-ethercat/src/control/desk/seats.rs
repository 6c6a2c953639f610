//! For whom there is room at a desk, and for how long.
//!
//! Assumption: one thread gives seats away, any thread gives its own back. Guarantee: the few seats beside
//! the ordinary ones are free again soon, whoever has them, so a stop is heard however many watch.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::question::Question;

/// Clients at one time; who comes then is told that it is too many, unless it is about the axes.
pub const MOST_CLIENTS: usize = 16;
/// Clients beside those that are heard for that alone; the last of them may do nothing but stop them.
const URGENT: usize = 4;
/// What one of these may ask: who is there, and then what matters.
const URGENT_QUESTIONS: usize = 2;

/// How long seats are kept by who asks nothing, and what a client's thread takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// An ordinary one, where others want it.
    pub(super) idle: Duration,
    /// One beside them.
    pub(super) urgent: Duration,
    /// Bytes of a thread's stack, of which memory that is locked takes all.
    pub(super) stack: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(60),
            urgent: Duration::from_secs(1),
            stack: 512 * 1024,
        }
    }
}

/// All seats of a desk.
#[derive(Debug)]
pub(super) struct Seats {
    limits: Limits,
    ordinary: AtomicUsize,
    urgent: AtomicUsize,
    /// Somebody was refused for want of an ordinary one.
    wanted: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// For any question, and any number of them.
    Ordinary,
    /// For what is about the axes.
    Urgent,
    /// For a stop.
    Last,
    /// The same, for whom there is no thread: the desk's own hears it.
    Threadless,
}

/// A client's seat, free again when it is dropped.
#[derive(Debug)]
pub(super) struct Seat<'s> {
    seats: &'s Seats,
    kind: Kind,
}

impl Seats {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            ordinary: AtomicUsize::new(0),
            urgent: AtomicUsize::new(0),
            wanted: AtomicBool::new(false),
        }
    }

    /// A seat, if one is free. For one thread.
    pub(super) fn take(&self) -> Option<Seat<'_>> {
        let (count, kind) = if self.ordinary.load(Ordering::Relaxed) < MOST_CLIENTS {
            (&self.ordinary, Kind::Ordinary)
        } else {
            let kind = match self.urgent.load(Ordering::Relaxed) + 1 {
                URGENT => Kind::Last,
                number if number < URGENT => Kind::Urgent,
                _ => return None,
            };
            (&self.urgent, kind)
        };
        count.fetch_add(1, Ordering::Relaxed);
        Some(Seat { seats: self, kind })
    }

    /// The seat of a client that the desk's own thread hears.
    pub(super) fn threadless(&self) -> Seat<'_> {
        Seat {
            seats: self,
            kind: Kind::Threadless,
        }
    }
}

impl Seat<'_> {
    /// Why this question is not answered here; `None` where it is.
    pub(super) fn refuses(&self, question: &Question) -> Option<String> {
        let is_heard = match self.kind {
            Kind::Ordinary => true,
            Kind::Urgent => question.is_about_axes(),
            Kind::Last | Kind::Threadless => question.is_for_stopping(),
        };
        if is_heard {
            return None;
        }
        self.seats.wanted.store(true, Ordering::Relaxed);
        Some(format!("{}; end one of them", self.crowd()))
    }

    /// Why there is no ordinary seat.
    fn crowd(&self) -> String {
        match self.kind {
            Kind::Threadless => {
                "the system gives the loop no thread for one more client (`ulimit -u` and, where \
                                 memory is locked, `ulimit -l`)"
                    .to_owned()
            }
            _ => format!("{MOST_CLIENTS} clients are here already"),
        }
    }

    /// Why the client has to go, which asked so many questions and has asked nothing for so long; `None`
    /// where it may stay.
    pub(super) fn is_over(&self, asked: usize, idle: Duration) -> Option<String> {
        let limits = &self.seats.limits;
        match self.kind {
            Kind::Ordinary => {
                let is_long = idle >= limits.idle;
                // One goes for each that was refused.
                let goes = is_long && self.seats.wanted.swap(false, Ordering::Relaxed);
                goes.then(|| {
                    format!("nothing was asked for {idle:.0?}, and others came; connect again")
                })
            }
            _ if asked >= URGENT_QUESTIONS => Some(format!(
                "{}, so others are heard for {URGENT_QUESTIONS} questions alone; connect again",
                self.crowd()
            )),
            _ if idle >= limits.urgent => Some(format!(
                "{}, so others have to ask within {:?}; connect again",
                self.crowd(),
                limits.urgent
            )),
            _ => None,
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let count = match self.kind {
            Kind::Ordinary => &self.seats.ordinary,
            Kind::Urgent | Kind::Last => &self.seats.urgent,
            Kind::Threadless => return,
        };
        count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: Question = Question::Stop { by: None };

    fn is_heard(seat: &Seat<'_>, questions: [Question; 4]) -> [bool; 4] {
        questions.map(|it| seat.refuses(&it).is_none())
    }

    fn questions() -> [Question; 4] {
        [
            Question::Devices {},
            Question::Axes {},
            Question::Hello {},
            STOP,
        ]
    }

    #[test]
    fn the_seats_beside_the_ordinary_ones_are_for_the_axes_and_the_last_for_a_stop() {
        let seats = Seats::new(Limits::default());
        let ordinary: Vec<_> = (0..MOST_CLIENTS).filter_map(|_| seats.take()).collect();
        for seat in &ordinary {
            assert_eq!(is_heard(seat, questions()), [true; 4]);
        }
        let urgent: Vec<_> = (0..URGENT).filter_map(|_| seats.take()).collect();
        let (last, others) = urgent.split_last().unwrap();
        for seat in others {
            assert_eq!(is_heard(seat, questions()), [false, true, true, true]);
        }
        assert_eq!(is_heard(last, questions()), [false, false, true, true]);
        assert!(seats.take().is_none());
        drop((ordinary, urgent));
        assert_eq!(seats.take().unwrap().kind, Kind::Ordinary);
    }

    #[test]
    fn seats_beside_the_ordinary_ones_are_free_soon_and_others_when_they_are_wanted() {
        let seats = Seats::new(Limits::default());
        let ordinary: Vec<_> = (0..MOST_CLIENTS).filter_map(|_| seats.take()).collect();
        let late = seats.take().unwrap();
        let (short, long) = (Duration::from_millis(900), Duration::from_secs(3600));
        assert_eq!(late.is_over(1, short), None);
        assert!(late.is_over(2, short).is_some());
        assert!(late.is_over(0, Duration::from_secs(1)).is_some());
        // Nobody was refused: whoever watches for hours may.
        assert_eq!(ordinary[0].is_over(1_000_000, long), None);
        assert!(late.refuses(&Question::Devices {}).is_some());
        assert_eq!(ordinary[0].is_over(1, short), None, "it was busy just now");
        assert!(ordinary[1].is_over(1, long).is_some());
        assert_eq!(ordinary[2].is_over(1, long), None, "one makes room enough");
    }
}
