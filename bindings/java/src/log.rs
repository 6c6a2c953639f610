//! Logs of messages: reading and writing.

use std::path::Path;
use std::sync::Mutex;

use jni::objects::{JByteArray, JClass, JLongArray, JString};
use jni::sys::{jboolean, jlong};
use jni::{EnvUnowned, jni_mangle};
use kadenz::msg::log::{self, ChannelWriter, Entry, LogReader};
use kadenz::rt::clock::WallTime;

use crate::{error, handles, native, text};

/// A log that is read, and its last message.
struct Log(Mutex<(Box<dyn LogReader>, Entry)>);

/// A log that is written.
struct LogWriting(Mutex<ChannelWriter>);

#[jni_mangle("kadenz.Native")]
pub fn open_log(env: EnvUnowned<'_>, _: JClass<'_>, path: JString<'_>) -> jlong {
    native(env, |env| {
        let reader = log::open(Path::new(&text(env, &path)?)).map_err(error)?;
        Ok(handles::keep(Log(Mutex::new((reader, Entry::default())))))
    })
}

/// Reads the next message; its times of logging and publishing go into the array. False at the end.
#[jni_mangle("kadenz.Native")]
pub fn next_logged(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    log: jlong,
    times: JLongArray<'_>,
) -> jboolean {
    native(env, |env| {
        let log = handles::of::<Log>(log)?;
        let mut log = handles::lock(&log.0);
        let (reader, entry) = &mut *log;
        if !reader.read(entry).map_err(error)? {
            return Ok(false);
        }
        let stamps = [entry.log_time.as_unix_ns(), entry.publish_time.as_unix_ns()];
        times.set_region(env, 0, &stamps)?;
        Ok(true)
    })
}

/// The channel of the last message.
#[jni_mangle("kadenz.Native")]
pub fn logged_channel<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    log: jlong,
) -> JString<'local> {
    native(env, |env| {
        let log = handles::of::<Log>(log)?;
        let log = handles::lock(&log.0);
        Ok(JString::new(env, &log.1.channel.name)?)
    })
}

/// The bytes of the last message.
#[jni_mangle("kadenz.Native")]
pub fn logged_payload<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    log: jlong,
) -> JByteArray<'local> {
    native(env, |env| {
        let log = handles::of::<Log>(log)?;
        let log = handles::lock(&log.0);
        Ok(env.byte_array_from_slice(&log.1.payload)?)
    })
}

#[jni_mangle("kadenz.Native")]
pub fn seek_log(env: EnvUnowned<'_>, _: JClass<'_>, log: jlong, unix_ns: jlong) {
    native(env, |_| {
        let log = handles::of::<Log>(log)?;
        let mut log = handles::lock(&log.0);
        log.0.seek(WallTime::from_unix_ns(unix_ns)).map_err(error)
    });
}

#[jni_mangle("kadenz.Native")]
pub fn create_log(env: EnvUnowned<'_>, _: JClass<'_>, path: JString<'_>) -> jlong {
    native(env, |env| {
        let writer = ChannelWriter::create(text(env, &path)?).map_err(error)?;
        Ok(handles::keep(LogWriting(Mutex::new(writer))))
    })
}

#[jni_mangle("kadenz.Native")]
pub fn write_log(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    log: jlong,
    channel: JString<'_>,
    payload: JByteArray<'_>,
    unix_ns: jlong,
) {
    native(env, |env| {
        let channel = text(env, &channel)?;
        if payload.is_null() {
            return Err(error("null is not a valid message; pass bytes"));
        }
        let payload = env.convert_byte_array(&payload)?;
        let at = WallTime::from_unix_ns(unix_ns);
        let log = handles::of::<LogWriting>(log)?;
        handles::lock(&log.0)
            .write(&channel, &payload, at)
            .map_err(error)
    });
}

#[jni_mangle("kadenz.Native")]
pub fn finish_log(env: EnvUnowned<'_>, _: JClass<'_>, log: jlong) {
    native(env, |_| {
        let log = handles::of::<LogWriting>(log)?;
        handles::lock(&log.0).finish().map_err(error)
    });
}
