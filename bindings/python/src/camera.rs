//! A camera: tells which frame is the newest and where it lies; Python maps the memory itself, and copies nothing.

use std::path::Path;
use std::time::Duration;

use kadenz::camera::client::{Camera as Opened, FrameError, OpenOptions};
use kadenz::camera::layout::Order;
use kadenz::camera::ring;
use kadenz::camera::server::ring_name;
use pyo3::prelude::*;

use crate::{Time, error, opened, timeout, wait};

/// A camera, by its name or URL.
#[pyclass(module = "kadenz._kadenz")]
pub(crate) struct Camera(Opened);

#[pymethods]
impl Camera {
    #[new]
    fn new(py: Python<'_>, name_or_url: String, layout: &str, limit: Time) -> PyResult<Self> {
        let options = OpenOptions {
            layout: layout.parse().map_err(error)?,
            timeout: limit.duration()?,
            ..OpenOptions::default()
        };
        opened(py, move || Opened::open_with(&name_or_url, &options)).map(Self)
    }

    /// The newest frame, an error where it is older.
    fn latest(&mut self, max_age: Time) -> PyResult<Frame> {
        let frame = self.0.latest(max_age.duration()?);
        frame.map(|it| Frame::of(&it)).map_err(error)
    }

    /// The newest frame that was not returned yet; `None` where none came in time.
    fn next(&mut self, py: Python<'_>, limit: Option<Time>) -> PyResult<Option<Frame>> {
        let camera = &mut self.0;
        wait(py, timeout(limit)?, |slice| match camera.next(slice) {
            Ok(frame) => Ok(Some(Frame::of(&frame))),
            Err(FrameError::Timeout { .. }) => Ok(None),
            Err(other) => Err(error(other)),
        })
    }

    /// The path of the shared memory that holds the newest frames.
    fn memory(&self) -> String {
        let name = ring_name(self.0.name(), self.0.layout());
        let path = Path::new("/dev/shm").join(name);
        path.to_string_lossy().into_owned()
    }

    fn generation(&self) -> u64 {
        self.0.ring().generation()
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }
}

/// The position and the information of a frame. Times are those of `time.monotonic_ns`.
#[pyclass(frozen, get_all, module = "kadenz._kadenz")]
pub(crate) struct Frame {
    /// Its count in its ring.
    count: u64,
    /// Its number since the server's start; lost frames count.
    number: u64,
    /// Its offset from the beginning of the memory, in bytes.
    offset: usize,
    width: u32,
    height: u32,
    channels: usize,
    is_column_major: bool,
    age_ns: u64,
    captured_ns: Option<u64>,
    arrival_ns: u64,
    published_ns: u64,
    missed: u64,
    is_damaged: bool,
}

impl Frame {
    fn of(frame: &ring::Frame<'_>) -> Self {
        let (info, shape) = (frame.info(), frame.shape());
        let ns = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self {
            count: frame.count(),
            number: info.number,
            offset: frame.offset(),
            width: shape.size.width,
            height: shape.size.height,
            channels: shape.channels.count(),
            is_column_major: shape.order == Order::ColumnMajor,
            age_ns: ns(frame.age()),
            captured_ns: info.capture.map(|it| it.as_ns()),
            arrival_ns: info.arrival.as_ns(),
            published_ns: info.published.as_ns(),
            missed: info.missed,
            is_damaged: info.is_damaged,
        }
    }
}
