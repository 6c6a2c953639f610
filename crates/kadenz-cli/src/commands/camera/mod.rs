//! `kadenz camera`, one file per command.

mod bench;
mod list;
mod record;
mod serve;
mod show;
mod sim;

use clap::{Args, ValueEnum};
use kadenz::camera::client::{Camera, OpenOptions};
use kadenz::camera::layout::Layout;
use kadenz::camera::server::OpenSource;
use kadenz::camera::source::{self, NetworkOptions};
use kadenz::camera::wire::rtsp::Transport;

use crate::options::{Span, waiting};

#[cfg(all(test, target_os = "linux"))]
use crate::commands::outcome::Measures;

commands! {
    /// Serve the newest frame of a camera in the layout a program wants, and measure its age
    ///
    /// A URL is rtsp://, http:// (MJPEG), /dev/video0 or test://1920x1080@30. Programs, also in other languages, open
    /// what `serve` serves by its name (docs/camera-ring.md).
    enum CameraCommand in camera {
        Serve(Box<serve::Options>) = serve::run => "serve": serve::CameraServeReport;
        List(list::Options) = list::run => "list": list::Cameras;
        Show(Box<show::Options>) = show::run => "show": show::Saved;
        Record(Box<record::Record>) = record::record => "record": Measures;
        Doctor(Box<record::Doctor>) = record::doctor => "doctor": Measures;
        Bench(Box<bench::Options>) = bench::run => "bench": bench::HandOvers;
        Sim(Box<sim::Options>) = sim::run => "sim": sim::Simulated;
    }
}

/// How to reach a camera.
#[derive(Clone, Debug, Args)]
struct SourceOption {
    /// How long to wait for a connection, for each answer and for the first frame
    #[arg(long, value_name = "SPAN", default_value = "10s")]
    timeout: Span,

    /// Transport of the packets of rtsp://
    #[arg(long, value_name = "TRANSPORT", default_value = "tcp")]
    transport: TransportOption,

    /// How long a camera may send nothing before it counts as lost and is opened again
    #[arg(long, value_name = "SPAN", default_value = "5s")]
    silence: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TransportOption {
    /// On the RTSP connection: no packet is lost, but a lost segment delays the packets behind it
    Tcp,
    /// As datagrams: no packet waits for a lost one
    Udp,
}

impl From<TransportOption> for Transport {
    fn from(option: TransportOption) -> Self {
        match option {
            TransportOption::Tcp => Self::Tcp,
            TransportOption::Udp => Self::Udp,
        }
    }
}

impl SourceOption {
    fn options(&self) -> NetworkOptions {
        NetworkOptions {
            transport: self.transport.into(),
            timeout: self.timeout.0,
            silence: self.silence.0,
            ..NetworkOptions::default()
        }
    }
}

/// A camera to read from.
#[derive(Clone, Debug, Args)]
struct ReaderOption {
    /// Its URL, or the name under which `kadenz camera serve` serves it
    #[arg(value_name = "URL|NAME")]
    camera: String,

    /// The layout of the frames: rgb, bgr, gray, or with -column-major as MATLAB has it; then a region
    /// [WIDTHxHEIGHT+LEFT+TOP] and a size @WIDTHxHEIGHT where wanted
    #[arg(long, value_name = "LAYOUT", default_value = "rgb")]
    layout: Layout,

    #[command(flatten)]
    source: SourceOption,
}

impl ReaderOption {
    /// Opens the camera and waits for its first frame.
    fn open(&self) -> anyhow::Result<Camera> {
        self.open_by(|options| Ok(Camera::open_with(&self.camera, options)?))
    }

    /// Opens the camera's URL; `through` wraps the source of its pictures.
    fn open_through(
        &self,
        through: impl FnOnce(OpenSource) -> anyhow::Result<OpenSource>,
    ) -> anyhow::Result<Camera> {
        let (url, source) = (self.camera.clone(), self.source.options());
        let open = through(Box::new(move || source::open(&url, &source)))?;
        let shown = source::without_credentials(&self.camera);
        self.open_by(|options| Ok(Camera::serve(open, &shown, options)?))
    }

    fn open_by(
        &self,
        open: impl FnOnce(&OpenOptions) -> anyhow::Result<Camera>,
    ) -> anyhow::Result<Camera> {
        let options = OpenOptions {
            layout: self.layout,
            timeout: self.source.timeout.0,
            source: self.source.options(),
        };
        let shown = source::without_credentials(&self.camera);
        let words = format!("waiting for the first frame of {shown}");
        waiting(&words, || open(&options))
    }
}
