//! A camera: tells which frame is the newest and where it lies; Java maps the memory itself, and copies nothing.

use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use jni::objects::{JClass, JLongArray, JString};
use jni::sys::{jboolean, jlong};
use jni::{Env, EnvUnowned, jni_mangle};
use kadenz::camera::client::{Camera as Opened, FrameError, OpenCameraError, OpenOptions};
use kadenz::camera::layout::Order;
use kadenz::camera::ring::{Frame, RingReader};
use kadenz::camera::server::ring_name;

use crate::{Answer, error, handles, native, span, text, whole};

/// An open camera.
struct Camera {
    name: String,
    /// The path of the shared memory.
    memory: String,
    opened: Mutex<Opened>,
    /// A reader that checks a frame's validity while another thread waits for the next frame.
    ring: Mutex<Option<RingReader>>,
}

impl Camera {
    fn new(opened: Opened) -> Self {
        Self {
            name: opened.name().to_owned(),
            memory: ring_name(opened.name(), opened.layout()),
            opened: Mutex::new(opened),
            ring: Mutex::new(None),
        }
    }
}

/// A camera that a thread opens, so that waiting for it can be given up.
struct Opening(Mutex<Receiver<Result<Opened, OpenCameraError>>>);

/// Begins to open a camera; [`opened_camera`] returns it once it is open.
#[jni_mangle("kadenz.Native")]
pub fn open_camera(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    name_or_url: JString<'_>,
    layout: JString<'_>,
    wait_ns: jlong,
) -> jlong {
    native(env, |env| {
        let options = OpenOptions {
            layout: text(env, &layout)?.parse().map_err(error)?,
            timeout: span(wait_ns),
            ..OpenOptions::default()
        };
        let name_or_url = text(env, &name_or_url)?;
        let (sender, receiver) = sync_channel(1);
        let open = move || {
            // Where the receiver is gone, the camera is closed.
            let _ = sender.send(Opened::open_with(&name_or_url, &options));
        };
        let thread = std::thread::Builder::new().name("kadenz-open".to_owned());
        thread.spawn(open).map_err(error)?;
        Ok(handles::keep(Opening(Mutex::new(receiver))))
    })
}

/// The camera, once it is open; 0 before.
#[jni_mangle("kadenz.Native")]
pub fn opened_camera(env: EnvUnowned<'_>, _: JClass<'_>, opening: jlong, wait_ns: jlong) -> jlong {
    native(env, |_| {
        let opening = handles::of::<Opening>(opening)?;
        let opened = handles::lock(&opening.0).recv_timeout(span(wait_ns));
        match opened {
            Ok(Ok(camera)) => Ok(handles::keep(Camera::new(camera))),
            Ok(Err(failure)) => Err(error(failure)),
            Err(RecvTimeoutError::Timeout) => Ok(0),
            Err(RecvTimeoutError::Disconnected) => Err(error("opening the camera panicked")),
        }
    })
}

/// The camera's name, by which other processes open it.
#[jni_mangle("kadenz.Native")]
pub fn camera_name<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    camera: jlong,
) -> JString<'local> {
    native(env, |env| {
        let camera = handles::of::<Camera>(camera)?;
        Ok(JString::new(env, &camera.name)?)
    })
}

/// Gets the newest frame; an exception where it is older. `about` gets the values of [`write_facts`].
#[jni_mangle("kadenz.Native")]
pub fn latest_frame(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    camera: jlong,
    max_age_ns: jlong,
    about: JLongArray<'_>,
) {
    native(env, |env| {
        let camera = handles::of::<Camera>(camera)?;
        let mut camera = handles::lock(&camera.opened);
        let frame = camera.latest(span(max_age_ns)).map_err(error)?;
        write_facts(env, &frame, &about)
    });
}

/// Gets the newest frame that was not returned yet; false where none came in time.
#[jni_mangle("kadenz.Native")]
pub fn next_frame(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    camera: jlong,
    wait_ns: jlong,
    about: JLongArray<'_>,
) -> jboolean {
    native(env, |env| {
        let camera = handles::of::<Camera>(camera)?;
        let mut camera = handles::lock(&camera.opened);
        match camera.next(span(wait_ns)) {
            Ok(frame) => write_facts(env, &frame, &about).map(|()| true),
            Err(FrameError::Timeout { .. }) => Ok(false),
            Err(other) => Err(error(other)),
        }
    })
}

/// Whether a frame of the present ring was not overwritten.
#[jni_mangle("kadenz.Native")]
pub fn is_frame_valid(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    camera: jlong,
    generation: jlong,
    count: jlong,
) -> jboolean {
    native(env, |_| {
        let camera = handles::of::<Camera>(camera)?;
        let is_its = |it: &RingReader| it.generation().cast_signed() == generation;
        let mut ring = handles::lock(&camera.ring);
        if !ring.as_ref().is_some_and(is_its) {
            *ring = RingReader::open(&camera.memory).ok().filter(is_its);
        }
        let count = count.try_into().unwrap_or(0);
        let frame = ring.as_ref().and_then(|it| it.frame(count));
        Ok(frame.is_some_and(|it| it.is_valid()))
    })
}

/// The path of the shared memory that holds the newest frames.
#[jni_mangle("kadenz.Native")]
pub fn camera_memory<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    camera: jlong,
) -> JString<'local> {
    native(env, |env| {
        let camera = handles::of::<Camera>(camera)?;
        let path = Path::new("/dev/shm").join(&camera.memory);
        Ok(JString::new(env, path.to_string_lossy())?)
    })
}

/// Writes the position and the information of a frame, in the order in which `kadenz.Frame` reads them.
fn write_facts(env: &mut Env<'_>, frame: &Frame<'_>, about: &JLongArray<'_>) -> Answer<()> {
    let (info, shape) = (frame.info(), frame.shape());
    let place = |it: usize| jlong::try_from(it).unwrap_or(jlong::MAX);
    let facts = [
        frame.generation().cast_signed(),
        whole(frame.count()),
        place(frame.offset()),
        shape.size.width.into(),
        shape.size.height.into(),
        place(shape.channels.count()),
        (shape.order == Order::ColumnMajor).into(),
        whole(info.number),
        frame.age().as_nanos().try_into().unwrap_or(jlong::MAX),
        info.capture.map_or(-1, |it| whole(it.as_ns())),
        whole(info.arrival.as_ns()),
        whole(info.published.as_ns()),
        whole(info.missed),
        info.is_damaged.into(),
    ];
    about.set_region(env, 0, &facts)?;
    Ok(())
}
