//! Where there are no socket pairs.

use crate::load::rates::Tally;
use crate::load::workers::{Trouble, Workers};
use crate::load::{LoadKind, StartLoadError};

pub(super) fn spawn(
    _workers: &mut Workers,
    _groups: usize,
    _messages: &Tally,
    _trouble: &Trouble,
) -> Result<(), StartLoadError> {
    let missing = "socket pairs";
    Err(StartLoadError::Unsupported(LoadKind::Processes, missing))
}
