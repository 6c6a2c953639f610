//! The kernel's command line, `/proc/cmdline`.

use super::Root;

/// The value of the last `name=value` on the kernel's command line; empty for a bare `name`,
/// `None` when it is not there or the file cannot be read.
///
/// What follows `--` belongs to init, not to the kernel.
#[must_use]
pub fn parameter(root: &Root, name: &str) -> Option<String> {
    let line = root.read("/proc/cmdline").ok()?;
    let words = line.split_whitespace().take_while(|word| *word != "--");
    let values = words.filter_map(|word| match word.split_once('=') {
        Some((key, value)) => (key == name).then(|| value.to_owned()),
        None => (word == name).then(String::new),
    });
    values.last()
}
