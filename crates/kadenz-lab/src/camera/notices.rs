//! A camera as a channel of the bus: a small message for each new frame, which lies in shared memory: [`publish`].

use std::time::Duration;

use kadenz_camera::client::{Camera, OpenCameraError, OpenOptions};
use kadenz_camera::layout::Layout;
use kadenz_camera::ring::Frame;
use kadenz_camera::server::ring_name;
use kadenz_msg::bus::Publisher;
use kadenz_msg::service::messages::CameraFrame;
use kadenz_rt::clock::ClockPair;
use serde::Serialize;

use crate::stop::Stop;

/// How long the thread waits for a frame before it checks for a stop request.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// Counts of the notices of a camera.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notices {
    /// Frames that a notice announced.
    pub published: u64,
    /// Notices that the bus refused.
    pub refused: u64,
    /// Why the bus refused the last of them.
    pub trouble: Option<String>,
}

/// Publishes a message for each new frame of a camera that is served under a name, until a stop is requested or the
/// camera ends. A bus that refuses messages delays no reader of the frames. Where frames come faster than the bus takes
/// messages, the next message announces the newest frame.
///
/// # Errors
/// [`OpenCameraError`] where no process serves the camera.
pub fn publish(
    camera: &str,
    layout: Layout,
    publisher: &mut Publisher<CameraFrame>,
    stop: &Stop,
) -> Result<Notices, OpenCameraError> {
    let options = OpenOptions {
        layout,
        timeout: STOP_INTERVAL,
        ..OpenOptions::default()
    };
    let mut notices = Notices::default();
    let mut camera = loop {
        match Camera::open_with(camera, &options) {
            Ok(camera) => break camera,
            Err(OpenCameraError::Silent { .. }) if stop.requested() => return Ok(notices),
            Err(OpenCameraError::Silent { .. }) => {}
            Err(error) => return Err(error),
        }
    };
    let ring = ring_name(camera.name(), &layout);
    let mut message = CameraFrame {
        camera: camera.name().to_owned(),
        ring,
        layout: layout.to_string(),
        ..CameraFrame::default()
    };
    while !stop.requested() {
        let Ok(frame) = camera.next(STOP_INTERVAL) else {
            continue;
        };
        fill(&mut message, &frame);
        match publisher.publish(&message) {
            Ok(()) => notices.published += 1,
            Err(error) => {
                notices.refused += 1;
                notices.trouble = Some(error.to_string());
            }
        }
    }
    Ok(notices)
}

/// Fills the message with what is known of a frame.
fn fill(message: &mut CameraFrame, frame: &Frame<'_>) {
    let (info, shape) = (frame.info(), frame.shape());
    let pair = ClockPair::read(super::TRIES);
    let ago_ns = pair.monotonic().since(info.begin());
    let begun_ns = pair.wall().as_unix_ns().saturating_sub(ago_ns);
    message.utime = begun_ns / 1000;
    message.begin_ns = info.begin().as_ns().cast_signed();
    message.published_ns = info.published.as_ns().cast_signed();
    message.number = info.number.cast_signed();
    message.generation = frame.generation().cast_signed();
    message.count = frame.count().cast_signed();
    message.slot = frame.slot() as i32;
    message.width = shape.size.width.cast_signed();
    message.height = shape.size.height.cast_signed();
    message.channels = shape.channels.count() as i32;
    message.size = shape.bytes() as i64;
}
