//! Lines over a socket, each of a maximum length.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Serialize;

/// The longest time that a peer may take to accept a line.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// The most bytes of one write. The kernel applies the socket's timeout to each of its buffers, which hold more.
const PIECE: usize = 16 * 1024;

/// The result of waiting for a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineEvent {
    Whole(Vec<u8>),
    /// No whole line yet.
    Nothing,
    /// The line is longer than allowed; what follows cannot be parsed.
    TooLong,
    /// The peer closed the connection.
    Ended,
}

/// The result of one read of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SocketRead {
    Some,
    Nothing,
    Ended,
}

/// A socket from which lines are read, and to which they are sent.
#[derive(Debug)]
pub(super) struct LineStream {
    stream: UnixStream,
    most: usize,
    kept: Vec<u8>,
    /// The bytes of `kept` that are known to contain no end of a line.
    looked: usize,
}

impl LineStream {
    /// A stream with lines of at most `most` bytes.
    pub(super) fn of(stream: UnixStream, most: usize) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        Ok(Self {
            stream,
            most,
            kept: Vec::new(),
            looked: 0,
        })
    }

    /// Returns another handle of the same socket.
    pub(super) fn another(&self) -> io::Result<UnixStream> {
        self.stream.try_clone()
    }

    /// Sets whether reads and writes block.
    pub(super) fn set_waiting(&self, waits: bool) -> io::Result<()> {
        self.stream.set_nonblocking(!waits)
    }

    /// Whether a line longer than `bytes` bytes has begun.
    pub(super) fn is_longer_than(&self, bytes: usize) -> bool {
        self.kept.len() > bytes
    }

    /// Returns the next line; waits for its next piece, at most `span`.
    pub(super) fn next_within(&mut self, span: Duration) -> io::Result<LineEvent> {
        if let Some(line) = self.take() {
            return Ok(line);
        }
        // A timeout of zero would mean forever.
        let span = span.max(Duration::from_millis(1));
        self.stream.set_read_timeout(Some(span))?;
        self.read()
    }

    /// Returns the next line, or a piece of it, if it has come. For streams that [do not
    /// wait](Self::set_waiting).
    pub(super) fn next_now(&mut self) -> io::Result<LineEvent> {
        match self.take() {
            Some(line) => Ok(line),
            None => self.read(),
        }
    }

    /// Whether a whole line has come. For streams that [do not wait](Self::set_waiting).
    ///
    /// # Errors
    /// Where the peer closed the connection.
    pub(super) fn has_line(&mut self) -> io::Result<bool> {
        if !self.kept.contains(&b'\n') && self.read_piece()? == SocketRead::Ended {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(self.kept.contains(&b'\n'))
    }

    fn read(&mut self) -> io::Result<LineEvent> {
        Ok(match self.read_piece()? {
            SocketRead::Some => self.take().unwrap_or(LineEvent::Nothing),
            SocketRead::Nothing => LineEvent::Nothing,
            SocketRead::Ended => LineEvent::Ended,
        })
    }

    fn read_piece(&mut self) -> io::Result<SocketRead> {
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece) {
            Ok(0) => Ok(SocketRead::Ended),
            Ok(length) => {
                self.kept.extend_from_slice(&piece[..length]);
                Ok(SocketRead::Some)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                    Ok(SocketRead::Nothing)
                }
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Ok(SocketRead::Ended),
                _ => Err(error),
            },
        }
    }

    /// Takes a line that is whole, or too long.
    fn take(&mut self) -> Option<LineEvent> {
        let end = self.kept[self.looked..].iter().position(|it| *it == b'\n');
        let end = end.map(|it| self.looked + it);
        self.looked = self.kept.len();
        match end {
            Some(end) if end <= self.most => {
                let rest = self.kept.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.kept, rest);
                line.pop();
                self.looked = 0;
                Some(LineEvent::Whole(line))
            }
            None if self.kept.len() <= self.most => None,
            _ => Some(LineEvent::TooLong),
        }
    }

    pub(super) fn send(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.send_within(&bytes, WRITE_TIMEOUT)
    }

    /// Sends bytes that the peer accepts within `span`.
    fn send_within(&mut self, bytes: &[u8], span: Duration) -> io::Result<()> {
        let end = Instant::now() + span;
        for piece in bytes.chunks(PIECE) {
            let left = end.saturating_duration_since(Instant::now());
            // A timeout of zero would mean forever.
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.set_write_timeout(Some(left))?;
            self.stream.write_all(piece)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_were_cut_and_long_ones_are_refused() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut lines = LineStream::of(near, 8).unwrap();
        let soon = Duration::from_millis(1);
        assert_eq!(lines.next_within(soon).unwrap(), LineEvent::Nothing);
        far.write_all(b"one\ntw").unwrap();
        let long = Duration::from_secs(10);
        assert_eq!(
            lines.next_within(long).unwrap(),
            LineEvent::Whole(b"one".to_vec())
        );
        assert_eq!(lines.next_within(soon).unwrap(), LineEvent::Nothing);
        far.write_all(b"o\n\n12345678\n").unwrap();
        for wanted in [b"two".to_vec(), Vec::new(), b"12345678".to_vec()] {
            assert_eq!(lines.next_within(long).unwrap(), LineEvent::Whole(wanted));
        }
        far.write_all(b"123456789").unwrap();
        assert_eq!(lines.next_within(long).unwrap(), LineEvent::TooLong);
        assert_eq!(lines.next_within(long).unwrap(), LineEvent::TooLong);
    }

    #[test]
    fn a_peer_that_reads_slowly_gets_no_more_time_than_one_that_does_not_read() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut lines = LineStream::of(near, 8).unwrap();
        std::thread::scope(|scope| {
            // 2 MiB take it 1.28 s at least.
            scope.spawn(move || {
                let mut piece = [0; PIECE];
                while far.read(&mut piece).is_ok_and(|it| it > 0) {
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
            let sent = lines.send_within(&[0; 2 << 20], Duration::from_millis(200));
            let kind = sent.map_err(|it| it.kind());
            assert!(
                matches!(kind, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)),
                "{kind:?}"
            );
            drop(lines);
        });
    }

    #[test]
    fn the_end_of_the_peer_is_reported() {
        let (far, near) = UnixStream::pair().unwrap();
        let mut lines = LineStream::of(near, 8).unwrap();
        drop(far);
        let ended = lines.next_within(Duration::from_secs(10)).unwrap();
        assert_eq!(ended, LineEvent::Ended);
    }
}
