//! Logs of messages: reading and writing.

use std::path::Path;
use std::sync::Mutex;

use jni::objects::{JByteArray, JClass, JLongArray, JString};
use jni::sys::{jboolean, jlong};
use jni::{EnvUnowned, jni_mangle};
use kadenz::msg::log::{self, Entry, Format, LogReader, LogWriter, LoggedChannel};
use kadenz::rt::clock::WallTime;

use crate::{error, handles, native, text};

/// A log that is read, and its last message.
struct Log(Mutex<(Box<dyn LogReader>, Entry)>);

/// A log that is written, none where it is finished.
struct LogWriting(Mutex<(Option<Box<dyn LogWriter>>, Entry)>);

#[jni_mangle("kadenz.Native")]
pub fn open_log<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    path: JString<'local>,
) -> jlong {
    native(env, |env| {
        let reader = log::open(Path::new(&text(env, &path)?)).map_err(error)?;
        Ok(handles::keep(Log(Mutex::new((reader, Entry::default())))))
    })
}

/// Takes the next message; its times of logging and publishing go into the array. False at the end.
#[jni_mangle("kadenz.Native")]
pub fn next_logged<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    log: jlong,
    times: JLongArray<'local>,
) -> jboolean {
    native(env, |env| {
        let log = handles::of::<Log>(log)?;
        let mut log = handles::lock(&log.0);
        let (reader, entry) = &mut *log;
        if !reader.read(entry).map_err(error)? {
            return Ok(false);
        }
        let told = [entry.log_time.as_unix_ns(), entry.publish_time.as_unix_ns()];
        times.set_region(env, 0, &told)?;
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
pub fn seek_log<'local>(env: EnvUnowned<'local>, _: JClass<'local>, log: jlong, unix_ns: jlong) {
    native(env, |_| {
        let log = handles::of::<Log>(log)?;
        let mut log = handles::lock(&log.0);
        log.0.seek(WallTime::from_unix_ns(unix_ns)).map_err(error)
    });
}

#[jni_mangle("kadenz.Native")]
pub fn create_log<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    path: JString<'local>,
) -> jlong {
    native(env, |env| {
        let path = text(env, &path)?;
        let path = Path::new(&path);
        let format = match path.extension().is_some_and(|it| it == "mcap") {
            true => Format::Mcap,
            false => Format::EventLog,
        };
        let writer = log::create(path, format).map_err(error)?;
        Ok(handles::keep(LogWriting(Mutex::new((
            Some(writer),
            Entry::default(),
        )))))
    })
}

#[jni_mangle("kadenz.Native")]
pub fn write_log<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    log: jlong,
    channel: JString<'local>,
    payload: JByteArray<'local>,
    unix_ns: jlong,
) {
    native(env, |env| {
        let channel = text(env, &channel)?;
        if payload.is_null() {
            return Err(error("null is no message; pass bytes"));
        }
        let log = handles::of::<LogWriting>(log)?;
        let mut log = handles::lock(&log.0);
        let (writer, entry) = &mut *log;
        let writer = writer
            .as_mut()
            .ok_or_else(|| error("the log is finished; create another one"))?;
        if entry.channel.name != channel {
            entry.channel = LoggedChannel::lcm(&channel).into();
        }
        entry.payload = env.convert_byte_array(&payload)?;
        entry.log_time = WallTime::from_unix_ns(unix_ns);
        entry.publish_time = entry.log_time;
        writer.write(entry).map_err(error)?;
        entry.sequence = entry.sequence.wrapping_add(1);
        Ok(())
    });
}

#[jni_mangle("kadenz.Native")]
pub fn finish_log<'local>(env: EnvUnowned<'local>, _: JClass<'local>, log: jlong) {
    native(env, |_| {
        let log = handles::of::<LogWriting>(log)?;
        let writer = handles::lock(&log.0).0.take();
        match writer.map_or(Ok(0), LogWriter::finish).map_err(error)? {
            0 => Ok(()),
            lost => Err(error(format!(
                "the disk is full: {lost} messages made room for the index; make room and record again"
            ))),
        }
    });
}
