//! Runs a command in a network namespace of its own, whose interface `ec0` leads to a virtual segment.
//!
//! `cargo run --example beside_segment -- 59 my-master ec0` starts the humanoid; a TOML file in place of the
//! number starts the segment that it describes. The example needs root, and ends with the command's exit code, or
//! with 77 where rights are missing.
#![cfg_attr(
    target_os = "linux",
    allow(clippy::print_stderr, reason = "an example prints for its user")
)]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
    use std::path::Path;
    use std::process::{Command, ExitCode};

    use kadenz_ethercat::sim::beside::beside;
    use kadenz_ethercat::sim::file::SegmentPlan;
    use kadenz_ethercat::sim::humanoid::humanoid;
    use kadenz_rt::net::namespace::kill_with_this_thread;

    const NO_RIGHTS: u8 = 77;
    const USAGE: &str = "usage: beside_segment 59|FILE.toml COMMAND [ARGUMENTS]";

    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().ok_or(USAGE)?;
    let mut command = Command::new(arguments.next().ok_or(USAGE)?);
    command.args(arguments);
    kill_with_this_thread(&mut command);
    let plan = match what.parse() {
        Ok(devices) => humanoid(devices),
        Err(_) => SegmentPlan::read(Path::new(&what))?,
    };
    match beside(plan.build()?, "ec0", || command.status()) {
        Ok(status) => Ok(ExitCode::from(
            u8::try_from(status?.code().unwrap_or(1)).unwrap_or(1),
        )),
        Err(error) if error.is_refusal() => {
            eprintln!("{error}");
            Ok(ExitCode::from(NO_RIGHTS))
        }
        Err(error) => Err(error.into()),
    }
}
