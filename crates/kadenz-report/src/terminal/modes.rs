//! What recurs, where it was searched for.

use crate::modes::told;
use crate::summary::Summary;

/// The modes of every series that was searched; absent where none was.
pub(super) fn modes(summary: &Summary) -> Option<String> {
    let searched = summary.series.iter().filter_map(|it| it.modes.as_ref());
    let all: Vec<String> = searched.map(told).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}
