//! What recurs, where it was searched for.

use crate::modes::told;
use crate::summary::Summary;

/// The modes of the series that are shown by themselves, as on a page, where they were searched; absent
/// where none was.
pub(super) fn modes(summary: &Summary) -> Option<String> {
    let searched = summary.by_themselves().filter_map(|it| it.modes.as_ref());
    let all: Vec<String> = searched.map(told).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}
