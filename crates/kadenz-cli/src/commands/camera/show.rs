//! `kadenz camera show`: a picture into a file, or a page with the live one.

mod page;

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use kadenz::camera::client::Camera;
use kadenz::camera::layout::{Channels, Order};
use kadenz::camera::ring::Shape;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use super::ReaderOption;
use crate::commands::interrupt;
use crate::options::{Span, StdinOption};
use crate::output::{self, Outcome, Reply};

/// Show a camera's live picture and its age on a page of this machine, or save one picture.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz camera show front                                 a page at http://127.0.0.1:8520
  kadenz camera show rtsp://10.0.0.20/stream1 --png now.png
  kadenz camera show test://640x480@30 --layout gray@320x240 --png small.png")]
pub(crate) struct Options {
    #[command(flatten)]
    reader: ReaderOption,

    /// Save the newest picture, and end
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,

    /// Port of the page on 127.0.0.1 [default: 8520, or a free one]
    #[arg(long, value_name = "PORT", conflicts_with = "png")]
    port: Option<u16>,

    /// How long to serve the page [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    #[command(flatten)]
    ends: StdinOption,
}

/// The picture that was saved.
#[derive(JsonSchema, Serialize)]
pub(super) struct Saved {
    version: Version<1>,
    file: PathBuf,
    width: u32,
    height: u32,
    /// Number of the frame since the server's start.
    number: u64,
    /// Age of the frame when it was read from shared memory.
    age_ns: u64,
}

/// Port of the page unless the user states another.
const PORT: u16 = 8520;
/// Greatest age of the newest frame for a saved picture.
const MAX_AGE: Duration = Duration::from_secs(5);

pub(super) fn run(options: &Options) -> anyhow::Result<Reply> {
    anyhow::ensure!(
        options.reader.layout.order == Order::Interleaved,
        "a picture is shown in rows; take --layout rgb, bgr or gray"
    );
    let mut camera = options.reader.open()?;
    if let Some(file) = &options.png {
        return Ok(save(&mut camera, file)?.into());
    }
    let stop = options.ends.quiet_stop()?;
    let listener = listen(options.port)?;
    output::note(&format!(
        "the picture is at http://{} until Ctrl-C",
        listener.local_addr()?
    ));
    interrupt::stop_after(options.duration, &stop);
    page::serve(&listener, camera, &stop)?;
    Ok(Outcome::Kept.into())
}

/// Listens on the requested port, else on the default port, else on any free one.
fn listen(port: Option<u16>) -> anyhow::Result<TcpListener> {
    let at = |port: u16| TcpListener::bind(("127.0.0.1", port));
    match port {
        Some(port) => {
            at(port).with_context(|| format!("port {port} of 127.0.0.1; take another by --port"))
        }
        None => at(PORT)
            .or_else(|_| at(0))
            .context("cannot listen on 127.0.0.1"),
    }
}

fn save(camera: &mut Camera, file: &Path) -> anyhow::Result<Saved> {
    let frame = camera.latest(MAX_AGE)?;
    let (shape, info, age) = (frame.shape(), *frame.info(), frame.age());
    let bytes = frame.to_vec()?;
    let png = encode_png(&bytes, &shape)?;
    std::fs::write(file, png).with_context(|| {
        format!(
            "cannot write {}; name a file in a folder that is there",
            file.display()
        )
    })?;
    Ok(Saved {
        version: Version,
        file: file.to_owned(),
        width: shape.size.width,
        height: shape.size.height,
        number: info.number,
        age_ns: u64::try_from(age.as_nanos()).unwrap_or(u64::MAX),
    })
}

/// Encodes rows of interleaved pixels, 8-bit gray or RGB, as a PNG file (ISO/IEC 15948).
fn encode_png(bytes: &[u8], shape: &Shape) -> io::Result<Vec<u8>> {
    let row_bytes = shape.size.width as usize * shape.channels.count();
    let mut data = ZlibEncoder::new(Vec::new(), Compression::fast());
    let mut rgb = Vec::with_capacity(row_bytes);
    for row in bytes.chunks_exact(row_bytes) {
        // Each row begins with its filter type: none.
        data.write_all(&[0])?;
        rgb.clear();
        rgb.extend_from_slice(row);
        if shape.channels == Channels::Bgr {
            rgb.chunks_exact_mut(3).for_each(|pixel| pixel.swap(0, 2));
        }
        data.write_all(&rgb)?;
    }
    let colour = if shape.channels == Channels::Gray {
        0
    } else {
        2
    };
    let mut header = Vec::new();
    header.extend(shape.size.width.to_be_bytes());
    header.extend(shape.size.height.to_be_bytes());
    // 8 bits a sample; deflate, adaptive filters, no interlace.
    header.extend([8, colour, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    png_chunk(&mut file, b"IHDR", &header);
    png_chunk(&mut file, b"IDAT", &data.finish()?);
    png_chunk(&mut file, b"IEND", &[]);
    Ok(file)
}

fn png_chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    file.extend(length.to_be_bytes());
    let from = file.len();
    file.extend(kind);
    file.extend(data);
    let check = crc32fast::hash(&file[from..]);
    file.extend(check.to_be_bytes());
}

impl Answer for Saved {
    fn document(&self) -> Document {
        let age = numbers::span(self.age_ns as f64);
        let size = format!("{}x{}", self.width, self.height);
        format!(
            "{}: frame {} of {size}, {age} old",
            self.file.display(),
            self.number
        )
        .into()
    }
}
