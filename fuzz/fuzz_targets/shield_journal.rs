//! Any text as the shield's journal: the shield executes it as root, so that it must lead only to the few files that a
//! shield changes; a valid journal can be written and read again.
#![no_main]

use kadenz_rt::shield::is_permitted;
use kadenz_rt::shield::journal::{Change, Journal};
use libfuzzer_sys::fuzz_target;

const MOUNT: &str = "/sys/fs/cgroup/cpuset";
const PLACES: [&str; 6] = [
    MOUNT,
    "/proc/irq/",
    "/proc/sys/kernel/",
    "/proc/sys/vm/",
    "/sys/kernel/rcu_",
    "/sys/devices/virtual/workqueue/",
];

fuzz_target!(|bytes: &[u8]| {
    let journal = Journal::parse(bytes);
    let mut written = Vec::new();
    if let Some(owner) = &journal.owner {
        written.extend(serde_json::to_vec(owner).expect("what was read can be written"));
    }
    for change in &journal.changes {
        check(change);
        written.push(b'\n');
        written.extend(serde_json::to_vec(change).expect("what was read can be written"));
    }
    if journal.owner.is_some() {
        let again = Journal::parse(&written);
        assert_eq!((again.owner, again.changes), (journal.owner, journal.changes));
    }
});

fn check(change: &Change) {
    if !is_permitted(change, &[MOUNT.to_owned()]) {
        return;
    }
    let groups: &[&String] = match change {
        Change::File { path, before } => {
            assert!(PLACES.iter().any(|place| path.starts_with(place)), "{path}");
            assert!(before.len() <= 4096 && !before.contains(['\n', '/']), "{before}");
            assert!(path.split('/').all(|part| part != ".."), "{path}");
            return;
        }
        Change::Folder { path, home, .. } => &[path, home],
        Change::Controller { path } => &[path],
        Change::Entered { shield, from, .. } => &[shield, from],
        Change::Affinity { .. } => &[],
    };
    for group in groups {
        assert!(group.starts_with(MOUNT), "{group}");
        assert!(group.split('/').all(|part| part != ".."), "{group}");
    }
}
