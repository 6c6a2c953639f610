//! Logs of messages: reading and writing.

use std::ffi::{CString, c_char};
use std::path::Path;

use kadenz_library::msg::log::{self, ChannelWriter, Entry, LogReader};
use kadenz_library::rt::clock::WallTime;

use crate::bus::kadenz_message;
use crate::{answer, behind, error_text, free, handle, room, text};

/// A log that is read: LCM's event log, MCAP, a bag of ROS 1, or a folder of ROS 2.
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_log {
    reader: Box<dyn LogReader>,
    entry: Entry,
    /// The channel of the last message, with a zero behind it.
    channel: CString,
}

/// A log that is written.
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_log_writer(ChannelWriter);

/// Opens a log. Returns NULL where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_log_open(path: *const c_char) -> *mut kadenz_log {
    answer(std::ptr::null_mut(), || {
        // SAFETY: the caller passes a text.
        let path = unsafe { text(path, "path") }?;
        Ok(handle(kadenz_log {
            reader: log::open(Path::new(path)).map_err(error_text)?,
            entry: Entry::default(),
            channel: CString::default(),
        }))
    })
}

/// Reads the next message, valid until the next call for this log; its `taken_ns` is the time of logging, in
/// nanoseconds since 1970, and its `kernel_ns` the time of publishing. Returns 1 with a message, 0 at the end, -1 where
/// the file cannot be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_log_next(
    log: *mut kadenz_log,
    message: *mut kadenz_message,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle and room for a message.
        let (log, into) = unsafe { (behind(log)?, room(message)?) };
        if !log.reader.read(&mut log.entry).map_err(error_text)? {
            return Ok(0);
        }
        let (entry, name) = (&log.entry, &log.entry.channel.name);
        if log.channel.to_bytes() != name.as_bytes() {
            log.channel = CString::new(name.replace('\0', " ")).map_err(error_text)?;
        }
        let since_1970 = |time: WallTime| u64::try_from(time.as_unix_ns()).unwrap_or(0);
        into.write(kadenz_message {
            channel: log.channel.as_ptr(),
            payload: entry.payload.as_ptr(),
            length: entry.payload.len(),
            taken_ns: since_1970(entry.log_time),
            kernel_ns: since_1970(entry.publish_time),
        });
        Ok(1)
    })
}

/// Goes to the first message that was logged at or after a time, in nanoseconds since 1970; 0 is the start. Returns 0,
/// or -1 where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_log_seek(log: *mut kadenz_log, unix_ns: i64) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle.
        let log = unsafe { behind(log) }?;
        let found = log.reader.seek(WallTime::from_unix_ns(unix_ns));
        found.map(|()| 0).map_err(error_text)
    })
}

/// Closes a log and frees its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_log_free(log: *mut kadenz_log) {
    // SAFETY: the caller passes a handle that is not used again.
    unsafe { free(log) };
}

/// Creates a log, and replaces an existing one: MCAP where its name ends with ".mcap", else LCM's event log. Returns
/// NULL where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_log_create(path: *const c_char) -> *mut kadenz_log_writer {
    answer(std::ptr::null_mut(), || {
        // SAFETY: the caller passes a text.
        let path = unsafe { text(path, "path") }?;
        let writer = ChannelWriter::create(path).map_err(error_text)?;
        Ok(handle(kadenz_log_writer(writer)))
    })
}

/// Writes a message that came at a time, in nanoseconds since 1970. Returns 0, or -1 where that fails: where the disk
/// is full, no message that was written before is lost, and the call can be repeated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_log_write(
    log: *mut kadenz_log_writer,
    channel: *const c_char,
    payload: *const u8,
    length: usize,
    unix_ns: i64,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle, a text, and so many bytes.
        let (log, channel, payload) = unsafe {
            (
                behind(log)?,
                text(channel, "channel")?,
                crate::bus::bytes(payload, length)?,
            )
        };
        let at = WallTime::from_unix_ns(unix_ns);
        log.0.write(channel, payload, at).map_err(error_text)?;
        Ok(0)
    })
}

/// Completes the file. Returns 0, or -1 where that fails: the written messages stay readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_log_finish(log: *mut kadenz_log_writer) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle.
        unsafe { behind(log) }?.0.finish().map_err(error_text)?;
        Ok(0)
    })
}

/// Frees a log; an unfinished one is read without an index.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_log_writer_free(log: *mut kadenz_log_writer) {
    // SAFETY: the caller passes a handle that is not used again.
    unsafe { free(log) };
}
