//! RTCP (RFC 3550, section 6): the camera's time of day, the client's reports of what came, and goodbyes.

use std::time::Duration;

use kadenz_rt::clock::{MonotonicTime, WallTime};

use super::reorder::Reorder;

/// How often a report is sent (RFC 3550, section 6.2: at least this far apart).
pub(crate) const REPORT_INTERVAL: Duration = Duration::from_secs(5);
/// A sender report is no longer used after this: clocks drift apart.
const REPORT_LASTS: Duration = Duration::from_secs(600);
/// Seconds from 1900 to 1970.
pub(crate) const NTP_TO_UNIX: i64 = 2_208_988_800;
pub(crate) const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
const GOODBYE: u8 = 203;

/// The content of an RTCP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtcpPacket {
    /// A sender report: the sender's time of day at a time of its stream's clock.
    Report {
        /// The source of the stream (RFC 3550, SSRC).
        ssrc: u32,
        /// Seconds since 1900 and their fraction in 2^-32 s.
        ntp: u64,
        /// The stream's clock.
        timestamp: u32,
    },
    /// The sender ends the stream (BYE).
    Goodbye {
        /// The source of the stream (RFC 3550, SSRC).
        ssrc: u32,
    },
}

/// Splits a compound packet; leaves out packets that are neither sender report nor goodbye, and damaged ones.
pub fn said(mut bytes: &[u8]) -> impl Iterator<Item = RtcpPacket> {
    std::iter::from_fn(move || {
        let (header, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]])) * 4;
        let body = rest.get(..length).filter(|_| header[0] >> 6 == 2)?;
        bytes = &rest[length..];
        Some((header[1], body))
    })
    .filter_map(|(kind, body)| {
        let word = |at: usize| {
            let bytes = body.get(at * 4..at * 4 + 4)?;
            bytes.try_into().ok().map(u32::from_be_bytes)
        };
        let ssrc = word(0)?;
        match kind {
            SENDER_REPORT => Some(RtcpPacket::Report {
                ssrc,
                ntp: u64::from(word(1)?) << 32 | u64::from(word(2)?),
                timestamp: word(3)?,
            }),
            GOODBYE => Some(RtcpPacket::Goodbye { ssrc }),
            _ => None,
        }
    })
}

/// Translates the stream's clock to the camera's time of day, and makes the client's reports.
#[derive(Debug)]
pub(crate) struct Reports {
    clock_rate: u32,
    last: Option<SenderReport>,
    next: MonotonicTime,
    reported: (u64, u64),
    jitter: Jitter,
}

#[derive(Debug, Clone, Copy)]
struct SenderReport {
    ntp: u64,
    timestamp: u32,
    arrival: MonotonicTime,
}

/// Interarrival jitter (RFC 3550, section 6.4.1), in ticks of the stream's clock, times 16.
#[derive(Debug, Default)]
struct Jitter {
    transit: Option<u32>,
    sixteenfold: u64,
}

impl Reports {
    /// Reports without a received packet.
    #[must_use]
    pub(crate) fn new(clock_rate: u32, now: MonotonicTime) -> Self {
        Self {
            clock_rate: clock_rate.max(1),
            last: None,
            next: now + REPORT_INTERVAL,
            reported: (0, 0),
            jitter: Jitter::default(),
        }
    }

    /// Takes a sender report. One whose seconds have no high bit gives the time since the camera's start, not the time
    /// of day (RFC 3550, section 4), and one of zero gives none.
    pub(crate) fn heard(&mut self, ntp: u64, timestamp: u32, arrival: MonotonicTime) {
        self.last = Some(SenderReport {
            ntp,
            timestamp,
            arrival,
        });
    }

    /// Takes note of when a packet came.
    pub(crate) fn packet(&mut self, timestamp: u32, arrival: MonotonicTime) {
        let ticks = u128::from(arrival.as_ns()) * u128::from(self.clock_rate) / 1_000_000_000;
        let transit = (ticks as u32).wrapping_sub(timestamp);
        if let Some(before) = self.jitter.transit.replace(transit) {
            let change = u64::from((transit.wrapping_sub(before) as i32).unsigned_abs());
            let jitter = &mut self.jitter.sixteenfold;
            *jitter = *jitter + change - (*jitter + 8) / 16;
        }
    }

    /// When the camera took a picture, by its time of day; `None` where the camera gave none.
    #[must_use]
    pub(crate) fn capture(&self, timestamp: u32, now: MonotonicTime) -> Option<WallTime> {
        let is_wall = |it: &&SenderReport| it.ntp >> 63 == 1 && now <= it.arrival + REPORT_LASTS;
        let last = self.last.as_ref().filter(is_wall)?;
        let seconds = (last.ntp >> 32) as i64 - NTP_TO_UNIX;
        let fraction_ns = ((last.ntp & 0xffff_ffff) * 1_000_000_000) >> 32;
        let ticks = i64::from(timestamp.wrapping_sub(last.timestamp) as i32);
        let since_ns = ticks * 1_000_000_000 / i64::from(self.clock_rate);
        Some(WallTime::from_unix_ns(
            seconds * 1_000_000_000 + fraction_ns as i64 + since_ns,
        ))
    }

    /// When the client's next report is due.
    #[must_use]
    pub(crate) fn deadline(&self) -> MonotonicTime {
        self.next
    }

    /// The client's report, where it is due: a receiver report and the description of its sender.
    pub(crate) fn due(
        &mut self,
        reorder: &Reorder,
        our_ssrc: u32,
        now: MonotonicTime,
    ) -> Option<Vec<u8>> {
        if now < self.next {
            return None;
        }
        self.next = now + REPORT_INTERVAL;
        let counts = reorder.counts();
        let (highest, their_ssrc) = reorder.highest();
        let lost = counts.lost.saturating_sub(self.reported.1);
        let expected = counts.received.saturating_sub(self.reported.0) + lost;
        self.reported = (counts.received, counts.lost);
        let fraction = (lost * 256).checked_div(expected).unwrap_or(0).min(255) as u32;
        let lost = counts.lost.min(0x7f_ffff) as u32;
        let (sent, since) = match self.last {
            Some(last) => {
                let since = u128::from(now.since(last.arrival).max(0).unsigned_abs()) * 65_536
                    / 1_000_000_000;
                ((last.ntp >> 16) as u32, since as u32)
            }
            None => (0, 0),
        };
        let jitter = (self.jitter.sixteenfold / 16) as u32;
        let mut out = vec![0x81, RECEIVER_REPORT, 0, 7];
        for word in [
            our_ssrc,
            their_ssrc,
            fraction << 24 | lost,
            highest,
            jitter,
            sent,
            since,
        ] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(&description(our_ssrc));
        Some(out)
    }
}

/// A report without a block, for before any packet came: it opens the way through a router for the camera's packets.
#[must_use]
pub(crate) fn empty_report(our_ssrc: u32) -> Vec<u8> {
    let mut out = vec![0x80, RECEIVER_REPORT, 0, 1];
    out.extend_from_slice(&our_ssrc.to_be_bytes());
    out.extend_from_slice(&description(our_ssrc));
    out
}

/// The description of the sender, which every compound packet must hold (RFC 3550, section 6.5.1).
pub(crate) fn description(our_ssrc: u32) -> Vec<u8> {
    let mut out = vec![0x81, SOURCE_DESCRIPTION, 0, 4];
    out.extend_from_slice(&our_ssrc.to_be_bytes());
    // CNAME, its length, and two to four zeroes at the end.
    out.extend_from_slice(&[1, 6]);
    out.extend_from_slice(b"kadenz\0\0\0\0");
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::super::reorder::ReorderLimits;
    use super::*;

    fn sender_report(ssrc: u32, ntp: u64, timestamp: u32) -> Vec<u8> {
        let mut bytes = vec![0x80, SENDER_REPORT, 0, 6];
        bytes.extend_from_slice(&ssrc.to_be_bytes());
        bytes.extend_from_slice(&ntp.to_be_bytes());
        bytes.extend_from_slice(&timestamp.to_be_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes
    }

    #[test]
    fn a_compound_packet_is_taken_apart() {
        let mut bytes = sender_report(7, 1 << 63 | 5, 9);
        bytes.extend_from_slice(&description(7));
        bytes.extend_from_slice(&[0x81, GOODBYE, 0, 1, 0, 0, 0, 7, 0x81, GOODBYE, 0, 9, 0]);
        let report = RtcpPacket::Report {
            ssrc: 7,
            ntp: 1 << 63 | 5,
            timestamp: 9,
        };
        assert_eq!(
            said(&bytes).collect::<Vec<_>>(),
            [report, RtcpPacket::Goodbye { ssrc: 7 }]
        );
        assert_eq!(said(&[0; 40]).count(), 0);
    }

    #[test]
    fn pictures_have_the_camera_s_time_of_day_around_a_wrap() {
        let now = MonotonicTime::from_ns(0);
        let mut reports = Reports::new(90_000, now);
        assert_eq!(reports.capture(0, now), None);
        let second = 1_000_000_000_i64;
        let unix = 1_700_000_000;
        let ntp = ((unix + NTP_TO_UNIX) as u64) << 32 | 1 << 31;
        reports.heard(ntp, u32::MAX - 44_999, now);
        let at = |timestamp| reports.capture(timestamp, now).unwrap().as_unix_ns();
        assert_eq!(at(u32::MAX - 44_999), unix * second + second / 2);
        assert_eq!(at(0), unix * second + second);
        assert_eq!(at(u32::MAX - 89_999), unix * second);
        assert_eq!(
            reports.capture(0, now + REPORT_LASTS + REPORT_INTERVAL),
            None
        );
        // The time since the camera's start is not a time of day.
        reports.heard(1234 << 32, 0, now);
        assert_eq!(reports.capture(0, now), None);
    }

    #[test]
    fn a_report_is_due_every_five_seconds_and_states_what_was_lost() {
        let start = MonotonicTime::from_ns(0);
        let mut reports = Reports::new(90_000, start);
        let mut reorder = Reorder::new(ReorderLimits::NONE);
        for sequence in [65_534_u16, 65_535, 1, 2] {
            let mut bytes = vec![0x80, 96];
            bytes.extend_from_slice(&sequence.to_be_bytes());
            bytes.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 7]);
            reorder.push(&bytes, start);
            while reorder.pop(start).is_some() {}
        }
        reports.heard(0x1111_2222_3333_4444, 0, start);
        assert_eq!(reports.due(&reorder, 5, start), None);
        let report = reports.due(&reorder, 5, start + REPORT_INTERVAL).unwrap();
        let words: Vec<u32> = report
            .chunks(4)
            .map(|it| u32::from_be_bytes(it.try_into().unwrap()))
            .collect();
        let (lost, fraction) = (1, 256 / 5);
        let expected = [
            0x81c9_0007,
            5,
            7,
            fraction << 24 | lost,
            65_538,
            0,
            0x2222_3333,
            5 << 16,
        ];
        assert_eq!(words[..8], expected);
        assert_eq!(reports.due(&reorder, 5, start + REPORT_INTERVAL), None);
        let next = reports
            .due(&reorder, 5, start + REPORT_INTERVAL * 2)
            .unwrap();
        assert_eq!(next[12], 0);
    }
}
