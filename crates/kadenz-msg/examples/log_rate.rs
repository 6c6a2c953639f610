//! Measures how many bytes a second this machine records: `log_rate FILE MB_PER_SECOND SECONDS
//! [none|lz4|zstd]`.
//!
//! Messages of 10 kB are recorded at an even rate on ten channels; half of each is noise, as in a camera's
//! image. The program prints the number of dropped messages.
#![allow(clippy::print_stdout, reason = "an example speaks")]

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use kadenz_msg::channel::Channel;
use kadenz_msg::log::LoggedChannel;
use kadenz_msg::log::record::{RecordOptions, Recorder};
use kadenz_rt::beat::Beat;
use kadenz_rt::clock::{self, WallTime};
use kadenz_rt::sleep::{self, SleeperKind, SleeperOptions};

const MESSAGE_BYTES: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [file, rate, seconds, rest @ ..] = &given[..] else {
        return Err("log_rate FILE MB_PER_SECOND SECONDS [none|lz4|zstd]".into());
    };
    let compression = rest.first().map_or("lz4", String::as_str).parse()?;
    let per_second = rate.parse::<f64>()? * 1e6 / MESSAGE_BYTES as f64;
    let count = (per_second * seconds.parse::<f64>()?) as u64;
    let options = RecordOptions {
        compression,
        overwrite: true,
        ..RecordOptions::default()
    };
    let describe = Box::new(|channel: &Channel, _| LoggedChannel::lcm(channel.as_str()));
    let mut recorder = Recorder::start(Path::new(file), &options, describe)?;
    let channels: Result<Vec<Channel>, _> =
        (0..10).map(|n| Channel::new(&format!("C{n}"))).collect();
    let channels = channels?;
    let mut payload = vec![0_u8; MESSAGE_BYTES];
    let mut sleeper = sleep::open(SleeperKind::recommended(), SleeperOptions::default())?;
    let begun = clock::now();
    // A millisecond's messages at a time, as a socket delivers them.
    let mut beat = Beat::new(begun, Duration::from_millis(1));
    let mut noise = 1_u64;
    for n in 0..count {
        if n as f64 >= per_second * beat.index() as f64 / 1000.0 {
            sleeper.sleep_until(beat.next());
        }
        for word in payload[..MESSAGE_BYTES / 2].chunks_exact_mut(8) {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            word.copy_from_slice(&noise.to_be_bytes());
        }
        recorder.record(
            &channels[(n % 10) as usize],
            &payload,
            WallTime::now(),
            None,
        );
    }
    let offered = clock::now().since(begun) as f64 / 1e9;
    let recorded = recorder.finish();
    let length = std::fs::metadata(file)?.len();
    println!(
        "offered {:.1} MB/s for {offered:.1} s; {} messages written, {} dropped; file {:.1} MB/s",
        count as f64 * MESSAGE_BYTES as f64 / 1e6 / offered,
        recorded.written(),
        recorded.dropped(),
        length as f64 / 1e6 / offered,
    );
    Ok(())
}
