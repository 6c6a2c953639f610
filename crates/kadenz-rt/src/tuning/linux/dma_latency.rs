//! The wake-up latency that idle processors may cause.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};

use super::super::{Measure, Note};
use crate::host::Root;
use crate::host::idle::{LIMIT as DEVICE, nothing_to_hold_off};

/// The request holds for as long as the device is open.
#[derive(Debug)]
pub(crate) struct LatencyRequest {
    _device: File,
}

pub(crate) fn apply(latency_us: u32) -> (Measure, Option<LatencyRequest>) {
    let requested = format!("{latency_us} us");
    // Read before the request: afterwards this process itself holds a limit.
    let moot = nothing_to_hold_off(&Root::system());
    match hold(latency_us) {
        Ok((device, granted_us)) => {
            let ok = granted_us <= i64::from(latency_us);
            let granted = format!("{granted_us} us");
            let measure = Measure {
                name: "cpu_dma_latency",
                requested,
                granted,
                ok,
                reason: moot.map(|why| format!("it changes nothing: {why}")),
                remedy: None,
            };
            (measure, Some(LatencyRequest { _device: device }))
        }
        Err(error) => (refused(requested, &error), None),
    }
}

/// Writes the request and reads back the kernel's limit over all requests.
fn hold(latency_us: u32) -> io::Result<(File, i64)> {
    let mut device = OpenOptions::new().read(true).write(true).open(DEVICE)?;
    let latency = i32::try_from(latency_us).unwrap_or(i32::MAX);
    device.write_all(&latency.to_ne_bytes())?;
    let mut in_force = [0; 4];
    device.read_exact(&mut in_force)?;
    Ok((device, i64::from(i32::from_ne_bytes(in_force))))
}

fn refused(requested: String, error: &io::Error) -> Measure {
    let (reason, remedy) = match error.kind() {
        io::ErrorKind::PermissionDenied => (
            format!("{DEVICE} may not be opened by this user"),
            format!("sudo setfacl -m u:$USER:rw {DEVICE} (until the next boot), or run as root"),
        ),
        io::ErrorKind::NotFound => (
            format!(
                "{DEVICE} is not there: the kernel was built without PM QoS, or a container hides it"
            ),
            "in a container add --device=/dev/cpu_dma_latency".to_owned(),
        ),
        _ => (format!("{DEVICE}: {error}"), format!("ls -l {DEVICE}")),
    };
    let note = Note::new(reason, remedy);
    Measure::noted(
        "cpu_dma_latency",
        requested,
        "no request held",
        false,
        Some(note),
    )
}
