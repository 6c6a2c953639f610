//! Accepting connections, with a pause while the system has no descriptor left.

use std::io;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::net::listener::is_exhausted;
use kadenz_rt::net::watch::Watch;

use super::socket::{ListeningSocket, Socket};

/// The pause of a listening socket after the system had no descriptor for a connection, or until a connection
/// ends. The socket is readable all that time: a thread that waited for it would be woken at once, and for
/// ever.
const PAUSE: Duration = Duration::from_millis(200);

/// The number of connections in a row that may fail before the next look at the connected ones.
const MAX_FAILED: usize = 16;

/// A listening socket, and its pause.
#[derive(Debug)]
pub(in crate::provider) struct Acceptor {
    listener: ListeningSocket,
    pause: Pause,
}

impl Acceptor {
    pub(in crate::provider) fn new(listener: ListeningSocket) -> Self {
        let pause = Pause::default();
        Self { listener, pause }
    }

    /// Watches the socket, unless there is no descriptor for a new connection.
    pub(in crate::provider) fn watch(&self, watch: &mut Watch) {
        if self.pause.until.is_none() {
            self.listener.watch(watch);
        }
    }

    /// Returns when a pause ends.
    pub(in crate::provider) fn deadline(&self) -> Option<MonotonicTime> {
        self.pause.until
    }

    /// The next connection; `None` when none waits, or there is a pause.
    pub(in crate::provider) fn accept(&mut self, now: MonotonicTime) -> Option<Socket> {
        let Self { listener, pause } = self;
        pause.accept(now, || listener.accept())
    }

    /// Pauses as if the system had no descriptor.
    #[cfg(test)]
    pub(in crate::provider) fn pause(&mut self, now: MonotonicTime) {
        self.pause.until = Some(now + PAUSE);
        self.pause.is_news = true;
    }

    /// A connection has ended, and its descriptor is free.
    pub(in crate::provider) fn resume(&mut self) {
        self.pause.until = None;
    }

    /// Returns whether connections wait for a descriptor; once, until one was accepted again.
    pub(in crate::provider) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.pause.is_news)
    }
}

/// The pause, sans-IO.
#[derive(Debug, Default)]
struct Pause {
    until: Option<MonotonicTime>,
    /// Whether it paused since a connection was accepted.
    is_known: bool,
    is_news: bool,
}

impl Pause {
    fn accept<S>(
        &mut self,
        now: MonotonicTime,
        mut accept: impl FnMut() -> io::Result<Option<S>>,
    ) -> Option<S> {
        if self.until.is_some_and(|until| now < until) {
            return None;
        }
        self.until = None;
        for _ in 0..MAX_FAILED {
            match accept() {
                Ok(accepted) => {
                    self.is_known &= accepted.is_none();
                    return accepted;
                }
                Err(error) if is_exhausted(&error) => {
                    self.until = Some(now + PAUSE);
                    self.is_news |= !std::mem::replace(&mut self.is_known, true);
                    return None;
                }
                // That peer has disconnected.
                Err(_) => {}
            }
        }
        None
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// Too many open files.
    const EMFILE: i32 = 24;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    fn refused() -> io::Result<Option<u8>> {
        Err(io::Error::from_raw_os_error(EMFILE))
    }

    #[test]
    fn without_a_descriptor_the_system_is_not_asked_before_the_pause_is_over() {
        let mut pause = Pause::default();
        let mut asked = 0;
        for ms in 0..1000 {
            let accepted = pause.accept(at(ms), || {
                asked += 1;
                refused()
            });
            assert_eq!(accepted, None);
        }
        assert_eq!(asked, 5, "once in 200 ms");
        assert_eq!(pause.accept(at(1000), || Ok(Some(1))), Some(1));
        assert_eq!(pause.until, None);
    }

    #[test]
    fn a_peer_that_disconnected_causes_no_pause() {
        let mut pause = Pause::default();
        let mut gone = 3;
        let accepted = pause.accept(at(0), || {
            gone -= 1;
            match gone {
                0 => Ok(Some(1)),
                _ => Err(io::ErrorKind::ConnectionAborted.into()),
            }
        });
        assert_eq!((accepted, pause.until), (Some(1), None));
    }

    #[test]
    fn a_lack_of_descriptors_is_reported_once_until_a_peer_is_accepted() {
        let mut pause = Pause::default();
        let mut news = |ms, result: fn() -> io::Result<Option<u8>>| {
            pause.accept(at(ms), result);
            std::mem::take(&mut pause.is_news)
        };
        assert!(news(0, refused) && !news(300, refused));
        assert!(!news(600, || Ok(None)) && !news(900, refused));
        assert!(!news(1200, || Ok(Some(1))) && news(1500, refused));
    }
}
