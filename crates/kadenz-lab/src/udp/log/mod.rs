//! The logging server: measurements of many controllers in one run.
//!
//! One thread receives and records; it allocates nothing, takes no lock and waits for no disk. What
//! must wait is done by others: the run's writer thread persists, and a registrar makes the files of
//! a device that is heard for the first time. Until it has, the device's own values wait in a bounded
//! place; the series of all devices have them at once.
//!
//! A controller is welcomed when it has shown that it receives at the address that it sends from. Until then
//! nothing of it is kept and no file is made for it ([`kadenz_udp::record::Introduction`]).
//!
//! Memory is bounded whatever comes: so many streams, so many devices, so many waiting values. What
//! finds no place is counted.

mod experiment;
mod server;
mod streams;

use std::sync::mpsc::{Receiver, SyncSender};

use kadenz_record::run::folder::{RunningRun, SeriesRecorder, SeriesSpec};
use kadenz_record::run::labels::{DEVICE, VALUE, labels};
use kadenz_record::run::model::{Kind, Series, Warning};
use kadenz_record::run::network::RTT;

pub use experiment::{LogPlan, log};

// Makes the series of a device that is heard for the first time: a thread that may wait.

/// A device was heard that has no series yet.
#[derive(Debug)]
struct Request {
    /// Where it stands among the server's devices.
    place: usize,
    /// Its name.
    device: String,
    /// What its values are, in words.
    description: String,
}

/// The series of a device.
#[derive(Debug)]
struct Granted {
    place: usize,
    recorder: SeriesRecorder,
}

/// Serves requests until nobody can make any.
fn serve(
    running: &RunningRun,
    requests: &Receiver<Request>,
    granted: &SyncSender<Granted>,
    raw: bool,
) {
    for request in requests {
        let series = Series {
            name: format!("{}.{RTT}", request.device),
            labels: labels([(VALUE, RTT), (DEVICE, &request.device)]),
            description: request.description,
            kind: Kind::Latency,
            unit: "ns".to_owned(),
            ..Series::default()
        };
        match running.series(SeriesSpec { series, raw }) {
            Ok(recorder) => {
                let place = request.place;
                // Full only if the server has ended.
                let _ = granted.try_send(Granted { place, recorder });
            }
            Err(error) => running.add_warning(Warning {
                id: "series_refused".to_owned(),
                text: format!("a device has no series of its own: {error}"),
                remedy: Some("its values stand in the series of all devices".to_owned()),
                ..Warning::default()
            }),
        }
    }
}
