//! Ending the processes that programs of a testbed have started.

use std::os::unix::fs::MetadataExt as _;

use super::{ProgramRecord, Record, boot};
use crate::os::linux::signals;

/// How to end a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By a request: the program ends when it is ready.
    Asked,
    /// By force: the kernel ends the program at once.
    Forced,
}

/// Ends a program of a testbed that the calling process has built, and its children: every process of its group.
pub fn end_program(program: &ProgramRecord, ending: Ending) {
    let signal = match ending {
        Ending::Asked => libc::SIGTERM,
        Ending::Forced => libc::SIGKILL,
    };
    let _ = signals::send_to_group(program.pid, signal);
}

/// Kills the processes that a dead owner's programs have left running: those that are in one of the recorded
/// process groups and in one of the recorded networks. Either number alone could mean another group or network by
/// now.
pub(super) fn clear(record: Option<&Record>) -> Vec<String> {
    let Some(record) = record.filter(|record| record.boot == boot()) else {
        return Vec::new();
    };
    let mut done = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        if is_left(record, pid) && signals::send(pid, libc::SIGKILL).is_ok() {
            done.push(format!(
                "process {pid}, which a program of the testbed had started"
            ));
        }
    }
    done
}

fn is_left(record: &Record, pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let Ok(network) = std::fs::metadata(format!("/proc/{pid}/ns/net")) else {
        return false;
    };
    // Fields after the name: state, parent, group (proc_pid_stat(5)).
    let group = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.split(' ').nth(2));
    let group: Option<u32> = group.and_then(|group| group.parse().ok());
    record
        .programs
        .iter()
        .any(|program| Some(program.pid) == group)
        && record.hosts.iter().any(|host| host.inode == network.ino())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::super::HostRecord;
    use super::*;

    /// This test's own process is in the recorded network, and in no group of the record.
    #[test]
    fn a_process_of_another_group_or_network_is_left_alone() {
        let mut record = Record::of_this_process("test").unwrap();
        let network = std::fs::metadata("/proc/self/ns/net").unwrap().ino();
        record.hosts.push(HostRecord {
            name: "a".to_owned(),
            address: Ipv4Addr::LOCALHOST,
            descriptor: 0,
            inode: network,
        });
        assert!(!is_left(&record, std::process::id()));
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let group = stat.rsplit_once(") ").unwrap().1.split(' ').nth(2).unwrap();
        record.programs.push(ProgramRecord {
            host: "a".to_owned(),
            pid: group.parse().unwrap(),
        });
        assert!(is_left(&record, std::process::id()));
        record.hosts[0].inode += 1;
        assert!(!is_left(&record, std::process::id()));
    }
}
