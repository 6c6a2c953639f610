//! A virtual segment on a network interface, for any MainDevice.
//!
//! `cargo run --example segment_on_interface -- veth1 59` puts the humanoid there; a TOML file in place of the
//! number puts the segment there that it describes. The example needs the right to raw frames (root).
#![allow(clippy::print_stdout, reason = "an example prints for its user")]

use std::path::Path;

use kadenz_ethercat::port::{InterfacePort, WaitMode};
use kadenz_ethercat::sim::file::SegmentPlan;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::serve::{Pace, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let interface = arguments
        .next()
        .ok_or("which interface? For example veth1")?;
    let what = arguments.next().unwrap_or_else(|| "59".to_owned());
    let plan = match what.parse() {
        Ok(devices) => humanoid(devices),
        Err(_) => SegmentPlan::read(Path::new(&what))?,
    };
    let segment = plan.build()?;
    println!("{} devices on {interface}; Ctrl-C ends", segment.len());
    let port = InterfacePort::open(&interface, WaitMode::Blocking)?;
    let mut server = Server::new(port, segment, Pace::AtOnce);
    loop {
        server.step()?;
    }
}
