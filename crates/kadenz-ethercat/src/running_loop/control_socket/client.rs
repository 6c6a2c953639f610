//! The client of a control socket.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::lines::{LineEvent, LineStream};
use super::path::{self, SocketPathError};
use super::question::{Answer, Question, Reply};
use crate::control::notice::Notice;

/// The longest answer: the client keeps no more of a control socket that sends without end.
const MAX_ANSWER: usize = 16 << 20;
/// The longest time for an answer: a change of state takes up to ten seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The name is not valid.
    #[error(transparent)]
    Place(#[from] SocketPathError),
    /// No loop listens there.
    #[error("no loop listens at {}; is one of that name running, by this user?", .0.display())]
    NoLoop(PathBuf),
    /// Reading from the socket or writing to it failed.
    #[error("the loop's control socket does not answer: {0}")]
    Io(#[from] io::Error),
    /// The loop has ended.
    #[error("the loop has ended")]
    Ended,
    /// The loop answered that it cannot do so.
    #[error("{0}")]
    Refused(String),
    /// The answer is not valid.
    #[error("the answer makes no sense: {0}; is the loop of another version of Kadenz?")]
    Nonsense(String),
    /// The loop does not answer.
    #[error("the loop's control socket did not answer within {0:?}")]
    Silent(Duration),
}

/// A connection to a control socket. Every method waits.
///
/// Where the control socket closed an idle connection to make room for another client, the client connects again by
/// itself: the loop hears a question once, or not at all.
#[derive(Debug)]
pub struct ControlClient {
    socket: PathBuf,
    lines: LineStream,
}

impl ControlClient {
    /// Connects to the loop of that name, run by this user.
    ///
    /// # Errors
    /// [`ClientError`], for example when there is no such loop.
    pub fn connect(name: &str) -> Result<Self, ClientError> {
        Self::at(&path::find(name)?)
    }

    /// Connects to a control socket by its path.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn at(socket: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(socket).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                ClientError::NoLoop(socket.to_owned())
            }
            _ => error.into(),
        })?;
        let lines = LineStream::of(stream, MAX_ANSWER)?;
        Ok(Self {
            socket: socket.to_owned(),
            lines,
        })
    }

    /// Sends a question, and waits for the answer.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn request(&mut self, question: &Question) -> Result<Answer, ClientError> {
        if let Some(answer) = self.ask_here(question)? {
            return Ok(answer);
        }
        *self = Self::at(&self.socket)?;
        self.ask_here(question)?.ok_or(ClientError::Ended)
    }

    /// Asks over the present connection; `None` where the control socket had closed it before it heard the question.
    fn ask_here(&mut self, question: &Question) -> Result<Option<Answer>, ClientError> {
        match self.lines.send(question) {
            // The reason for which the server closed the connection is still to be read.
            Err(error) if has_hung_up(&error) => {}
            sent => sent?,
        }
        let end = Instant::now() + ANSWER_TIMEOUT;
        loop {
            match self.poll(end.saturating_duration_since(Instant::now()))? {
                Some(Reply::Ok(answer)) => return Ok(Some(answer)),
                Some(Reply::Error(why)) => return Err(ClientError::Refused(why)),
                Some(Reply::Closed(_)) => return Ok(None),
                Some(other) => return Err(ClientError::Nonsense(format!("{other:?}"))),
                None if Instant::now() >= end => return Err(ClientError::Silent(ANSWER_TIMEOUT)),
                None => {}
            }
        }
    }

    /// Listens to notices from now on.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn listen(mut self) -> Result<NoticeStream, ClientError> {
        match self.request(&Question::Notices {})? {
            Answer::Listening => Ok(NoticeStream { client: self }),
            other => Err(ClientError::Nonsense(format!("{other:?}"))),
        }
    }

    fn poll(&mut self, span: Duration) -> Result<Option<Reply>, ClientError> {
        match self.lines.next_within(span)? {
            LineEvent::Nothing => Ok(None),
            LineEvent::Ended => Err(ClientError::Ended),
            LineEvent::TooLong => Err(ClientError::Nonsense("a line without an end".to_owned())),
            LineEvent::Whole(line) => serde_json::from_slice(&line)
                .map(Some)
                .map_err(|error| ClientError::Nonsense(error.to_string())),
        }
    }
}

fn has_hung_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

/// A message to a client that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceivedNotice {
    /// An event on the segment.
    Notice(Notice),
    /// So many notices were lost up to now, since the client did not read them in time.
    Lost(u64),
}

/// The stream of notices.
#[derive(Debug)]
pub struct NoticeStream {
    client: ControlClient,
}

impl NoticeStream {
    /// Returns the next notice; waits for it about `span` at most.
    ///
    /// # Errors
    /// [`ClientError`], for example when the loop has ended.
    pub fn next_within(&mut self, span: Duration) -> Result<Option<ReceivedNotice>, ClientError> {
        match self.client.poll(span)? {
            None => Ok(None),
            Some(Reply::Notice(notice)) => Ok(Some(ReceivedNotice::Notice(notice))),
            Some(Reply::Lost(count)) => Ok(Some(ReceivedNotice::Lost(count))),
            Some(Reply::Error(why)) => Err(ClientError::Refused(why)),
            Some(other) => Err(ClientError::Nonsense(format!("{other:?}"))),
        }
    }
}
