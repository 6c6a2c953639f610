//! A topology from the user's argument: a built-in one, or a file.

use std::path::Path;

use anyhow::Context as _;
use kadenz::lab::testbed::topology::{READY, Topology, limits, ready};

/// The names of the built-in topologies.
pub(super) fn built_in() -> impl Iterator<Item = &'static str> {
    READY.iter().map(|(name, _)| *name)
}

/// The text of a topology.
fn text(named: &str) -> anyhow::Result<String> {
    if let Some(text) = ready(named) {
        return Ok(text.to_owned());
    }
    let path = Path::new(named);
    let size = std::fs::metadata(path).with_context(|| {
        let known: Vec<&str> = built_in().collect();
        format!(
            "`{named}` is neither a file nor a built-in topology ({})",
            known.join(", ")
        )
    })?;
    anyhow::ensure!(
        size.is_file() && size.len() <= limits::FILE as u64,
        "{named} is not a valid topology: it is not a file of at most {} bytes",
        limits::FILE
    );
    std::fs::read_to_string(path).with_context(|| format!("cannot read {named}"))
}

/// The validated topology.
pub(super) fn topology(named: &str) -> anyhow::Result<Topology> {
    Ok(with_text(named)?.1)
}

/// The topology with its text, from one read: if the file changes meanwhile, the text beside the run must still be
/// that of the run's topology.
pub(super) fn with_text(named: &str) -> anyhow::Result<(String, Topology)> {
    let text = text(named)?;
    let topology =
        Topology::parse(&text).with_context(|| format!("{named} is not a valid topology"))?;
    Ok((text, topology))
}
