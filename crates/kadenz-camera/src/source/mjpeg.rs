//! Cameras that answer a request of HTTP/1.1 by an endless series of JPEG pictures.

use kadenz_rt::clock::{self, MonotonicTime};

use super::network::{self, Connection, OpenOutcome, permanent, transient};
use super::{Capture, Coding, Content, NetworkOptions, Next, Source, SourceError, Unit};
use crate::wire::auth::Challenge;
use crate::wire::chunked::Chunked;
use crate::wire::head::Head;
use crate::wire::multipart::{Multipart, Part};
use crate::wire::url::CameraUrl;

const SILENT: &str = "see that the camera is on and reachable";
const OTHER_URL: &str =
    "see that the URL is the one that the camera's manual names for an MJPEG stream";
/// Bytes of one read; an HTTP head and the bytes behind it fit.
const ROOM: usize = 64 << 10;

/// A camera that sends MJPEG over HTTP.
#[derive(Debug)]
pub struct MjpegSource {
    url: CameraUrl,
    options: NetworkOptions,
    connection: Connection,
    /// The received bytes: those before `begin` were taken, those from `end` on are free.
    bytes: Box<[u8]>,
    begin: usize,
    end: usize,
    arrival: MonotonicTime,
    chunked: Option<Chunked>,
    multipart: Multipart,
    current: Option<Part>,
    heard: MonotonicTime,
}

enum Answer {
    Stream,
    Challenge(Challenge),
    Redirection(String),
}

impl MjpegSource {
    /// Opens a stream and returns once the camera begins to answer by pictures.
    ///
    /// # Errors
    /// [`SourceError`], without the password in its text.
    pub fn open(url: &str, options: &NetworkOptions) -> Result<Self, SourceError> {
        let mut challenge: Option<Challenge> = None;
        network::open("http", url, options, |url, options| {
            let mut source = Self::connect(url, options)?;
            Ok(match source.request(challenge.as_mut())? {
                Answer::Stream => OpenOutcome::Stream(source),
                Answer::Challenge(asked) => {
                    let refused = challenge.is_some() && !asked.is_stale;
                    source.check_password(refused)?;
                    challenge = Some(asked);
                    OpenOutcome::Again
                }
                Answer::Redirection(location) => {
                    challenge = None;
                    OpenOutcome::Elsewhere(location)
                }
            })
        })
    }

    fn connect(url: CameraUrl, options: NetworkOptions) -> Result<Self, SourceError> {
        let connection = Connection::open(&url, options.timeout)?;
        let now = clock::now();
        Ok(Self {
            url,
            options,
            connection,
            bytes: vec![0; ROOM].into(),
            begin: 0,
            end: 0,
            arrival: now,
            chunked: None,
            multipart: Multipart::default(),
            current: None,
            heard: now,
        })
    }

    fn request(&mut self, challenge: Option<&mut Challenge>) -> Result<Answer, SourceError> {
        let target = self.url.target();
        let mut request = format!(
            "GET {target} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Kadenz\r\n",
            self.url.authority()
        );
        request += "Accept: multipart/x-mixed-replace, image/jpeg\r\n";
        if let (Some(challenge), Some(credentials)) = (challenge, self.url.credentials()) {
            let nonce = format!("{:016x}", network::unpredictable());
            let answer = challenge.answer(credentials, "GET", &target, &nonce);
            request += &format!("Authorization: {answer}\r\n");
        }
        request += "\r\n";
        self.connection.send(&self.url, request.as_bytes())?;
        let until = clock::now() + self.options.timeout;
        loop {
            let head = Head::parse(&self.bytes[..self.end]);
            let head = head.map_err(|error| transient(&self.url, &error, OTHER_URL))?;
            if let Some((head, length)) = head {
                self.begin = length;
                return self.answer(&head);
            }
            if clock::now() >= until {
                return Err(transient(&self.url, &"the camera does not answer", SILENT));
            }
            self.connection.send(&self.url, &[])?;
            self.receive(until)?;
        }
    }

    fn answer(&mut self, head: &Head) -> Result<Answer, SourceError> {
        let url = &self.url;
        let Some(status) = head.status("HTTP/") else {
            return Err(permanent(
                url,
                &"what answers does not speak HTTP",
                OTHER_URL,
            ));
        };
        match (status, head.field("Location")) {
            (200, _) => {
                let content = head
                    .field("Content-Type")
                    .unwrap_or_default()
                    .to_ascii_lowercase();
                let others = [
                    ("image/", "one picture, not by a stream"),
                    ("text/", "a page, not by pictures"),
                ];
                let other = others.iter().find(|(kind, _)| content.starts_with(kind));
                if let Some((_, what)) = other {
                    let cause = format!("the camera answers by {what}");
                    return Err(permanent(url, &cause, OTHER_URL));
                }
                let coding = head.field("Transfer-Encoding").unwrap_or_default();
                self.chunked = coding
                    .to_ascii_lowercase()
                    .contains("chunked")
                    .then(Chunked::default);
                self.heard = clock::now();
                Ok(Answer::Stream)
            }
            (401, _) => match Challenge::strongest(head.fields("WWW-Authenticate")) {
                Some(challenge) => Ok(Answer::Challenge(challenge)),
                None => {
                    let cause = "the camera requests a password neither by Basic nor by Digest with MD5 or SHA-256";
                    Err(permanent(url, &cause, "turn on Digest at the camera"))
                }
            },
            (300..=399, Some(location)) => Ok(Answer::Redirection(location.to_owned())),
            _ => {
                let cause = format!("the camera answers by {status}");
                Err(match status {
                    404 | 408 | 429 | 500.. => transient(url, &cause, OTHER_URL),
                    _ => permanent(url, &cause, OTHER_URL),
                })
            }
        }
    }

    fn check_password(&self, is_refused: bool) -> Result<(), SourceError> {
        let cause = match self.url.credentials() {
            None => "the camera wants a user and a password",
            Some(_) if is_refused => "the camera refuses the user or the password",
            Some(_) => return Ok(()),
        };
        Err(network::wrong_credentials(&self.url, &cause))
    }

    /// Waits for bytes until a time at the latest; returns whether some came.
    fn receive(&mut self, until: MonotonicTime) -> Result<bool, SourceError> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        }
        let count = self
            .connection
            .receive(&self.url, &mut self.bytes[self.end..], until)?;
        self.end += count;
        if count > 0 {
            self.arrival = clock::now();
            self.heard = self.arrival;
        }
        Ok(count > 0)
    }

    /// Takes the next picture out of the received bytes.
    fn take(&mut self) -> Result<Option<Part>, SourceError> {
        while self.begin < self.end {
            let bytes = &self.bytes[self.begin..self.end];
            let Some(chunked) = &mut self.chunked else {
                let (used, part) = self.multipart.push(bytes, self.arrival);
                self.begin += used;
                if part.is_some() {
                    return Ok(part);
                }
                continue;
            };
            // A copy of the position, since a picture may end within a chunk.
            let mut ahead = chunked.clone();
            let body = ahead
                .body(bytes)
                .map_err(|error| transient(&self.url, &error, OTHER_URL));
            let (body, used) = body?;
            let (taken, part) = self.multipart.push(body, self.arrival);
            if taken == body.len() {
                *chunked = ahead;
                self.begin += used;
            } else {
                let before = used - body.len();
                let again = chunked.body(&bytes[..before + taken]);
                again.map_err(|error| transient(&self.url, &error, OTHER_URL))?;
                self.begin += before + taken;
            }
            if part.is_some() {
                return Ok(part);
            }
            if self.chunked.as_ref().is_some_and(Chunked::has_ended) {
                return Err(transient(
                    &self.url,
                    &"the camera ended the stream",
                    "open it again",
                ));
            }
        }
        Ok(None)
    }
}

impl Source for MjpegSource {
    fn next(&mut self, until: MonotonicTime) -> Result<Next<'_>, SourceError> {
        if let Some(part) = self.current.take() {
            self.multipart.recycle(part);
        }
        let mut is_over = false;
        let part = loop {
            if let Some(part) = self.take()? {
                break part;
            }
            // Checked also while bytes come that complete no picture.
            if is_over {
                return Ok(Next::Nothing);
            }
            let silent = self.heard + self.options.silence;
            let came = self.receive(until.min(silent))?;
            let now = clock::now();
            if !came && now >= silent {
                return Err(network::silent(&self.url, self.options.silence, SILENT));
            }
            is_over = now >= until;
        };
        let part = self.current.insert(part);
        Ok(Next::Unit(Unit {
            content: Content::Encoded(Coding::Jpeg, &part.bytes),
            is_key: true,
            capture: part.capture.map_or(Capture::Unknown, Capture::Camera),
            first_byte: part.first_byte,
            arrival: part.arrival,
            missed: part.missed,
            is_damaged: false,
        }))
    }

    fn description(&self) -> String {
        "JPEG by HTTP".to_owned()
    }
}

#[cfg(test)]
mod tests;
