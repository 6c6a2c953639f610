//! What can be said on systems other than Linux.

use super::{Finding, Severity, checks};

pub(super) fn examine() -> Vec<Finding> {
    vec![linux_only()]
}

fn linux_only() -> Finding {
    let names: Vec<&str> = checks().iter().map(|check| check.id()).collect();
    Finding::new(
        "linux-only",
        Severity::Note,
        "most checks exist only on Linux",
    )
    .cost("not known")
    .evidence(format!(
        "not known here: this is {}; on Linux the doctor looks at {}",
        std::env::consts::OS,
        names.join(", ")
    ))
}
