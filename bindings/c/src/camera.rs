//! The newest frame of a camera.

use std::ffi::c_char;
use std::time::Duration;

use kadenz_library::Camera;
use kadenz_library::camera::client::{FrameError, OpenOptions};
use kadenz_library::camera::layout::Order;
use kadenz_library::camera::ring::Frame;

use crate::{answer, behind, error_text, free, handle, nanoseconds, room, text, timeout};

/// An open camera.
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_camera(Camera);

/// A frame in shared memory. Its pixels may be read until the next call of `kadenz_camera_next` or
/// `kadenz_camera_latest` for its camera, which leaves this memory where the camera's server was restarted. The camera
/// overwrites them some frames later: copy them, or call `kadenz_frame_is_valid` after their use.
#[repr(C)]
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_frame {
    /// The first byte of the first row.
    pub pixels: *const u8,
    /// Bytes of all rows together.
    pub length: usize,
    /// Pixels of a row.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// 1 for gray, 3 for colour.
    pub channels: u32,
    /// Whether columns follow one another, plane by plane, instead of rows of interleaved pixels.
    pub is_column_major: bool,
    /// Its count in its ring.
    pub count: u64,
    /// The number of its ring: a server that is restarted makes another one.
    pub generation: u64,
    /// Its number since the server's start; lost frames count.
    pub number: u64,
    /// Its age when it was returned.
    pub age_ns: u64,
    /// When the camera took it; 0 where unknown.
    pub captured_ns: u64,
}

/// Opens a camera by its name or URL, in a layout as "rgb", "bgr", "gray", "rgb-column-major", "gray@960x540"; waits at
/// most so long for its first frame. Returns NULL where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_camera_open(
    name_or_url: *const c_char,
    layout: *const c_char,
    timeout_ns: i64,
) -> *mut kadenz_camera {
    answer(std::ptr::null_mut(), || {
        // SAFETY: the caller passes texts.
        let (name, layout) =
            unsafe { (text(name_or_url, "name_or_url")?, text(layout, "layout")?) };
        let options = OpenOptions {
            layout: layout.parse().map_err(error_text)?,
            timeout: timeout(timeout_ns).min(Duration::from_secs(u32::MAX.into())),
            ..OpenOptions::default()
        };
        let camera = Camera::open_with(name, &options).map_err(error_text)?;
        Ok(handle(kadenz_camera(camera)))
    })
}

/// Gets the newest frame. Returns 0, or -1 where it is older than `max_age_ns`. Real-time safe while frames come.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_camera_latest(
    camera: *mut kadenz_camera,
    max_age_ns: i64,
    frame: *mut kadenz_frame,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle and room for a frame.
        let (camera, into) = unsafe { (behind(camera)?, room(frame)?) };
        let found = camera.0.latest(timeout(max_age_ns)).map_err(error_text)?;
        into.write(describe(&found));
        Ok(0)
    })
}

/// Gets the newest frame that was not returned yet. Returns 1, or 0 where none came in time, or -1 where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_camera_next(
    camera: *mut kadenz_camera,
    timeout_ns: i64,
    frame: *mut kadenz_frame,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle and room for a frame.
        let (camera, into) = unsafe { (behind(camera)?, room(frame)?) };
        match camera.0.next(timeout(timeout_ns)) {
            Ok(found) => into.write(describe(&found)),
            Err(FrameError::Timeout { .. }) => return Ok(0),
            Err(error) => return Err(error_text(error)),
        };
        Ok(1)
    })
}

/// Returns whether the camera has not begun to overwrite a frame; `false` for a frame of an earlier server. Real-time
/// safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_frame_is_valid(
    camera: *const kadenz_camera,
    frame: *const kadenz_frame,
) -> bool {
    // SAFETY: the caller passes a handle and a frame, or NULL.
    let (Some(camera), Some(frame)) = (unsafe { camera.as_ref() }, unsafe { frame.as_ref() })
    else {
        return false;
    };
    found(&camera.0, frame).is_some()
}

/// The frame in the camera's memory, where the camera did not overwrite it.
fn found<'a>(camera: &'a Camera, frame: &kadenz_frame) -> Option<Frame<'a>> {
    let ring = camera.ring();
    (ring.generation() == frame.generation)
        .then(|| ring.frame(frame.count))
        .flatten()
}

/// Copies a frame into memory of yours. Returns 0, or -1 where that has fewer than `length` bytes of the frame, or the
/// camera overwrote the frame meanwhile, or its server was restarted: take the newest one. Real-time safe in memory that
/// was touched before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_frame_copy(
    camera: *const kadenz_camera,
    frame: *const kadenz_frame,
    into: *mut u8,
    room: usize,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle, a frame and memory, or NULL.
        let (camera, frame) = unsafe { (camera.as_ref(), frame.as_ref()) };
        let (Some(camera), Some(frame)) = (camera, frame) else {
            return Err("the camera or the frame is NULL".to_owned());
        };
        if into.is_null() || room < frame.length {
            return Err(format!(
                "there is room for {room} bytes, the frame has {}",
                frame.length
            ));
        }
        let overwritten =
            "the camera wrote over the frame; take the newest one and copy it at once";
        let found = found(&camera.0, frame)
            .filter(|it| it.shape().bytes() == frame.length)
            .ok_or(overwritten)?;
        // SAFETY: the caller promises so many bytes, and that no other code uses them meanwhile.
        let into = unsafe { std::slice::from_raw_parts_mut(into, frame.length) };
        found.copy_to(into).map_err(|_| overwritten.to_owned())?;
        Ok(0)
    })
}

/// Closes a camera, and ends its threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_camera_free(camera: *mut kadenz_camera) {
    // SAFETY: the caller passes a handle that is not used again.
    unsafe { free(camera) };
}

fn describe(frame: &Frame<'_>) -> kadenz_frame {
    let (info, shape) = (frame.info(), frame.shape());
    kadenz_frame {
        pixels: frame.pixels().as_ptr().cast(),
        length: shape.bytes(),
        width: shape.size.width,
        height: shape.size.height,
        channels: shape.channels.count() as u32,
        is_column_major: shape.order == Order::ColumnMajor,
        count: frame.count(),
        generation: frame.generation(),
        number: info.number,
        age_ns: nanoseconds(frame.age()),
        captured_ns: info.capture.map_or(0, |it| it.as_ns()),
    }
}
