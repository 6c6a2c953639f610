//! Makes the series of a device that is heard for the first time: a thread that may wait.

use std::sync::mpsc::{Receiver, SyncSender};

use kadenz_record::run::folder::{RunningRun, SeriesRecorder, SeriesSpec};
use kadenz_record::run::labels::{DEVICE, VALUE, labels};
use kadenz_record::run::model::{Kind, Series, Warning};
use kadenz_record::run::network::RTT;

/// A device was heard that has no series yet.
#[derive(Debug)]
pub(super) struct Request {
    /// Where it stands among the server's devices.
    pub(super) place: usize,
    /// Its name.
    pub(super) device: String,
    /// What its values are, in words.
    pub(super) description: String,
}

/// The series of a device.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) place: usize,
    pub(super) recorder: SeriesRecorder,
}

/// Serves requests until nobody can make any.
pub(super) fn serve(
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
            }),
        }
    }
}
