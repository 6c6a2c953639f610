//! `kadenz man`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use crate::output::{self, Outcome};

/// Write the manual pages.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz man | man -l -                      read the page of the program
  kadenz man --out ~/.local/share/man/man1   install a page for each command")]
pub(crate) struct Options {
    /// Folder for one page per command [default: the program's page on standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    if let Some(folder) = &options.out {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(crate::command(), folder))
            .with_context(|| {
                format!(
                    "cannot write manual pages to {}; choose a folder that you may write to",
                    folder.display()
                )
            })?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(crate::command()).render(&mut page)?;
        output::say(&String::from_utf8(page)?);
    }
    Ok(Outcome::Kept)
}
