//! Kadenz as a library: a periodic loop that records its lateness, messages between a robot's programs, and the reports
//! of runs, alone and compared. Users and bindings may rely on the names of this crate; the crates behind it are
//! modules here, and change more often.
//!
//! # A periodic loop
//! ```no_run
#![doc = include_str!("../../../examples/periodic.rs")]
//! ```
//! It prints the percentiles of the lateness and the misses of the deadline, and leaves a run that `kadenz show run`
//! reads. Where a permission is missing, the loop runs without the setting that needs it, and the run has a warning
//! with the remedy.
#![cfg_attr(
    feature = "messages",
    doc = "
# Typed messages
```no_run"
)]
#![cfg_attr(feature = "messages", doc = include_str!("../../../examples/messages.rs"))]
#![cfg_attr(
    feature = "messages",
    doc = "```
Without `LCM_DEFAULT_URL` the bus is LCM's multicast on this host; unmodified LCM programs take part.
[`Message`](macro@Message) derives the type, or `kadenz msg gen` writes it from a `.lcm` file.
"
)]
#![cfg_attr(
    feature = "ethercat",
    doc = "
# A fieldbus
```no_run"
)]
#![cfg_attr(feature = "ethercat", doc = include_str!("../../../examples/ethercat.rs"))]
#![cfg_attr(
    feature = "ethercat",
    doc = "```
The segment is virtual, and needs neither hardware nor rights. The law is called once a cycle; devices are supervised
beside it, and left in PREOP at the end. See [`ethercat`].
"
)]
#![cfg_attr(
    all(feature = "camera", target_os = "linux"),
    doc = "
# A camera
```no_run"
)]
#![cfg_attr(all(feature = "camera", target_os = "linux"), doc = include_str!("../../../examples/camera.rs"))]
#![cfg_attr(
    all(feature = "camera", target_os = "linux"),
    doc = "```
Threads receive, decode and convert; the loop takes the newest frame out of shared memory, or an error where it is too
old. What `kadenz camera serve` serves is opened by its name. See [`camera`].
"
)]
#![cfg_attr(
    feature = "report",
    doc = "
# What was measured
```no_run"
)]
#![cfg_attr(feature = "report", doc = include_str!("../../../examples/compare.rs"))]
#![cfg_attr(
    feature = "report",
    doc = "```
"
)]
//! # Names
//!
//! | name | what it is | feature |
//! |---|---|---|
//! | [`Periodic`], [`Ticks`], [`Tick`] | a periodic loop, as an iterator | |
//! | [`Tuning`] | what a loop asks of the machine: priority, locked memory, CPUs | |
//! | [`Recording`], [`Recorded`] | a run while it is written, and what it came to | |
//! | [`Durations`] | a series of durations of a run: a probe of your own | |
//! | [`Result`], [`Error`] | what `main` returns, so that it prints the sentence of an error | |
//! | [`RecordTicksError`], [`CreateRecordingError`], [`FinishRecordingError`] | why a run was not written | |
//! | `Bus`, `Message` | publish, subscribe, and the types of messages: a trait and its derive macro | `messages` |
//! | `read`, `compare` | a run that was written, and two of them side by side | `report` |
//! | [`rt`], [`record`] | clocks, sleepers and tuning; recorder and run folder | |
//! | `msg`, `report` | all of messages and of reports | as `Bus`, as `read` |
//! | `Camera`, `CameraGroup` | the newest frame of a camera, with its age; of several, taken together | `camera` |
//! | `camera` | all of cameras (Linux) | `camera` |
//! | `lab`, `udp` | the experiments; the device protocol | of the same name |
//! | `ethercat` | a fieldbus that a control law drives, by the names below; and all of `kadenz-ethercat` | `ethercat` |
//! | `Network`, `NetworkBuilder`, `Missing` | a segment that is brought up, and the options of that | `ethercat` |
//! | `Flow`, `Io` | what the control law returns, and what it reads and writes by | `ethercat` |
//! | `Drive`, `Goal`, `DriveState`, `OperationMode`, `Controlword`, `Statusword` | a drive of CiA 402 | `ethercat` |
//! | `Device`, `Input`, `Output`, `ObjectValue`, `Value`, `ValueType` | devices, their objects, values | `ethercat` |
//! | `NetworkLoop`, `RunningNetwork`, `NetworkState`, `StopHandle` | the loop, on your thread or in the background | `ethercat` |
//! | `SharedValues`, `SharedInput`, `SharedOutput` | values of a loop in the background, for any thread | `ethercat` |
//! | `SharedNetwork`, `SharedNetworkOptions` | a network that several threads call, as bindings need | `ethercat` |
//! | `DeviceSetup`, `AccessObjectError` | a device during its set-up; why an object was not read or written | `ethercat` |
//! | `NetworkMonitor`, `NetworkEvent`, `Readers` | what other threads and programs see of a loop | `ethercat` |
//! | `NetworkReport`, `AxesReport`, `AxisReport` | what the loop came to, and its axes | `ethercat` |
//! | `RunRecording`, `CycleSeries` | the loop's series in a run | `ethercat` |
//! | `OpenNetworkError`, `BringUpNetworkError`, `RunNetworkError`, `SharedNetworkError` | why it failed | `ethercat` |
//! | `LookUpError`, `SetValueError`, `ParseTypeError` | why there is no such object, value or type | `ethercat` |
//!
//! `messages` and `report` are on by default; a loop and a recorder need neither
//! (`default-features = false`). `shm`, `zenoh` and `dds` add providers to the bus, `parquet` and
//! `rosbag2-sqlite` formats to its logs; `h264` and `ffmpeg` decoders to cameras; `schema` describes what is serialised.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod error;
#[cfg(feature = "ethercat")]
pub mod ethercat;
mod machine;
mod periodic;
mod recorded;
mod recording;

pub use kadenz_record as record;
pub use kadenz_rt as rt;

#[cfg(all(feature = "camera", target_os = "linux"))]
pub use kadenz_camera as camera;
#[cfg(feature = "lab")]
pub use kadenz_lab as lab;
#[cfg(feature = "messages")]
pub use kadenz_msg as msg;
#[cfg(feature = "report")]
pub use kadenz_report as report;
#[cfg(feature = "udp")]
pub use kadenz_udp as udp;

pub use error::{Error, Result};
#[cfg(all(feature = "camera", target_os = "linux"))]
pub use kadenz_camera::{Camera, CameraGroup};
#[cfg(feature = "messages")]
pub use kadenz_derive::Message;
#[cfg(feature = "messages")]
pub use kadenz_msg::{bus::Bus, message::Message};
pub use kadenz_rt::tuning::Tuning;
pub use periodic::{Periodic, RecordTicksError, Tick, Ticks};
pub use recorded::Recorded;
pub use recording::{CreateRecordingError, Durations, FinishRecordingError, Recording};

/// The programs of the cameras' page compile.
#[cfg(all(doctest, feature = "camera", feature = "messages", target_os = "linux"))]
#[doc = include_str!("../../../docs/camera.md")]
mod camera_page {}

/// The programs of the fieldbus's page compile.
#[cfg(all(doctest, feature = "ethercat"))]
#[doc = include_str!("../../../docs/ethercat.md")]
mod ethercat_page {}

#[cfg(feature = "report")]
use kadenz_report::{
    compare::{CompareOptions, Comparison},
    summary::{SummariseError, Summary, SummaryOptions},
};

/// Reads a run folder, or a file of another program that `kadenz import` takes.
///
/// # Errors
/// [`SummariseError`] where there is no such run or file, or it cannot be read.
#[cfg(feature = "report")]
pub fn read(path: impl AsRef<std::path::Path>) -> Result<Summary, SummariseError> {
    Summary::of(path, SummaryOptions::default())
}

/// Compares a run with a baseline. [`Comparison::significant`] holds the differences beyond chance.
///
/// Reads the logs once more, for the confidence intervals of the ratios.
#[cfg(feature = "report")]
#[must_use]
pub fn compare(baseline: &Summary, candidate: &Summary) -> Comparison {
    let runs = [baseline.clone(), candidate.clone()];
    Comparison::new(&runs, &CompareOptions::default())
}
