//! What this process is allowed: resource limits and capabilities.

use crate::host::{ReadFactError, Root};

use super::remedy;

pub(super) const PATH: &str = "/proc/self/limits";

/// One line of `/proc/self/limits`: numbers, or `unlimited`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) soft: String,
    pub(super) hard: String,
}

impl Limit {
    /// The soft limit; `None` when there is none.
    pub(super) fn soft_number(&self) -> Option<u64> {
        self.soft.parse().ok()
    }
}

/// Reads the line that begins with `name`.
pub(super) fn read(root: &Root, name: &str) -> Result<Limit, ReadFactError> {
    let text = root.read(PATH)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let mut words = line.unwrap_or("").split_whitespace().map(str::to_owned);
    match (words.next(), words.next()) {
        (Some(soft), Some(hard)) => Ok(Limit { soft, hard }),
        _ => Err(ReadFactError::strange(
            PATH,
            &text,
            "its usual table of limits",
        )),
    }
}

/// Evidence that this process holds a capability; `None` when it does not or that is not readable.
pub(super) fn capability(root: &Root, number: u32, name: &str) -> Option<String> {
    let path = "/proc/self/status";
    let status = root.read(path).ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?
        .trim();
    let bits = u64::from_str_radix(mask, 16).ok()?;
    (bits & (1 << number) != 0).then(|| format!("{path}: CapEff {mask} holds {name}"))
}

/// What the files of pam_limits say of `item`, as an addition to an evidence: settings that are
/// there but not in force mean a new login is due.
pub(super) fn configured(root: &Root, item: &str) -> String {
    let folder = "/etc/security/limits.d";
    let mut paths = vec!["/etc/security/limits.conf".to_owned()];
    let names = root.list(folder).unwrap_or_default();
    paths.extend(
        names
            .iter()
            .filter(|n| n.ends_with(".conf"))
            .map(|n| format!("{folder}/{n}")),
    );
    let lines = paths.iter().filter_map(|path| {
        let text = root.read(path).ok()?;
        let line = text
            .lines()
            .map(str::trim)
            .find(|line| !line.starts_with('#') && line.split_whitespace().nth(2) == Some(item))?;
        Some(format!("{path}: {line}"))
    });
    let found: Vec<String> = lines.collect();
    if found.is_empty() {
        return String::new();
    }
    format!(
        "; configured, in force for its members after the next login: {}",
        found.join("; ")
    )
}

/// How a user gets a limit of pam_limits.
pub(super) fn remedy(item: &str, value: &str) -> String {
    remedy::now_and_for_good(
        "sudo setcap cap_sys_nice,cap_ipc_lock+ep <program>, or run it as root",
        &format!(
            "sudo groupadd -f realtime && sudo usermod -aG realtime $USER && echo '@realtime - \
             {item} {value}' | sudo tee -a /etc/security/limits.d/90-kadenz.conf, then log in again"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_capabilities_of_a_usual_process() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        std::fs::create_dir_all(folder.path().join("proc/self")).unwrap();
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max realtime priority     10                   99                   \n\
                      Max realtime timeout      unlimited            unlimited            us\n";
        std::fs::write(folder.path().join("proc/self/limits"), limits).unwrap();
        std::fs::write(
            folder.path().join("proc/self/status"),
            "CapEff:\t0000000000800000",
        )
        .unwrap();
        let limit = read(&root, "Max realtime priority").unwrap();
        assert_eq!((limit.soft_number(), limit.hard.as_str()), (Some(10), "99"));
        assert_eq!(
            read(&root, "Max realtime timeout").unwrap().soft_number(),
            None
        );
        assert!(capability(&root, 23, "CAP_SYS_NICE").is_some());
        assert!(capability(&root, 14, "CAP_IPC_LOCK").is_none());
    }
}
