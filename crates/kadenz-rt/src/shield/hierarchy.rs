//! Which hierarchy of control groups owns the controller `cpuset`, and where a thread is in it.

use super::journal::Members;
use super::kernel::Kernel;

/// The hierarchy that owns the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hierarchy {
    /// The first version, mounted here.
    First(String),
    /// The second version, mounted here.
    Second(String),
}

/// The shield's control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) folder: String,
    pub(super) members: Members,
    pub(super) mount: String,
}

impl Hierarchy {
    /// Looks through the mounts; none when the controller is nowhere to be had.
    pub(super) fn find(kernel: &dyn Kernel) -> Option<Self> {
        let mounts = kernel.read("/proc/mounts").ok()?;
        let mounts: Vec<(&str, &str, &str)> = mounts.lines().filter_map(fields).collect();
        let first = mounts.iter().find(|(_, kind, options)| {
            *kind == "cgroup" && options.split(',').any(|option| option == "cpuset")
        });
        if let Some((point, ..)) = first {
            return Some(Self::First((*point).to_owned()));
        }
        let second = mounts.iter().find(|(point, kind, _)| {
            let controllers = || kernel.read(&format!("{point}/cgroup.controllers")).ok();
            let has = |list: String| list.split_whitespace().any(|name| name == "cpuset");
            *kind == "cgroup2" && controllers().is_some_and(has)
        });
        second.map(|(point, ..)| Self::Second((*point).to_owned()))
    }
}

/// Mount point, type and options of a line of `/proc/mounts`.
fn fields(line: &str) -> Option<(&str, &str, &str)> {
    let mut fields = line.split(' ').skip(1);
    Some((fields.next()?, fields.next()?, fields.next()?))
}

/// The control group in which a thread is, in the hierarchy of a controller (`""` for the second
/// version); the mount point when that cannot be told.
pub(super) fn place_of(kernel: &dyn Kernel, mount: &str, thread: u32, controller: &str) -> String {
    let groups = kernel
        .read(&format!("/proc/{thread}/cgroup"))
        .unwrap_or_default();
    let path = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let ours = match controller {
            "" => controllers.is_empty(),
            name => controllers.split(',').any(|it| it == name),
        };
        ours.then_some(path)
    });
    let group = format!("{mount}{}", path.unwrap_or_default());
    let group = group.trim_end_matches('/').to_owned();
    // A mount may show a part of the hierarchy only.
    if kernel.folders(&group).is_ok() {
        group
    } else {
        mount.to_owned()
    }
}
