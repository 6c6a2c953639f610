//! `kadenz msg diff`: shows which change of a type breaks which peer.

use std::path::PathBuf;

use clap::Args;
use kadenz::msg::message::Fingerprint;
use kadenz::msg::types::Types;
use kadenz::msg::types::change::{Change, TypeChange, changes, changes_of};
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Outcome, Reply};

/// Check whether programs with the old and the new .lcm files still understand each other
///
/// Prints for each type what changed, and whether its fingerprint did: then neither side decodes the other's
/// messages. Exit code 1 if a type broke.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg diff old/types types                       all types of two folders
  kadenz msg diff robot-a.lcm robot-b.lcm --name robot.state
  git show HEAD~1:pose.lcm > /tmp/pose.lcm; kadenz msg diff /tmp/pose.lcm pose.lcm")]
pub(crate) struct Options {
    /// .lcm file or folder before the change, or of one peer
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// .lcm file or folder after the change, or of the other peer
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// One type with its closure only
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Differences {
    version: Version<1>,
    breaks: bool,
    types: Vec<ChangedType>,
}

#[derive(JsonSchema, Serialize)]
struct ChangedType {
    name: String,
    old_fingerprint: Option<Fingerprint>,
    new_fingerprint: Option<Fingerprint>,
    breaks: bool,
    changes: Vec<ChangedMember>,
    /// Members whose types changed, where the type itself did not.
    through: Vec<String>,
    /// Whether messages are still decoded, but with another meaning, for people.
    #[serde(skip)]
    misleads: bool,
}

#[derive(JsonSchema, Serialize)]
struct ChangedMember {
    kind: &'static str,
    member: Option<String>,
    breaks: bool,
    text: String,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let old = Types::from_files([&options.old])?;
    let new = Types::from_files([&options.new])?;
    let all = match &options.name {
        None => changes(&old, &new),
        Some(name) => {
            anyhow::ensure!(
                old.get(name).is_some() || new.get(name).is_some(),
                "neither has a type {name}; `kadenz msg type` lists what there is"
            );
            changes_of(name, &old, &new)
        }
    };
    // A type on one side only is not a contradiction.
    let broken = |it: &TypeChange| it.breaks() && it.old.is_some() && it.new.is_some();
    let breaks = all.iter().any(broken);
    let reply = Reply::from(Differences {
        version: Version,
        breaks,
        types: all.iter().map(ChangedType::of).collect(),
    });
    Ok(reply.with(Outcome::missed_if(breaks)))
}

impl Answer for Differences {
    fn document(&self) -> Document {
        if self.types.is_empty() {
            return "nothing changed".to_owned().into();
        }
        Document::new().sentences(self.types.iter().flat_map(ChangedType::lines))
    }
}

impl ChangedType {
    fn of(change: &TypeChange) -> Self {
        let changes = change.changes.iter().map(|it| ChangedMember {
            kind: it.kind(),
            member: it.member().map(str::to_owned),
            breaks: it.breaks(),
            text: it.to_string(),
        });
        Self {
            name: change.name.to_string(),
            old_fingerprint: change.old,
            new_fingerprint: change.new,
            breaks: change.breaks(),
            changes: changes.collect(),
            through: change.through.iter().map(ToString::to_string).collect(),
            misleads: change.changes.iter().any(Change::misleads),
        }
    }

    fn lines(&self) -> Vec<String> {
        let word = match (self.old_fingerprint, self.new_fingerprint) {
            (None, _) => "new".to_owned(),
            (_, None) => "gone".to_owned(),
            (Some(old), Some(new)) if old != new => format!("BREAKS, {old} > {new}"),
            _ if self.misleads => "is still decoded, but MISLEADS".to_owned(),
            _ => "stays compatible".to_owned(),
        };
        let changes = self.changes.iter().map(|it| format!("  {}", it.text));
        let through = self.through.iter();
        let through = through.map(|part| format!("  through {part}, which it is made of"));
        let head = std::iter::once(format!("{}: {word}", self.name));
        head.chain(changes).chain(through).collect()
    }
}
