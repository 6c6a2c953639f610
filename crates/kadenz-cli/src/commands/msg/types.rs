//! Descriptions of message types: from the user, or from the publishers on the bus.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kadenz::msg::bus::Bus;
use kadenz::msg::log::record::Describe;
use kadenz::msg::message::Fingerprint;
use kadenz::msg::service::types_on_wire::KnownTypes;
use kadenz::msg::types::{Types, Value, ValueError};

/// Sources of the descriptions.
#[derive(Clone, Debug, Args)]
pub(in crate::commands) struct TypesOption {
    /// Folder or file of .lcm descriptions, by which messages are decoded (repeatable)
    #[arg(long, value_name = "FOLDER")]
    types: Vec<PathBuf>,

    /// Do not request unknown types on the bus: publish nothing at all
    #[arg(long, alias = "no-ask")]
    no_request_types: bool,
}

impl TypesOption {
    pub(super) fn read(&self) -> anyhow::Result<KnownTypes> {
        if self.types.is_empty() {
            return Ok(KnownTypes::default());
        }
        let types = Types::from_files(&self.types).context("`--types` cannot be used")?;
        anyhow::ensure!(
            !types.is_empty(),
            "the files of `--types` describe no type; name a folder of .lcm files"
        );
        Ok(KnownTypes::new(types))
    }

    /// The same, and requests missing types from the publishers on the bus.
    pub(super) fn read_and_request(&self, bus: &Bus) -> anyhow::Result<KnownTypes> {
        let mut known = self.read()?;
        if !self.no_request_types {
            // A bus that takes no questions has no answers.
            let _ = known.request_on(bus);
        }
        Ok(known)
    }

    /// The same for a command that needs types, and does not request them.
    pub(super) fn need(&self) -> anyhow::Result<KnownTypes> {
        ensure_some(self.read()?)
    }

    /// The same for a command that needs types, and requests missing ones.
    pub(super) fn need_or_request(&self, bus: &Bus) -> anyhow::Result<KnownTypes> {
        ensure_some(self.read_and_request(bus)?)
    }

    /// Describes messages in a log; messages wait for an answer for no longer than `longest`.
    pub(in crate::commands) fn describe(
        &self,
        bus: &Bus,
        longest: Duration,
    ) -> anyhow::Result<Describe> {
        Ok(self.read_and_request(bus)?.into_describe(longest))
    }
}

fn ensure_some(known: KnownTypes) -> anyhow::Result<KnownTypes> {
    anyhow::ensure!(
        known.any() || known.requests(),
        "say with `--types` which folder of .lcm files describes the messages"
    );
    Ok(known)
}

/// Decodes a message; the error names the reason and the remedy.
pub(super) fn decoded(known: &KnownTypes, payload: &[u8]) -> Result<Value, String> {
    known.decode(payload).map_err(|error| match error {
        _ if payload.len() < 8 => "fewer than 8 bytes: no LCM message".to_owned(),
        ValueError::UnknownFingerprint { .. } if known.types().is_empty() => {
            "give the folder of its .lcm file with `--types` to decode it".to_owned()
        }
        error => error.to_string(),
    })
}

/// The name of a type or else its fingerprint.
pub(super) fn called(name: Option<&str>, fingerprint: Option<Fingerprint>) -> String {
    match (name, fingerprint) {
        (Some(name), _) => name.to_owned(),
        (None, Some(fingerprint)) => fingerprint.to_string(),
        (None, None) => "-".to_owned(),
    }
}
