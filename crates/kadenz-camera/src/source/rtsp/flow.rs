//! A stream's path from packets to pictures, with the reports between camera and client.

use std::time::Duration;

use kadenz_rt::clock::{MonotonicTime, WallTime};

use crate::wire::Coding;
use crate::wire::rtp::rtcp::{Reports, RtcpPacket, said};
use crate::wire::rtp::{Packet, Reorder, ReorderCounts, ReorderLimits, is_rtcp};
use crate::wire::rtsp::{GrantedTransport, Transport};
use crate::wire::sdp::Video;
use crate::wire::video::{Depacketizer, Encoded};

/// The state of one stream between packets and pictures.
#[derive(Debug)]
pub(super) struct Flow {
    coding: Coding,
    payload_type: u8,
    granted: GrantedTransport,
    our_ssrc: u32,
    reorder: Reorder,
    depacketizer: Depacketizer,
    reports: Reports,
    /// Whether a packet of the described payload type came: from then on no other type is taken.
    is_as_described: bool,
    last_arrival: MonotonicTime,
    /// When the camera sent its goodbye (RTCP BYE).
    goodbye: Option<MonotonicTime>,
}

impl Flow {
    pub(super) fn new(
        video: &Video,
        granted: GrantedTransport,
        our_ssrc: u32,
        reordering: Duration,
        now: MonotonicTime,
    ) -> Self {
        let limits = match granted.transport {
            Transport::Tcp => ReorderLimits::NONE,
            Transport::Udp => ReorderLimits {
                time: reordering,
                ..ReorderLimits::UDP
            },
        };
        Self {
            coding: video.coding,
            payload_type: video.payload_type,
            granted,
            our_ssrc,
            reorder: Reorder::new(limits),
            depacketizer: Depacketizer::new(video),
            reports: Reports::new(video.clock_rate, now),
            is_as_described: false,
            last_arrival: now,
            goodbye: None,
        }
    }

    pub(super) fn coding(&self) -> Coding {
        self.coding
    }

    /// Whether the camera sent its goodbye, and nothing since.
    pub(super) fn has_ended(&self) -> bool {
        self.goodbye.is_some()
    }

    /// The counts of the stream's packets.
    pub(super) fn counts(&self) -> ReorderCounts {
        self.reorder.counts()
    }

    /// Takes an interleaved frame of the connection; returns whether it was a packet of this stream. The caller calls
    /// [`Flow::take`] until it returns `None` before it gives the next frame.
    ///
    /// Cameras swap the two channels, use others than they state, and send streams that the client did not request.
    pub(super) fn frame(&mut self, channel: u8, bytes: &[u8], arrival: MonotonicTime) -> bool {
        let (rtp, rtcp) = self.granted.channels;
        let is_ours = channel == rtp || channel == rtcp;
        if self.granted.transport == Transport::Udp {
            return false;
        }
        if is_rtcp(bytes) {
            if is_ours {
                self.control(bytes, arrival);
            }
            return false;
        }
        self.packet(bytes, is_ours, arrival)
    }

    /// Takes a packet of RTP; returns whether it was one of this stream.
    pub(super) fn packet(&mut self, bytes: &[u8], is_ours: bool, arrival: MonotonicTime) -> bool {
        let Some(packet) = Packet::parse(bytes) else {
            return false;
        };
        let is_described = packet.payload_type == self.payload_type;
        self.is_as_described |= is_described;
        if !is_described && (self.is_as_described || !is_ours) {
            return false;
        }
        self.reports.packet(packet.timestamp, arrival);
        self.reorder.push(bytes, arrival);
        self.last_arrival = arrival;
        // A packet that came before the goodbye may be read after it, where both waited.
        self.goodbye.take_if(|said| arrival > *said);
        true
    }

    /// Takes a packet of RTCP.
    pub(super) fn control(&mut self, bytes: &[u8], arrival: MonotonicTime) {
        let counts = self.reorder.counts();
        let (_, theirs) = self.reorder.highest();
        let is_theirs = |ssrc| counts.received == 0 || ssrc == theirs;
        for it in said(bytes) {
            match it {
                RtcpPacket::Report {
                    ssrc,
                    ntp,
                    timestamp,
                } if is_theirs(ssrc) => {
                    self.reports.heard(ntp, timestamp, arrival);
                }
                RtcpPacket::Goodbye { ssrc } if is_theirs(ssrc) => self.goodbye = Some(arrival),
                _ => {}
            }
        }
    }

    /// The next complete picture.
    pub(super) fn take(&mut self, now: MonotonicTime) -> Option<Encoded> {
        loop {
            if let Some(picture) = self.depacketizer.take() {
                return Some(picture);
            }
            self.depacketizer.push(&self.reorder.pop(now)?);
        }
    }

    pub(super) fn recycle(&mut self, picture: Encoded) {
        self.depacketizer.recycle(picture);
    }

    pub(super) fn capture(&self, timestamp: u32) -> Option<WallTime> {
        self.reports.capture(timestamp, self.last_arrival)
    }

    /// The client's report, where one is due.
    pub(super) fn due(&mut self, now: MonotonicTime) -> Option<Vec<u8>> {
        self.reports.due(&self.reorder, self.our_ssrc, now)
    }

    /// The channel that reports go to over TCP.
    pub(super) fn report_channel(&self) -> u8 {
        self.granted.channels.1
    }

    /// When the flow must be called though no packet comes: to give up a missing packet, or to send a report.
    pub(super) fn deadline(&self) -> MonotonicTime {
        let report = self.reports.deadline();
        self.reorder.deadline().map_or(report, |it| it.min(report))
    }
}
