//! What is known of the types of messages: their descriptions, given by the user.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz::msg::message::Fingerprint;
use kadenz::msg::types::{Types, Value};

/// Where the descriptions are.
#[derive(Clone, Debug, Args)]
pub(super) struct TypesOption {
    /// Folder or file of .lcm descriptions, by which messages are decoded; may be given again
    #[arg(long, value_name = "FOLDER")]
    types: Vec<PathBuf>,
}

/// The types that were given.
#[derive(Debug, Default)]
pub(super) struct Known {
    types: Types,
}

impl TypesOption {
    pub(super) fn read(&self) -> anyhow::Result<Known> {
        if self.types.is_empty() {
            return Ok(Known::default());
        }
        let types = Types::from_files(&self.types).context("`--types` cannot be used")?;
        Ok(Known { types })
    }

    /// The same where a command cannot do without.
    pub(super) fn need(&self) -> anyhow::Result<Known> {
        anyhow::ensure!(
            !self.types.is_empty(),
            "say with `--types` which folder of .lcm files describes the messages"
        );
        self.read()
    }
}

impl Known {
    /// All of them.
    pub(super) fn types(&self) -> &Types {
        &self.types
    }

    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        !self.types.is_empty()
    }

    /// The name of the type of a fingerprint, where one of them has it; of several that LCM does not
    /// tell apart, the first.
    pub(super) fn name(&self, fingerprint: Option<Fingerprint>) -> Option<String> {
        let mut of = self.types.by_fingerprint(fingerprint?);
        Some(of.next()?.name().to_string())
    }

    /// The name of a type or else its fingerprint, for a table.
    pub(super) fn called(&self, fingerprint: Option<Fingerprint>) -> String {
        let known = self.name(fingerprint);
        known.unwrap_or_else(|| fingerprint.map_or_else(|| "-".to_owned(), |it| it.to_string()))
    }

    /// Decodes a message, or says why not and what helps.
    pub(super) fn decode(&self, payload: &[u8]) -> Result<Value, String> {
        if !self.any() {
            return Err(
                "give the folder of its .lcm file with `--types` to see what it says".into(),
            );
        }
        if payload.len() < 8 {
            return Err("fewer than 8 bytes: no LCM message".to_owned());
        }
        self.types.decode(payload).map_err(|it| it.to_string())
    }
}
