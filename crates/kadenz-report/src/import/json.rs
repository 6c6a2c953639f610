//! JSON with errors that name line, column and cause.

use std::io::{BufRead, Read};

use serde::de::DeserializeOwned;

use super::ReadError;

/// A histogram in JSON of a program takes tens of KiB a thread.
const MAX_JSON: u64 = 256 << 20;

/// The whole of a small JSON file.
pub(super) fn read(source: &mut dyn BufRead, what: &'static str) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    source.take(MAX_JSON + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_JSON {
        return Err(ReadError::TooLarge {
            what,
            limit: MAX_JSON,
        });
    }
    Ok(bytes)
}

/// Understands JSON.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(bytes).map_err(error)
}

/// What serde_json says, with the place taken out of the sentence.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(super) fn error(error: serde_json::Error) -> ReadError {
    if let Some(kind) = error.io_error_kind() {
        return ReadError::Io(std::io::Error::new(kind, error.to_string()));
    }
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let cause = said.strip_suffix(&place).unwrap_or(&said).to_owned();
    ReadError::Json {
        line: error.line(),
        column: error.column(),
        cause,
    }
}

/// Whether `head` may begin a JSON object that holds all these keys early on.
pub(super) fn has_keys(head: &str, keys: &[&str]) -> bool {
    head.trim_start().starts_with('{')
        && keys.iter().all(|key| head.contains(&format!("\"{key}\"")))
}

/// The preemption model in what `uname -v` says.
pub(super) fn preemption(version: &str) -> Option<String> {
    let names = ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT"];
    names
        .into_iter()
        .find(|name| version.contains(name))
        .map(str::to_owned)
}
