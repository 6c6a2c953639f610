//! The requests of a client, in their order, and the handling of the answers.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::super::auth::Challenge;
use super::super::head::{Head, parameter};
use super::super::sdp::{SdpError, Video};
use super::super::url::CameraUrl;
use super::{GrantedTransport, Transport, message};

/// How long a session lasts without a keep-alive where the camera does not say (RFC 2326, section 12.37).
const DEFAULT_SESSION: Duration = Duration::from_secs(60);
/// The longest interval of keep-alives: routers forget a connection that is silent for longer.
const MAX_KEEP_ALIVE: Duration = Duration::from_secs(30);
/// The shortest interval of keep-alives, whatever the camera says.
const MIN_KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Why a camera does not give a stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RtspError {
    /// The camera wants a password, and the URL has none.
    #[error("the camera wants a user and a password")]
    NoPassword,
    /// The camera refuses the password.
    #[error("the camera refuses the user or the password")]
    WrongPassword,
    /// The camera offers no supported authentication.
    #[error("the camera requests a password neither by Basic nor by Digest with MD5 or SHA-256")]
    Authentication,
    /// The camera refuses a request.
    #[error("the camera answers {method} by {status}")]
    Status {
        /// The method of the request, such as `DESCRIBE`.
        method: &'static str,
        /// The status code, such as 404.
        status: u16,
    },
    /// The camera does not send over the requested transport.
    #[error("the camera does not send over {0}")]
    Transport(Transport),
    /// The camera describes no stream that can be received.
    #[error(transparent)]
    Sdp(#[from] SdpError),
    /// The camera does not answer.
    #[error("the camera does not answer {0}")]
    NoAnswer(&'static str),
}

/// The result of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RtspEvent {
    /// The camera redirects to a URL, or a path.
    Redirected(String),
    /// The stream is set up; packets may come from now on.
    SetUp(GrantedTransport),
    /// The camera says that it plays.
    Playing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Describe,
    SetUp,
    Play,
    Options,
    GetParameter,
    TearDown,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Describe => "DESCRIBE",
            Self::SetUp => "SETUP",
            Self::Play => "PLAY",
            Self::Options => "OPTIONS",
            Self::GetParameter => "GET_PARAMETER",
            Self::TearDown => "TEARDOWN",
        }
    }

    fn keeps_alive(self) -> bool {
        matches!(self, Self::Options | Self::GetParameter)
    }
}

#[derive(Debug)]
struct Pending {
    method: Method,
    sequence: u32,
    since: MonotonicTime,
    /// Whether the request was answered by 401 before.
    is_repeated: bool,
}

/// A client of one stream. [`Client::output`] takes the bytes that it has to send.
#[derive(Debug)]
pub struct Client {
    url: CameraUrl,
    request_url: String,
    set_up_url: String,
    session_url: String,
    transport: Transport,
    client_ports: Option<(u16, u16)>,
    client_nonce: String,
    timeout: Duration,
    challenge: Option<Challenge>,
    pending: Option<Pending>,
    sequence: u32,
    session: Option<String>,
    keep_alive: Duration,
    keep_alive_by: Method,
    last_request: MonotonicTime,
    video: Option<Video>,
    is_playing: bool,
    output: Vec<u8>,
}

impl Client {
    /// A client that sends its first request. With `client_ports` it requests UDP to these, else TCP.
    ///
    /// `client_nonce` is anything that differs from session to session. A request may wait for its answer as long as
    /// `timeout`.
    #[must_use]
    pub fn new(
        url: CameraUrl,
        client_ports: Option<(u16, u16)>,
        client_nonce: String,
        timeout: Duration,
        now: MonotonicTime,
    ) -> Self {
        let request_url = url.to_string();
        let transport = if client_ports.is_some() {
            Transport::Udp
        } else {
            Transport::Tcp
        };
        let mut client = Self {
            set_up_url: request_url.clone(),
            session_url: request_url.clone(),
            request_url,
            url,
            transport,
            client_ports,
            client_nonce,
            timeout,
            challenge: None,
            pending: None,
            sequence: 0,
            session: None,
            keep_alive: DEFAULT_SESSION / 2,
            keep_alive_by: Method::Options,
            last_request: now,
            video: None,
            is_playing: false,
            output: Vec::new(),
        };
        client.send_request(Method::Describe, false, now);
        client
    }

    /// Takes the bytes that are to be sent to the camera.
    pub fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// The stream, once the camera has described it.
    #[must_use]
    pub(crate) fn video(&self) -> Option<&Video> {
        self.video.as_ref()
    }

    /// Whether the camera said that it plays.
    #[must_use]
    pub(crate) fn is_playing(&self) -> bool {
        self.is_playing
    }

    /// Notes that packets came, also where the camera has not said yet that it plays.
    pub(crate) fn media_received(&mut self) {
        self.is_playing = true;
    }

    /// When [`Client::time`] must be called.
    #[must_use]
    pub(crate) fn deadline(&self) -> MonotonicTime {
        match &self.pending {
            Some(pending) => pending.since + self.timeout,
            None => self.last_request + self.keep_alive,
        }
    }

    /// Takes an answer.
    ///
    /// # Errors
    /// [`RtspError`]; the connection is of no more use.
    pub fn response(
        &mut self,
        status: u16,
        head: &Head,
        body: &[u8],
        now: MonotonicTime,
    ) -> Result<Option<RtspEvent>, RtspError> {
        let number = head.field("CSeq").and_then(|it| it.parse::<u32>().ok());
        let is_it = |it: &mut Pending| number.is_none_or(|number| number == it.sequence);
        let Some(pending) = self.pending.take_if(is_it) else {
            return Ok(None);
        };
        let redirection = redirected(head);
        match (status, pending.method) {
            (100..=199, _) => {
                self.pending = Some(pending);
                Ok(None)
            }
            (200..=299, method) => self.succeeded(method, head, body, now),
            (401, method) => self.challenged(method, pending.is_repeated, head, now),
            (300..=399, _) if redirection.is_some() => Ok(redirection),
            // Not every camera sends over UDP; over TCP all do.
            (461, Method::SetUp) if self.transport == Transport::Udp => {
                self.transport = Transport::Tcp;
                self.send_request(Method::SetUp, false, now);
                Ok(None)
            }
            (461, Method::SetUp) => Err(RtspError::Transport(self.transport)),
            (454, _) => Err(refused(pending.method, status)),
            (_, method) if method.keeps_alive() => {
                self.keep_alive_by = Method::Options;
                Ok(None)
            }
            (_, Method::TearDown) => Ok(None),
            (_, method) => Err(refused(method, status)),
        }
    }

    /// Answers a request of the camera's.
    pub fn request(&mut self, head: &Head) -> Option<RtspEvent> {
        self.output
            .extend_from_slice(message::answer(head).as_bytes());
        let is_redirection = head.first_line().starts_with("REDIRECT ");
        redirected(head).filter(|_| is_redirection)
    }

    /// Sends a keep-alive, where one is due.
    ///
    /// # Errors
    /// [`RtspError::NoAnswer`]. A keep-alive may stay without an answer, since some cameras give none.
    pub(crate) fn time(&mut self, now: MonotonicTime) -> Result<(), RtspError> {
        if now < self.deadline() {
            return Ok(());
        }
        if let Some(pending) = self.pending.take() {
            if !pending.method.keeps_alive() && !self.is_playing {
                return Err(RtspError::NoAnswer(pending.method.name()));
            }
            self.keep_alive_by = Method::Options;
        }
        if self.is_playing && now >= self.last_request + self.keep_alive {
            self.send_request(self.keep_alive_by, false, now);
        }
        Ok(())
    }

    /// Sends `TEARDOWN`, where there is a session.
    pub(crate) fn tear_down(&mut self, now: MonotonicTime) {
        if self.session.is_some() {
            self.send_request(Method::TearDown, false, now);
        }
    }

    /// Adds a frame to the output: RTCP.
    pub(crate) fn send_frame(&mut self, channel: u8, bytes: &[u8]) {
        let Ok(length) = u16::try_from(bytes.len()) else {
            return;
        };
        self.output
            .extend_from_slice(&message::frame_header(channel, length));
        self.output.extend_from_slice(bytes);
    }

    fn succeeded(
        &mut self,
        method: Method,
        head: &Head,
        body: &[u8],
        now: MonotonicTime,
    ) -> Result<Option<RtspEvent>, RtspError> {
        match method {
            Method::Describe => {
                let video = Video::of_sdp(body)?;
                let base = head
                    .field("Content-Base")
                    .or(head.field("Content-Location"));
                (self.set_up_url, self.session_url) = video.urls(base, &self.request_url);
                self.video = Some(video);
                self.send_request(Method::SetUp, false, now);
                Ok(None)
            }
            Method::SetUp => {
                let asked = self.transport;
                let granted = GrantedTransport::of_answer(head.field("Transport"), asked);
                let granted = granted.ok_or(RtspError::Transport(asked))?;
                self.transport = granted.transport;
                self.begin_session(head);
                self.send_request(Method::Play, false, now);
                Ok(Some(RtspEvent::SetUp(granted)))
            }
            Method::Play => {
                self.is_playing = true;
                Ok(Some(RtspEvent::Playing))
            }
            Method::Options => {
                let public = head
                    .field("Public")
                    .unwrap_or_default()
                    .to_ascii_uppercase();
                if public.contains("GET_PARAMETER") {
                    self.keep_alive_by = Method::GetParameter;
                }
                Ok(None)
            }
            Method::GetParameter | Method::TearDown => Ok(None),
        }
    }

    fn begin_session(&mut self, head: &Head) {
        let Some(value) = head.field("Session") else {
            return;
        };
        self.session = value.split(';').next().map(|it| it.trim().to_owned());
        let seconds = parameter(value, "timeout").and_then(|it| it.parse().ok());
        let lasts = seconds.map_or(DEFAULT_SESSION, Duration::from_secs);
        self.keep_alive = (lasts / 2).clamp(MIN_KEEP_ALIVE, MAX_KEEP_ALIVE);
    }

    fn challenged(
        &mut self,
        method: Method,
        is_repeated: bool,
        head: &Head,
        now: MonotonicTime,
    ) -> Result<Option<RtspEvent>, RtspError> {
        if self.url.credentials().is_none() {
            return Err(RtspError::NoPassword);
        }
        let had_answered = self.challenge.is_some();
        let challenge = Challenge::strongest(head.fields("WWW-Authenticate"));
        let challenge = challenge.ok_or(RtspError::Authentication)?;
        // One more try where only the nonce was too old, for each request, also where the camera does not say so.
        if is_repeated && had_answered {
            return Err(RtspError::WrongPassword);
        }
        if had_answered && method == Method::Describe && !challenge.is_stale {
            return Err(RtspError::WrongPassword);
        }
        self.challenge = Some(challenge);
        self.send_request(method, true, now);
        Ok(None)
    }

    fn send_request(&mut self, method: Method, is_repeated: bool, now: MonotonicTime) {
        self.sequence += 1;
        let uri = match method {
            Method::Describe => &self.request_url,
            Method::SetUp => &self.set_up_url,
            _ => &self.session_url,
        };
        let transport = match (self.transport, self.client_ports) {
            (Transport::Udp, Some((rtp, rtcp))) => {
                format!("RTP/AVP;unicast;client_port={rtp}-{rtcp}")
            }
            _ => "RTP/AVP/TCP;unicast;interleaved=0-1".to_owned(),
        };
        let mut fields: Vec<(&str, &str)> = Vec::with_capacity(4);
        match method {
            Method::Describe => fields.push(("Accept", "application/sdp")),
            Method::SetUp => fields.push(("Transport", &transport)),
            Method::Play => fields.push(("Range", "npt=0.000-")),
            _ => {}
        }
        if let Some(session) = &self.session {
            fields.push(("Session", session));
        }
        let authorization = match (&mut self.challenge, self.url.credentials()) {
            (Some(challenge), Some(credentials)) => {
                Some(challenge.answer(credentials, method.name(), uri, &self.client_nonce))
            }
            _ => None,
        };
        if let Some(authorization) = &authorization {
            fields.push(("Authorization", authorization));
        }
        let text = message::request(method.name(), uri, self.sequence, &fields);
        self.output.extend_from_slice(text.as_bytes());
        self.last_request = now;
        let (sequence, since) = (self.sequence, now);
        self.pending = Some(Pending {
            method,
            sequence,
            since,
            is_repeated,
        });
    }
}

fn redirected(head: &Head) -> Option<RtspEvent> {
    let location = head.field("Location")?;
    Some(RtspEvent::Redirected(location.to_owned()))
}

fn refused(method: Method, status: u16) -> RtspError {
    let method = method.name();
    RtspError::Status { method, status }
}

#[cfg(test)]
mod tests;
