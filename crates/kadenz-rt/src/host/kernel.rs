//! The kernel: its command line, its build configuration, and its preemption model.

use std::fmt;

use super::Root;

/// The value of the last `name=value` on the kernel's command line; empty for a bare `name`,
/// `None` when it is not there or the file cannot be read.
///
/// What follows `--` belongs to init, not to the kernel.
#[must_use]
pub(crate) fn parameter(root: &Root, name: &str) -> Option<String> {
    let line = root.read("/proc/cmdline").ok()?;
    let words = line.split_whitespace().take_while(|word| *word != "--");
    let values = words.filter_map(|word| match word.split_once('=') {
        Some((key, value)) => (key == name).then(|| value.to_owned()),
        None => (word == name).then(String::new),
    });
    values.last()
}

/// The kernel's build configuration, as distributions leave it in `/boot`.
#[derive(Clone, Debug)]
pub(crate) struct BuildConfig {
    pub path: String,
    text: String,
}

impl BuildConfig {
    /// Reads `/boot/config-<release>` or the copy beside the kernel's modules; `None` when neither can
    /// be read.
    #[must_use]
    pub(crate) fn read(root: &Root) -> Option<Self> {
        let release = root.read("/proc/sys/kernel/osrelease").ok()?;
        // The release comes from the kernel; an unexpected one must not lead out of the folder.
        if release.contains('/') {
            return None;
        }
        let paths = [
            format!("/boot/config-{release}"),
            format!("/lib/modules/{release}/config"),
        ];
        paths.into_iter().find_map(|path| {
            let text = root.read(&path).ok()?;
            Some(Self { path, text })
        })
    }

    /// Whether a line such as `CONFIG_PREEMPT_RT=y` stands in it.
    #[must_use]
    pub(crate) fn has(&self, line: &str) -> bool {
        self.text.lines().any(|found| found == line)
    }

    /// The value of `CONFIG_HZ` and its like.
    #[must_use]
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        self.text
            .lines()
            .find_map(|line| line.strip_prefix(option)?.strip_prefix('='))
    }
}

/// The preemption model that the kernel runs with.
///
/// Sources: `init/Makefile` of the kernel for the words in `uname -v`; the kernel parameter
/// `preempt=`; `/sys/kernel/debug/sched/preempt`; `/sys/kernel/realtime` of the real-time patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preemption {
    /// Almost everything can be preempted, spin locks and interrupt threads too.
    RealTime,
    /// Kernel code can be preempted outside of critical sections.
    Full,
    /// Chosen at boot among the dynamic modes; `None` when the mode could not be read.
    Dynamic(Option<DynamicMode>),
    /// No kernel preemption, or only at voluntary points: `uname` does not tell these two apart.
    NoneOrVoluntary,
}

/// The mode of a `PREEMPT_DYNAMIC` kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DynamicMode {
    /// Kernel code runs until it returns or sleeps.
    None,
    /// Kernel code yields at marked points.
    Voluntary,
    /// Ordinary tasks are preempted at the tick, real-time tasks preempt at once.
    Lazy,
    /// Kernel code can be preempted outside of critical sections.
    Full,
}

impl fmt::Display for DynamicMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Voluntary => "voluntary",
            Self::Lazy => "lazy",
            Self::Full => "full",
        })
    }
}

impl fmt::Display for Preemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RealTime => f.write_str("PREEMPT_RT"),
            Self::Full => f.write_str("PREEMPT"),
            Self::Dynamic(Some(mode)) => write!(f, "PREEMPT_DYNAMIC ({mode})"),
            Self::Dynamic(None) => f.write_str("PREEMPT_DYNAMIC (mode not readable)"),
            Self::NoneOrVoluntary => f.write_str("none or voluntary"),
        }
    }
}

/// The preemption model and where it was read.
#[derive(Clone, Debug)]
pub(crate) struct SeenPreemption {
    pub model: Preemption,
    /// The files and their words that say so.
    pub evidence: String,
}

/// Reads the preemption model; `None` when neither `/sys/kernel/realtime` nor
/// `/proc/sys/kernel/version` can be read.
#[must_use]
pub(crate) fn preemption(root: &Root) -> Option<SeenPreemption> {
    if root
        .read("/sys/kernel/realtime")
        .is_ok_and(|text| text == "1")
    {
        let evidence = "/sys/kernel/realtime: 1".to_owned();
        return Some(SeenPreemption {
            model: Preemption::RealTime,
            evidence,
        });
    }
    let path = "/proc/sys/kernel/version";
    let version = root.read(path).ok()?;
    let evidence = format!("{path}: {version}");
    let model = match from_version(&version) {
        Preemption::Dynamic(_) => return Some(dynamic(root, &evidence)),
        model => model,
    };
    Some(SeenPreemption { model, evidence })
}

/// The preemption model according to the words of `uname -v`.
fn from_version(version: &str) -> Preemption {
    let words: Vec<&str> = version.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    // The patch for older kernels wrote `PREEMPT RT`.
    let older_patch = words.windows(2).any(|pair| pair == ["PREEMPT", "RT"]);
    if has("PREEMPT_RT") || older_patch {
        Preemption::RealTime
    } else if has("PREEMPT_DYNAMIC") {
        Preemption::Dynamic(None)
    } else if has("PREEMPT") {
        Preemption::Full
    } else {
        Preemption::NoneOrVoluntary
    }
}

/// A dynamic kernel shows its mode in debugfs, which only root may read; otherwise the command line or the build
/// configuration shows it.
fn dynamic(root: &Root, version: &str) -> SeenPreemption {
    let readings = [
        from_debugfs(root),
        from_command_line(root),
        from_build(root),
    ];
    let (mode, evidence) = match readings.into_iter().flatten().next() {
        Some((mode, source)) => (Some(mode), format!("{version}; {source}")),
        None => (
            None,
            format!(
                "{version}; /sys/kernel/debug/sched/preempt not readable, no preempt= in /proc/cmdline"
            ),
        ),
    };
    SeenPreemption {
        model: Preemption::Dynamic(mode),
        evidence,
    }
}

fn from_debugfs(root: &Root) -> Option<(DynamicMode, String)> {
    let path = "/sys/kernel/debug/sched/preempt";
    let text = root.read(path).ok()?;
    let chosen = text.split_once('(')?.1.split_once(')')?.0;
    Some((mode(chosen)?, format!("{path}: {text}")))
}

fn from_command_line(root: &Root) -> Option<(DynamicMode, String)> {
    let value = parameter(root, "preempt")?;
    Some((mode(&value)?, format!("/proc/cmdline: preempt={value}")))
}

fn from_build(root: &Root) -> Option<(DynamicMode, String)> {
    let config = BuildConfig::read(root)?;
    let options = [
        ("CONFIG_PREEMPT_NONE=y", DynamicMode::None),
        ("CONFIG_PREEMPT_VOLUNTARY=y", DynamicMode::Voluntary),
        ("CONFIG_PREEMPT_LAZY=y", DynamicMode::Lazy),
        ("CONFIG_PREEMPT=y", DynamicMode::Full),
    ];
    let (option, mode) = options.iter().find(|(option, _)| config.has(option))?;
    Some((*mode, format!("{}: {option}", config.path)))
}

fn mode(word: &str) -> Option<DynamicMode> {
    match word {
        "none" => Some(DynamicMode::None),
        "voluntary" => Some(DynamicMode::Voluntary),
        "lazy" => Some(DynamicMode::Lazy),
        "full" => Some(DynamicMode::Full),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_known_kernels() {
        let cases = [
            (
                "#1 SMP PREEMPT_RT Debian 6.1.90-1 (2024-05-03)",
                Preemption::RealTime,
            ),
            (
                "#1 SMP PREEMPT RT Fri Mar 4 10:00:00 CET 2016",
                Preemption::RealTime,
            ),
            ("#1 SMP PREEMPT Tue Jan 3 2023", Preemption::Full),
            (
                "#1 SMP PREEMPT_DYNAMIC Debian 6.1.90-1",
                Preemption::Dynamic(None),
            ),
            (
                "#55-Ubuntu SMP Fri Jul 15 2016",
                Preemption::NoneOrVoluntary,
            ),
        ];
        for (version, model) in cases {
            assert_eq!(from_version(version), model, "{version}");
        }
    }
}
