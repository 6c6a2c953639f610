//! The control groups around this process.

use crate::host::Root;

/// Groups nest; more levels than this are not followed.
const MOST_LEVELS: usize = 64;

/// The folders of this process's groups, innermost first, each up to the root of its hierarchy.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// In the unified hierarchy (version 2).
    pub(super) unified: Vec<String>,
    /// In the hierarchy of the `cpu` controller (version 1).
    pub(super) cpu: Vec<String>,
}

/// Reads `/proc/self/cgroup` and finds the folders at their usual places.
pub(super) fn read(root: &Root) -> Groups {
    let mut groups = Groups::default();
    let Ok(text) = root.read("/proc/self/cgroup") else {
        return groups;
    };
    for line in text.lines() {
        let Some((_, rest)) = line.split_once(':') else {
            continue;
        };
        let Some((controllers, path)) = rest.split_once(':') else {
            continue;
        };
        if controllers.is_empty() {
            let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
            let mount = mounts
                .iter()
                .find(|m| root.has(&format!("{m}/cgroup.controllers")));
            if let Some(mount) = mount {
                groups.unified = levels(mount, path);
            }
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            let mounts = [
                format!("/sys/fs/cgroup/{controllers}"),
                "/sys/fs/cgroup/cpu".to_owned(),
            ];
            if let Some(mount) = mounts.iter().find(|mount| root.has(mount)) {
                groups.cpu = levels(mount, path);
            }
        }
    }
    groups
}

fn levels(mount: &str, path: &str) -> Vec<String> {
    // A container may see `/..`: what lies above its own root cannot be followed.
    let path = if path.split('/').any(|part| part == "..") {
        ""
    } else {
        path.trim_matches('/')
    };
    let mut folders = vec![mount.to_owned()];
    for part in path
        .split('/')
        .filter(|part| !part.is_empty())
        .take(MOST_LEVELS)
    {
        let inner = format!("{}/{part}", folders[folders.len() - 1]);
        folders.push(inner);
    }
    folders.reverse();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_go_from_the_inside_out() {
        let expected = ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"];
        assert_eq!(levels("/sys/fs/cgroup", "/a/b"), expected);
        assert_eq!(levels("/m", "/../x"), ["/m"]);
    }
}
