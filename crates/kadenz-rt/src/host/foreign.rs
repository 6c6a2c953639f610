//! Facts on systems other than Linux: what the standard library and simple calls give.

use super::HostFacts;

pub(super) fn facts() -> HostFacts {
    HostFacts::default()
}
