//! A run's facts about a camera: the age of its frames, and the counts of all frames.

use serde::{Deserialize, Serialize};

/// Name of the series: the age of a frame when it is in the reader's memory. The age counts from the capture of the
/// frame or, where the capture time is unknown, from its first byte.
pub const AGE: &str = "age";
/// Name of the series: as [`AGE`], from the time that the simulator painted into the picture.
pub const END_TO_END: &str = "end-to-end";
/// Name of the series: from one frame's publication to the next one's.
pub const FRAME_INTERVAL: &str = "frame-interval";
/// Name of the series: from the camera's stamp until the first byte came.
pub const NETWORK: &str = "network";
/// Name of the series: from the first byte until the frame was whole.
pub const ASSEMBLY: &str = "assembly";
/// Name of the series: from the whole frame until the decoder took it.
pub const DECODER_QUEUE: &str = "decoder-queue";
/// Name of the series: decoding.
pub const FRAME_DECODE: &str = "frame-decode";
/// Name of the series: conversion into the requested layouts, and publication.
pub const CONVERT: &str = "convert";
/// Name of the series: from publication until the reader saw the frame.
pub const PICK_UP: &str = "pick-up";
/// Name of the series: copying the frame into the reader's memory.
pub const HAND_OVER: &str = "hand-over";
/// Name of the series: durations without frames where frames were missed.
pub const GAP: &str = "gap";
/// Name of the series: the time between the frames of a set, where more than one camera was read.
pub const SKEW: &str = "skew";

/// The counts of a measurement of a camera, beside the times in its series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Camera {
    /// Where the frames came from, without credentials.
    pub url: String,
    /// The received stream: `H.264 1920x1080 by RTSP over TCP`.
    #[serde(default)]
    pub description: String,
    /// The decoder; absent where none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoder: Option<String>,
    /// The layout that the reader requested.
    #[serde(default)]
    pub layout: String,
    /// Frames that the reader received.
    pub received: u64,
    /// Frames that were lost on the way, damaged or undecodable.
    #[serde(default)]
    pub missed: u64,
    /// Frames with the bytes of the one before.
    #[serde(default)]
    pub duplicated: u64,
    /// Frames skipped because decoding fell behind.
    #[serde(default)]
    pub skipped: u64,
    /// Frames that the reader did not look at before they were overwritten, or before the next one.
    #[serde(default)]
    pub passed_over: u64,
    /// How often the camera was opened again.
    #[serde(default)]
    pub reconnects: u64,
    /// Frames in which the reader did not find all three times that the simulator painted, where it looked for one.
    #[serde(default)]
    pub unreadable: u64,
    /// Where the frames of the other cameras came from, in a run that read sets of frames; absent in a run of one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sync_with: Vec<String>,
    /// Frames of all cameras that were in no set.
    #[serde(default)]
    pub unmatched: u64,
    /// Frames that were parts of several pictures, by the numbers that the simulator painted.
    #[serde(default)]
    pub torn: u64,
    /// Frames that the writer wrote over while the reader copied them; it did not use them.
    #[serde(default)]
    pub overwritten: u64,
}
