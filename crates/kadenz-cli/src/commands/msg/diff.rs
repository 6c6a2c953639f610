//! `kadenz msg diff`: which change of a type breaks which peer.

use std::path::PathBuf;

use clap::Args;
use kadenz_msg::types::Types;
use kadenz_msg::types::change::{Change, TypeChange, changes, changes_of};
use serde_json::json;

use crate::output::{self, Outcome};

/// Do programs with the old and programs with the new .lcm files still understand each other?
///
/// Says for each type what changed, and whether its fingerprint did: then neither side decodes the
/// other's messages. Exit code 1 if one broke.
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

    /// .lcm file or folder after it, or of the other
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// One type, and what it is made of, only
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
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
    // What only one side has is no disagreement.
    let broken = |it: &TypeChange| it.breaks() && it.old.is_some() && it.new.is_some();
    let breaks = all.iter().any(broken);
    if output::is_json() {
        let types: Vec<_> = all.iter().map(TypeChange::to_json).collect();
        output::json(&json!({"version": 1, "breaks": breaks, "types": types}))?;
    } else if all.is_empty() {
        output::say("nothing changed");
    } else {
        all.iter().for_each(tell);
    }
    Ok(if breaks {
        Outcome::Missed
    } else {
        Outcome::Kept
    })
}

fn tell(it: &TypeChange) {
    let word = match (it.old, it.new) {
        (None, _) => "new".to_owned(),
        (_, None) => "gone".to_owned(),
        (Some(old), Some(new)) if old != new => format!("BREAKS, {old} > {new}"),
        (Some(_), Some(_)) if it.changes.iter().any(Change::misleads) => {
            "is still decoded, but MISLEADS".to_owned()
        }
        _ => "stays compatible".to_owned(),
    };
    output::say(&format!("{}: {word}", it.name));
    for change in &it.changes {
        output::say(&format!("  {change}"));
    }
    for part in &it.through {
        output::say(&format!("  through {part}, which it is made of"));
    }
}
