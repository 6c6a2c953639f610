//! A camera's description of its streams (SDP, RFC 8866), as far as its video is concerned.
//!
//! Cameras write it in many ways: attributes in any order, misplaced spaces, media that no client can read. Parts that
//! are not understood are left out.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::Coding;

/// The longest parameter set, in bytes.
pub(crate) const MAX_PARAMETER_SET: usize = 4096;

/// The first video stream that can be received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Video {
    /// The coding of its pictures.
    pub coding: Coding,
    /// The type that its packets carry.
    pub payload_type: u8,
    /// Ticks of its time stamps in a second.
    pub clock_rate: u32,
    /// Its URL, relative or not; `None` where only the session has one.
    pub control: Option<String>,
    /// The session's URL, relative or not.
    pub session_control: Option<String>,
    /// NAL units with parameter sets, in the order in which they were stated.
    pub parameter_sets: Vec<Vec<u8>>,
}

/// Why a description holds no video.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SdpError {
    /// The description has no video.
    #[error("the camera describes no video")]
    NoVideo,
    /// The video has another coding.
    #[error("the camera sends {0}, not H.264, H.265 or JPEG")]
    Encoding(String),
    /// The packets of a stream are not sent in the order of decoding.
    #[error("the camera sends interleaved NAL units")]
    Interleaved,
}

impl Video {
    /// Finds the first video stream that can be received.
    ///
    /// # Errors
    /// [`SdpError`].
    pub(crate) fn of_sdp(sdp: &[u8]) -> Result<Self, SdpError> {
        let text = String::from_utf8_lossy(sdp);
        let mut sections = text.split("\nm=");
        let session_control = attribute(sections.next().unwrap_or_default(), "control");
        let videos = sections.filter(|section| section.trim_start().starts_with("video"));
        let video = first_of(videos.map(Self::of_section))?;
        Ok(Self {
            session_control: session_control.map(str::to_owned),
            ..video
        })
    }

    fn of_section(section: &str) -> Result<Self, SdpError> {
        let first = section.lines().next().unwrap_or_default();
        let types = first.split_ascii_whitespace().skip(3);
        let types = types.filter_map(|it| it.parse::<u8>().ok().filter(|it| *it < 128));
        first_of(types.map(|payload_type| Self::of_type(section, payload_type)))
    }

    fn of_type(section: &str, payload_type: u8) -> Result<Self, SdpError> {
        let mapped = of_payload_type(section, "rtpmap", payload_type);
        let map = match (mapped, payload_type) {
            (Some(map), _) => map,
            (None, 26) => "JPEG/90000",
            (None, _) => return Err(SdpError::Encoding(format!("payload type {payload_type}"))),
        };
        let mut parts = map.split('/').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_uppercase();
        let coding = match name.as_str() {
            "H264" => Coding::H264,
            "H265" | "HEVC" => Coding::H265,
            "JPEG" => Coding::Jpeg,
            _ => return Err(SdpError::Encoding(shown(&name))),
        };
        let format = of_payload_type(section, "fmtp", payload_type).unwrap_or_default();
        let value = |name| super::head::parameter(format, name);
        let number = |name| {
            value(name)
                .and_then(|it| it.parse::<u32>().ok())
                .unwrap_or(0)
        };
        if number("packetization-mode") == 2 || number("sprop-max-don-diff") > 0 {
            return Err(SdpError::Interleaved);
        }
        let sets = [
            "sprop-parameter-sets",
            "sprop-vps",
            "sprop-sps",
            "sprop-pps",
        ];
        let stated = sets
            .into_iter()
            .filter_map(value)
            .flat_map(|it| it.split(','));
        let rate = parts.next().and_then(|it| it.parse().ok());
        Ok(Self {
            coding,
            payload_type,
            clock_rate: rate.filter(|it| *it > 0).unwrap_or(90_000),
            control: attribute(section, "control").map(str::to_owned),
            session_control: None,
            parameter_sets: stated.filter_map(parameter_set).collect(),
        })
    }

    /// The URLs that set up and play the stream, relative to the base in the answer to `DESCRIBE`.
    ///
    /// A base that is not a URL is an error of the camera, and the request's URL serves instead; a base without a
    /// scheme gets `rtsp`.
    #[must_use]
    pub(crate) fn urls(&self, stated_base: Option<&str>, request: &str) -> (String, String) {
        let base = stated_base.map(str::trim).filter(|it| is_clean(it));
        let base = match base {
            Some(base) if base.starts_with("rtsp://") => base.to_owned(),
            Some(base) if base.contains(':') && base.contains('/') && !base.contains("://") => {
                format!("rtsp://{base}")
            }
            _ => request.to_owned(),
        };
        let session = joined(&base, self.session_control.as_deref());
        (joined(&base, self.control.as_deref()), session)
    }
}

/// The first video that can be received, or else why the last one cannot.
fn first_of(videos: impl Iterator<Item = Result<Video, SdpError>>) -> Result<Video, SdpError> {
    let mut why = SdpError::NoVideo;
    for video in videos {
        match video {
            Ok(video) => return Ok(video),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Joins both parts as texts, also behind a query, since cameras expect that, and not by RFC 3986.
fn joined(base: &str, control: Option<&str>) -> String {
    match control.map(str::trim).filter(|it| is_clean(it)) {
        None | Some("" | "*") => base.to_owned(),
        Some(control) if control.contains("://") => control.to_owned(),
        Some(control) => {
            let slash = if base.ends_with('/') { "" } else { "/" };
            format!("{base}{slash}{}", control.trim_start_matches('/'))
        }
    }
}

/// Whether a text may be part of a request's line.
fn is_clean(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte > b' ' && byte != 127 && byte != b'"')
}

/// A name from outside, for an error: short, and without control characters.
fn shown(name: &str) -> String {
    name.chars()
        .filter(|it| it.is_ascii_graphic())
        .take(32)
        .collect()
}

fn attributes<'a>(section: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    section.lines().filter_map(move |line| {
        let value = line.trim().strip_prefix("a=")?.strip_prefix(name)?;
        value.strip_prefix(':').map(str::trim)
    })
}

fn attribute<'a>(section: &'a str, name: &'a str) -> Option<&'a str> {
    attributes(section, name).next()
}

/// The value behind a payload type: `H264/90000` of `a=rtpmap:96 H264/90000`.
fn of_payload_type<'a>(section: &'a str, name: &'a str, payload_type: u8) -> Option<&'a str> {
    attributes(section, name).find_map(|value| {
        let (number, rest) = value.split_once(char::is_whitespace)?;
        (number.parse() == Ok(payload_type)).then(|| rest.trim())
    })
}

fn parameter_set(text: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let engine = GeneralPurpose::new(&alphabet::STANDARD, config);
    let bytes = engine.decode(text.trim()).ok()?;
    // Some cameras put a start code before it.
    let zeroes = bytes.iter().take_while(|byte| **byte == 0).count();
    let begin = match bytes.get(zeroes) {
        Some(1) if zeroes >= 2 => zeroes + 1,
        _ => 0,
    };
    let bytes = &bytes[begin..];
    (!bytes.is_empty() && bytes.len() <= MAX_PARAMETER_SET).then(|| bytes.to_vec())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use proptest::prelude::*;

    use super::*;

    const H264: &str = "v=0\r\na=control:*\r\nm=audio 0 RTP/AVP 0\r\na=control:track2\r\nm=video 0 RTP/AVP 96\r\n\
        a=control:track1 \r\na=rtpmap:96 H264/90000 \r\n\
        a=fmtp:96 packetization-mode=1; sprop-parameter-sets=AAAAAWdNAB8=,aO48gA==,!;\r\nm=application 0 RTP/AVP x\r\n";

    #[test]
    fn video_is_found_among_other_media() {
        let video = Video::of_sdp(H264.as_bytes()).unwrap();
        let sets = vec![vec![0x67, 0x4d, 0, 0x1f], vec![0x68, 0xee, 0x3c, 0x80]];
        let expected = Video {
            coding: Coding::H264,
            payload_type: 96,
            clock_rate: 90_000,
            control: Some("track1".to_owned()),
            session_control: Some("*".to_owned()),
            parameter_sets: sets,
        };
        assert_eq!(video, expected);
    }

    #[test]
    fn urls_are_put_together_as_cameras_expect_it() {
        let mut video = Video::of_sdp(H264.as_bytes()).unwrap();
        let request = "rtsp://h/cam?channel=1";
        for (base, control, set_up) in [
            (None, "track1", "rtsp://h/cam?channel=1/track1"),
            (
                Some("rtsp://10.0.0.1/cam/"),
                "track1",
                "rtsp://10.0.0.1/cam/track1",
            ),
            (
                Some("10.0.0.1:554/cam/"),
                "track1",
                "rtsp://10.0.0.1:554/cam/track1",
            ),
            (Some("/cam/"), "track1", "rtsp://h/cam?channel=1/track1"),
            (Some("rtsp://h/a b\""), "*", "rtsp://h/cam?channel=1"),
            (Some("rtsp://h/cam"), "rtsp://h/other", "rtsp://h/other"),
            (Some("rtsp://h/cam"), "a\rX: y", "rtsp://h/cam"),
        ] {
            video.control = Some(control.to_owned());
            assert_eq!(video.urls(base, request).0, set_up, "{base:?} {control}");
        }
        assert_eq!(
            video.urls(Some("rtsp://h/cam/"), request).1,
            "rtsp://h/cam/"
        );
    }

    #[test]
    fn what_cannot_be_received_is_named() {
        let sdp = |media: &str| format!("v=0\r\n{media}");
        let error = |media: &str| Video::of_sdp(sdp(media).as_bytes()).unwrap_err();
        assert_eq!(error("m=audio 0 RTP/AVP 0"), SdpError::NoVideo);
        let vp8 = "m=video 0 RTP/AVP 97\r\na=rtpmap:97 VP8/90000";
        assert_eq!(error(vp8), SdpError::Encoding("VP8".to_owned()));
        let interleaved =
            "m=video 0 RTP/AVP 97\r\na=rtpmap:97 H264/90000\r\na=fmtp:97 packetization-mode=2";
        assert_eq!(error(interleaved), SdpError::Interleaved);
        let jpeg = Video::of_sdp(sdp("m=video 0 RTP/AVP 26").as_bytes()).unwrap();
        assert_eq!(jpeg.coding, Coding::Jpeg);
        let both = format!("{vp8}\r\nm=video 0 RTP/AVP 98\r\na=rtpmap:98 h265/90000");
        assert_eq!(
            Video::of_sdp(sdp(&both).as_bytes()).unwrap().coding,
            Coding::H265
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_description_or_an_error(text in "(m=video|a=rtpmap:|a=fmtp:|96|H264/|sprop-sps=|\n| |=|,|;|\\PC){0,60}") {
            let _ = Video::of_sdp(text.as_bytes());
        }
    }
}
