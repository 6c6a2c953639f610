use std::path::Path;

use super::{SummariseError, Summary, SummaryOptions};
use crate::import::{ImportError, write_run};

/// States a deadline for every series of an imported run, and counts its misses: exactly where there are
/// samples, else to the resolution of the histograms. Gives back what the run says then.
///
/// # Errors
/// [`SummariseError`] where the run cannot be read again or its `run.json` not be written.
pub fn state_deadline(run: &Path, deadline_ns: u64) -> Result<Summary, SummariseError> {
    let options = SummaryOptions {
        deadline_ns: Some(deadline_ns),
        ..SummaryOptions::default()
    };
    let mut summary = Summary::of_run_with(run, options)?;
    summary.run.series = summary.series.iter().map(|it| it.series.clone()).collect();
    let store = |source| ImportError::Store {
        folder: run.to_owned(),
        source,
    };
    write_run(run, &summary.run).map_err(store)?;
    Ok(summary)
}
