//! C and S: the CPUs that the program runs on, and the threads that keep them awake.

use std::sync::Mutex;

use super::*;
use crate::host::idle::limit_us;

/// Held by a test whose threads spin: another one counts them.
static SPINNING: Mutex<()> = Mutex::new(());

#[test]
fn the_program_enters_the_list_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("cgroup.procs");
    std::fs::write(&list, "").unwrap();
    let launch = Launch {
        enter: Some(list.clone()),
        ..Launch::default()
    };
    let (_, measures) = say("true", &launch);
    assert!(measure(&measures, "cgroup").ok);
    assert_eq!(std::fs::read_to_string(&list).unwrap(), "0");
    let launch = Launch {
        enter: Some(folder.path().join("no-group/cgroup.procs")),
        ..Launch::default()
    };
    let (_, measures) = say("true", &launch);
    let cgroup = measure(&measures, "cgroup");
    assert!(!cgroup.ok && cgroup.reason.is_some());
}

#[test]
fn a_cpuset_is_entered_before_its_cpus_are_asked_for() {
    const TEST: &str = "a_cpuset_is_entered_before_its_cpus_are_asked_for";
    let cpus = CpuSet::from_mask(sched::affinity().unwrap());
    let last = cpus.iter().last().unwrap();
    let group = PathBuf::from(format!(
        "/sys/fs/cgroup/cpuset/kadenz-test-{}",
        std::process::id()
    ));
    if std::fs::create_dir(&group).is_err() {
        return skip(TEST, "cpusets of the first version of cgroups, and root");
    }
    let made = std::fs::write(group.join("cpuset.cpus"), last.to_string())
        .and_then(|()| std::fs::write(group.join("cpuset.mems"), "0"));
    let launch = Launch {
        enter: Some(group.join("cgroup.procs")),
        cpus: Some(CpuSet::single(last)),
        ..Launch::default()
    };
    let script = "grep Cpus_allowed_list /proc/self/status; grep :cpuset: /proc/self/cgroup";
    let outcome = made.map(|()| {
        let _one = SPINNING.lock();
        let (awake, spinning) = Awake::hold(launch.cpus.as_ref(), launch.enter.as_deref());
        let inside = std::fs::read_to_string(group.join("tasks")).unwrap();
        drop(awake);
        assert!(measure(&spinning, "idle_spinner").ok, "{spinning:?}");
        assert_eq!(inside.lines().count(), 1, "the spinning thread alone");
        say(script, &launch)
    });
    // A group can be removed once the last process in it is fully gone.
    let removed = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::remove_dir(&group).is_ok()
    });
    assert!(removed, "{} stays behind", group.display());
    let (said, measures) = outcome.unwrap();
    assert!(measures.iter().all(|measure| measure.ok), "{measures:?}");
    assert!(
        said.starts_with(&format!("Cpus_allowed_list:\t{last}\n")),
        "{said}"
    );
    assert!(said.contains("/kadenz-test-"), "{said}");
}

#[test]
fn what_keeps_cpus_awake_ends_with_its_guard() {
    let _one = SPINNING.lock();
    let cpus = CpuSet::from_mask(sched::affinity().unwrap());
    let (awake, measures) = Awake::hold(Some(&cpus), None);
    let spinner = measure(&measures, "idle_spinner");
    assert!(spinner.ok, "{spinner:?}");
    assert_eq!(spinners(), cpus.len());
    drop(awake);
    // A joined thread stays in /proc until the kernel has finished with it.
    let ended = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        spinners() == 0
    });
    assert!(ended, "{} threads keep CPUs awake", spinners());
    let (_awake, measures) = Awake::hold(Some(&CpuSet::single(1023)), None);
    let spinner = measure(&measures, "idle_spinner");
    assert!(!spinner.ok && spinner.granted == "none" && spinner.reason.is_some());
}

#[test]
fn idle_states_are_held_off_until_the_guard_is_dropped() {
    const TEST: &str = "idle_states_are_held_off_until_the_guard_is_dropped";
    let _one = SPINNING.lock();
    let root = crate::host::Root::system();
    let (held, measure) = Awake::limit(7);
    assert_eq!(measure.requested, "7 us");
    if !measure.ok {
        return skip(TEST, measure.reason.as_deref().unwrap());
    }
    assert!(limit_us(&root).unwrap() <= 7);
    drop(held);
    // Other processes may hold a limit, though none of this number.
    assert_ne!(limit_us(&root), Some(7));
}

/// Counts the threads of this process that spin at the lowest priority.
fn spinners() -> usize {
    let root = crate::host::Root::system();
    let threads = root.list("/proc/self/task").unwrap();
    let stats = threads
        .iter()
        .filter_map(|thread| root.read(&format!("/proc/self/task/{thread}/stat")).ok());
    let spinning = stats.filter(|stat| stat.contains("(kadenz-idle-"));
    // SCHED_IDLE, field 41 of proc_pid_stat(5).
    spinning
        .inspect(|stat| assert_eq!(stat.split(' ').nth(40), Some("5"), "{stat}"))
        .count()
}
