//! Lines of standard input, which a user or a program sends to the segment.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use kadenz::ethercat::sim::command::MAX_LINE;
use kadenz::lab::stop::Stop;
use kadenz::rt::terminal;

/// Lines that may wait; a program that writes more is blocked.
const WAITING: usize = 64;
/// Interval between attempts to read a terminal that another program uses.
const IN_BACKGROUND: Duration = Duration::from_millis(200);

/// Reads lines of standard input on a thread that ends with the input; requests the stop `at_end` then.
pub(super) fn listen(at_end: Option<Stop>) -> Receiver<String> {
    // A segment in the background continues, and reads lines when it is in the foreground again.
    let _ = terminal::read_without_stopping();
    let (sender, lines) = sync_channel(WAITING);
    std::thread::spawn(move || {
        read_lines(BufReader::new(SharedTerminal(io::stdin().lock())), &sender);
        if let Some(stop) = at_end {
            stop.request();
        }
    });
    lines
}

fn read_lines(mut input: impl BufRead, lines: &SyncSender<String>) {
    while let Some(line) = next_line(&mut input) {
        if lines.send(line).is_err() {
            return;
        }
    }
}

/// The next line, without its end; `None` when there is none. Of a line that is too long it returns the beginning,
/// which is too long as well: the line takes no more memory than that, and its rest does not count as a line of its
/// own.
fn next_line(input: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let most = MAX_LINE as u64 + 1;
    let mut start = input.by_ref().take(most);
    if start.read_until(b'\n', &mut line).ok()? == 0 {
        return None;
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else {
        input.skip_until(b'\n').ok()?;
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}

/// Reads a terminal that another program may use at present.
struct SharedTerminal<R>(R);

impl<R: Read> Read for SharedTerminal<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(to) {
                Err(error) if terminal::is_background(&error) => std::thread::sleep(IN_BACKGROUND),
                done => return done,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        // The buffer holds less than a line.
        let mut input = BufReader::with_capacity(7, text.as_bytes());
        std::iter::from_fn(|| next_line(&mut input)).collect()
    }

    #[test]
    fn lines_come_as_they_were_said() {
        assert_eq!(
            lines("lose 3\n\n  cut 2\nheal 2"),
            ["lose 3", "", "  cut 2", "heal 2"]
        );
        assert!(lines("").is_empty());
        let longest = "x".repeat(MAX_LINE);
        assert_eq!(
            lines(&format!("{longest}\nlose\n")),
            [longest.as_str(), "lose"]
        );
    }

    #[test]
    fn what_follows_in_a_line_that_is_too_long_is_none_of_its_own() {
        for length in [MAX_LINE + 1, 3 * MAX_LINE] {
            let long = "#".repeat(length);
            let found = lines(&format!("{long} cut 0\nlose\n{long}"));
            let [first, second, third] = &found[..] else {
                panic!("{} lines", found.len());
            };
            assert_eq!(second, "lose");
            for line in [first, third] {
                assert_eq!(line.len(), MAX_LINE + 1);
                assert!(line.bytes().all(|it| it == b'#'));
            }
        }
    }

    #[test]
    fn a_terminal_that_another_program_has_is_read_later() {
        struct Busy(u32);
        impl Read for Busy {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                match self.0 {
                    // EIO, the error of a read from the background.
                    1 | 3 => Err(io::Error::from_raw_os_error(5)),
                    2 => (&b"los"[..]).read(to),
                    4 => (&b"e\n"[..]).read(to),
                    _ => Ok(0),
                }
            }
        }
        let mut input = BufReader::new(SharedTerminal(Busy(0)));
        assert_eq!(next_line(&mut input).as_deref(), Some("lose"));
        assert_eq!(next_line(&mut input), None);
    }
}
