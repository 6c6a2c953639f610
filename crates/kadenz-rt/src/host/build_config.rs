//! The configuration that the kernel was built with.

use super::Root;

/// The kernel's build configuration, as distributions leave it in `/boot`.
#[derive(Clone, Debug)]
pub struct BuildConfig {
    /// The file.
    pub path: String,
    text: String,
}

impl BuildConfig {
    /// Whether a line such as `CONFIG_PREEMPT_RT=y` stands in it.
    #[must_use]
    pub fn has(&self, line: &str) -> bool {
        self.text.lines().any(|found| found == line)
    }

    /// The value of `CONFIG_HZ` and its like.
    #[must_use]
    pub fn value(&self, option: &str) -> Option<&str> {
        self.text
            .lines()
            .find_map(|line| line.strip_prefix(option)?.strip_prefix('='))
    }
}

/// Reads `/boot/config-<release>` or the copy beside the kernel's modules; `None` when neither can
/// be read.
#[must_use]
pub fn read(root: &Root) -> Option<BuildConfig> {
    let release = root.read("/proc/sys/kernel/osrelease").ok()?;
    // The release comes from the kernel; a strange one must not lead out of the folder.
    if release.contains('/') {
        return None;
    }
    let paths = [
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
    ];
    paths.into_iter().find_map(|path| {
        let text = root.read(&path).ok()?;
        Some(BuildConfig { path, text })
    })
}
