//! Cameras that speak RTSP: H.264, H.265 and JPEG over RTP, over TCP or UDP.
//!
//! Everything happens on the thread that calls [`Source::next`]. Packets are stamped when they come: over TCP when the
//! read that brought them returned, over UDP by the kernel.

mod datagrams;
mod flow;

use kadenz_rt::clock::{self, MonotonicTime};

use self::datagrams::Datagrams;
use self::flow::Flow;
use super::network::{self, Connection, OpenOutcome, permanent, transient};
use super::{Capture, Content, NetworkOptions, Next, Source, SourceError, Unit};
use crate::wire::rtp::ReorderCounts;
use crate::wire::rtsp::{Client, Message, MessageReader, RtspError, RtspEvent, Transport};
use crate::wire::url::CameraUrl;
use crate::wire::video::Encoded;

const SILENT: &str =
    "see that the camera is on and reachable; over UDP, that no firewall keeps its packets away";

/// A camera that speaks RTSP.
#[derive(Debug)]
pub struct RtspSource {
    url: CameraUrl,
    options: NetworkOptions,
    connection: Connection,
    reader: MessageReader,
    /// When the last bytes came over the connection.
    arrival: MonotonicTime,
    client: Client,
    datagrams: Option<Datagrams>,
    flow: Option<Flow>,
    current: Option<Encoded>,
    redirection: Option<String>,
    /// When the last packet of the stream came, or when waiting for packets began.
    heard: MonotonicTime,
}

impl RtspSource {
    /// Opens a stream and returns once the camera plays.
    ///
    /// # Errors
    /// [`SourceError`], without the password in its text.
    pub fn open(url: &str, options: &NetworkOptions) -> Result<Self, SourceError> {
        network::open("rtsp", url, options, |url, options| {
            let mut source = Self::connect(url, options)?;
            source.play()?;
            Ok(match source.redirection.take() {
                Some(location) => OpenOutcome::Elsewhere(location),
                None => OpenOutcome::Stream(source),
            })
        })
    }

    /// The counts of the stream's packets so far.
    #[must_use]
    pub fn packets(&self) -> ReorderCounts {
        self.flow.as_ref().map(Flow::counts).unwrap_or_default()
    }

    fn connect(url: CameraUrl, options: NetworkOptions) -> Result<Self, SourceError> {
        let connection = Connection::open(&url, options.timeout)?;
        let datagrams = match options.transport {
            Transport::Tcp => None,
            Transport::Udp => Some(Datagrams::open(&url, connection.addresses())?),
        };
        let now = clock::now();
        let nonce = format!("{:016x}", network::unpredictable());
        let ports = datagrams.as_ref().map(Datagrams::ports);
        let client = Client::new(url.clone(), ports, nonce, options.timeout, now);
        Ok(Self {
            url,
            options,
            connection,
            reader: MessageReader::default(),
            arrival: now,
            client,
            datagrams,
            flow: None,
            current: None,
            redirection: None,
            heard: now,
        })
    }

    /// Sends requests until the camera plays, or redirects.
    fn play(&mut self) -> Result<(), SourceError> {
        while !self.client.is_playing() && self.redirection.is_none() {
            self.attend()?;
            if !self.messages()? && !self.client.is_playing() && self.redirection.is_none() {
                let until = self.client.deadline();
                self.read(until)?;
            }
        }
        self.heard = clock::now();
        Ok(())
    }

    /// Sends the requests and reports that are due.
    fn attend(&mut self) -> Result<(), SourceError> {
        let now = clock::now();
        self.client
            .time(now)
            .map_err(|error| refused(&self.url, &error))?;
        if let Some(flow) = &mut self.flow
            && let Some(report) = flow.due(now)
        {
            match &mut self.datagrams {
                Some(datagrams) => datagrams.report(&report),
                None => self.client.send_frame(flow.report_channel(), &report),
            }
        }
        self.connection.send(&self.url, &self.client.output())
    }

    /// Takes messages out of the connection's bytes until one holds a packet of the stream; returns whether one did.
    fn messages(&mut self) -> Result<bool, SourceError> {
        let (arrival, now) = (self.arrival, clock::now());
        loop {
            let Self {
                reader,
                client,
                flow,
                ..
            } = self;
            let event = match next_message(&self.url, reader)? {
                None => return Ok(false),
                Some(Message::Frame { channel, bytes }) => {
                    if flow
                        .as_mut()
                        .is_some_and(|flow| flow.frame(channel, bytes, arrival))
                    {
                        self.heard = arrival;
                        client.media_received();
                        return Ok(true);
                    }
                    Ok(None)
                }
                Some(Message::Response { status, head, body }) => {
                    client.response(status, &head, body, now)
                }
                Some(Message::Request(head)) => Ok(client.request(&head)),
            };
            let event = event.map_err(|error| refused(&self.url, &error))?;
            self.handle_event(event);
            self.connection.send(&self.url, &self.client.output())?;
        }
    }

    fn handle_event(&mut self, event: Option<RtspEvent>) {
        match (event, self.client.video()) {
            (Some(RtspEvent::SetUp(granted)), Some(video)) => {
                if granted.transport == Transport::Tcp {
                    self.datagrams = None;
                }
                let our_ssrc = network::unpredictable() as u32;
                if let Some(datagrams) = &mut self.datagrams {
                    datagrams.open_nat_ports(&granted, our_ssrc);
                }
                let (reordering, now) = (self.options.reordering, clock::now());
                self.flow = Some(Flow::new(video, granted, our_ssrc, reordering, now));
            }
            (Some(RtspEvent::Redirected(location)), _) => self.redirection = Some(location),
            _ => {}
        }
    }

    /// Waits for bytes of the connection until a time at the latest; returns whether some came.
    fn read(&mut self, until: MonotonicTime) -> Result<bool, SourceError> {
        let room = self.reader.room();
        let count = self.connection.receive(&self.url, room, until)?;
        if count > 0 {
            self.arrival = clock::now();
            self.reader.filled(count);
        }
        Ok(count > 0)
    }

    /// Waits for packets until a time at the latest; returns whether some came.
    fn receive(&mut self, until: MonotonicTime) -> Result<bool, SourceError> {
        let Some(datagrams) = &mut self.datagrams else {
            return Ok(self.read(until)? && self.messages()?);
        };
        let came = match &mut self.flow {
            Some(flow) => datagrams.receive(flow, until),
            None => false,
        };
        if came {
            self.heard = clock::now();
        }
        self.read(clock::now())?;
        self.messages()?;
        Ok(came)
    }

    /// When the source must act though nothing comes.
    fn deadline(&self) -> MonotonicTime {
        let silent = self.heard + self.options.silence;
        let flow = self.flow.as_ref().map_or(silent, Flow::deadline);
        self.client.deadline().min(silent).min(flow)
    }

    fn take(&mut self) -> Option<Encoded> {
        loop {
            let flow = self.flow.as_mut()?;
            let horizon = self
                .datagrams
                .as_ref()
                .map_or_else(clock::now, Datagrams::horizon);
            if let Some(picture) = flow.take(horizon) {
                return Some(picture);
            }
            if !self.datagrams.as_mut()?.next(flow) {
                return None;
            }
        }
    }

    /// Waits for the next picture, which becomes the current one; returns what came in its place, if anything did.
    fn wait(&mut self, until: MonotonicTime) -> Result<Option<Next<'static>>, SourceError> {
        let mut is_over = false;
        loop {
            // Bytes that have already come are cut into pictures first.
            let mut picture = self.take();
            while picture.is_none() && self.messages()? {
                picture = self.take();
            }
            if picture.is_some() {
                self.current = picture;
                return Ok(None);
            }
            let said_goodbye = self.flow.as_ref().is_some_and(Flow::has_ended);
            // A goodbye by UDP may be forged: it counts only with the silence that follows.
            if said_goodbye && self.datagrams.is_none() {
                return Ok(Some(Next::Ended));
            }
            if self.redirection.is_some() {
                return Err(transient(
                    &self.url,
                    &"the camera sends elsewhere",
                    "open it again",
                ));
            }
            // Checked also while packets come that complete no picture.
            if is_over {
                return Ok(Some(Next::Nothing));
            }
            self.attend()?;
            let came = self.receive(until.min(self.deadline()))?;
            let now = clock::now();
            if !came && now >= self.heard + self.options.silence {
                if said_goodbye {
                    return Ok(Some(Next::Ended));
                }
                return Err(network::silent(&self.url, self.options.silence, SILENT));
            }
            is_over = now >= until;
        }
    }

    /// The current picture.
    fn unit(&self) -> Option<Unit<'_>> {
        let (picture, flow) = (self.current.as_ref()?, self.flow.as_ref()?);
        let capture = flow.capture(picture.timestamp);
        Some(Unit {
            content: Content::Encoded(flow.coding(), &picture.bytes),
            is_key: picture.is_key,
            capture: capture.map_or(Capture::Unknown, Capture::Camera),
            first_byte: picture.first_byte,
            arrival: picture.arrival,
            missed: picture.missed,
            is_damaged: picture.is_damaged,
        })
    }
}

impl Source for RtspSource {
    fn next(&mut self, until: MonotonicTime) -> Result<Next<'_>, SourceError> {
        if let (Some(picture), Some(flow)) = (self.current.take(), &mut self.flow) {
            flow.recycle(picture);
        }
        Ok(match self.wait(until)? {
            None => self.unit().map_or(Next::Nothing, Next::Unit),
            Some(other) => other,
        })
    }

    fn description(&self) -> String {
        let video = self.client.video();
        let coding = video.map_or("video", |video| video.coding.name());
        let transport = if self.datagrams.is_some() {
            Transport::Udp
        } else {
            Transport::Tcp
        };
        format!("{coding} by RTSP over {transport}")
    }
}

impl Drop for RtspSource {
    fn drop(&mut self) {
        self.client.tear_down(clock::now());
        // A camera that is gone does not get this.
        let _ = self.connection.send(&self.url, &self.client.output());
    }
}

fn next_message<'a>(
    url: &CameraUrl,
    reader: &'a mut MessageReader,
) -> Result<Option<Message<'a>>, SourceError> {
    let remedy = "see that the URL's host and port are those of an RTSP server";
    reader
        .message()
        .map_err(|error| transient(url, &error, remedy))
}

fn refused(url: &CameraUrl, error: &RtspError) -> SourceError {
    match error {
        RtspError::NoPassword | RtspError::WrongPassword => network::wrong_credentials(url, error),
        RtspError::Authentication => permanent(url, error, "turn on Digest at the camera"),
        RtspError::Status { status: 403, .. } => {
            permanent(url, error, "give the user the right to watch at the camera")
        }
        RtspError::Status {
            status: 404 | 454, ..
        } => transient(
            url,
            error,
            "see that the URL's path is the one that the camera's manual names",
        ),
        RtspError::Status {
            status: 400..=452 | 455..=499,
            ..
        } => permanent(
            url,
            error,
            "see that the URL is the one that the camera's manual names",
        ),
        RtspError::Status { .. } => {
            transient(url, error, "see whether too many watch the camera already")
        }
        RtspError::Transport(_) => {
            permanent(url, error, "add the key kadenz-transport=udp to the URL")
        }
        RtspError::Sdp(_) => permanent(url, error, "set the camera to H.264, H.265 or JPEG"),
        RtspError::NoAnswer(_) => transient(url, error, SILENT),
    }
}

#[cfg(test)]
mod tests;
