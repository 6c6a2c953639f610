//! `run.json`: written at one stroke, read with bounds.

use std::io::{self, Read};
use std::path::Path;

use super::error::OpenRunError;
use super::inside;
use crate::run::disk::Disk;
use crate::run::labels::label_by_names;
use crate::run::model::{FORMAT_VERSION, Run};

pub(super) const RUN_JSON: &str = "run.json";
/// Most bytes of a `run.json`: one of [`MAX_SERIES`](super::MAX_SERIES) series, with the tuning of each, is
/// smaller. Read, it takes up to about twenty times its bytes of memory.
const MAX_RUN_JSON: u64 = 8 << 20;

/// Replaces `run.json`.
pub(super) fn write(disk: &dyn Disk, path: &Path, run: &Run, durable: bool) -> io::Result<()> {
    let mut json = serde_json::to_vec_pretty(run)?;
    json.push(b'\n');
    disk.replace(path, &json, durable)
}

/// Reads the `run.json` of a folder. What it names can be trusted to stay inside the folder.
pub(super) fn read(dir: &Path) -> Result<Run, OpenRunError> {
    let path = dir.join(RUN_JSON);
    let unreadable = |source| OpenRunError::Unreadable {
        path: path.clone(),
        source,
    };
    let mut bytes = Vec::new();
    let file = inside::open(dir, RUN_JSON).map_err(unreadable)?;
    file.take(MAX_RUN_JSON + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let mut run = parse(&bytes, &path)?;
    inside::check(&run, &path)?;
    label_by_names(&mut run);
    Ok(run)
}

/// Understands the bytes of a `run.json`.
fn parse(bytes: &[u8], path: &Path) -> Result<Run, OpenRunError> {
    if bytes.is_empty() {
        return Err(OpenRunError::NeverBegan {
            path: path.to_owned(),
        });
    }
    let malformed = |cause: String| OpenRunError::Malformed {
        path: path.to_owned(),
        cause,
    };
    if bytes.len() as u64 > MAX_RUN_JSON {
        return Err(OpenRunError::TooLarge {
            path: path.to_owned(),
            has: "more bytes".to_owned(),
            limit: format!("{} MiB", MAX_RUN_JSON >> 20),
        });
    }
    let version = serde_json::from_slice::<Version>(bytes).map_err(|e| malformed(e.to_string()))?;
    if version.version > FORMAT_VERSION {
        return Err(OpenRunError::Newer {
            path: path.to_owned(),
            version: version.version,
        });
    }
    serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))
}

/// What every version of the format has.
#[derive(serde::Deserialize)]
struct Version {
    version: u32,
}
