//! Programs that look at themselves: what they have is what was told.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use super::*;
use crate::os::linux::sched;
use crate::os::linux::signals;
use crate::testing::skip;

const NEEDS_RIGHTS: &str =
    "the right to real-time scheduling; run as root or `sudo prlimit --pid $$ --rtprio=99`";
const NEEDS_LOCKING: &str = "the right to lock memory and to trace; run as root or `sudo prlimit --pid $$ --memlock=unlimited`";

/// Held by a test whose threads spin: another one counts them.
static SPINNING: Mutex<()> = Mutex::new(());

/// What a shell script says on standard output when it is started so, and what was granted.
fn say(script: &str, launch: &Launch) -> (String, Vec<Measure>) {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    output(command, launch)
}

fn output(mut command: Command, launch: &Launch) -> (String, Vec<Measure>) {
    let (mut reader, writer) = io::pipe().unwrap();
    command.stdout(writer);
    let mut program = start(command, launch).unwrap();
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert!(program.wait().unwrap().success(), "{said}");
    (said, program.measures().to_vec())
}

fn measure<'a>(measures: &'a [Measure], name: &str) -> &'a Measure {
    let found = measures.iter().find(|measure| measure.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {measures:?}"))
}

/// Field 41 of proc_pid_stat(5) is the policy, field 40 its priority.
const OWN_POLICY: &str = "cut -d' ' -f40,41 /proc/self/stat";

#[test]
fn nothing_asked_for_changes_nothing() {
    let own = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let cpus = own.lines().find(|line| line.starts_with("Cpus_allowed:"));
    let (said, measures) = say(
        "cat /proc/self/status; ulimit -l; exec sleep 0",
        &Launch::default(),
    );
    assert!(measures.is_empty());
    assert!(said.contains(cpus.unwrap()), "{said}");
    assert!(said.contains("VmLck:\t       0 kB"), "{said}");
}

#[test]
fn the_program_and_what_it_starts_have_the_policy() {
    for (policy, fields) in [(Policy::Fifo(80), "80 1"), (Policy::RoundRobin(7), "7 2")] {
        let launch = Launch {
            policy: Some(policy),
            ..Launch::default()
        };
        // `cut` is a process of the shell's: it has inherited what the shell was given.
        let (said, measures) = say(&format!("{OWN_POLICY}; exec {OWN_POLICY}"), &launch);
        let measure = measure(&measures, "policy");
        if !measure.ok {
            assert!(measure.reason.is_some() && measure.remedy.is_some());
            return skip(
                "the_program_and_what_it_starts_have_the_policy",
                NEEDS_RIGHTS,
            );
        }
        assert_eq!(measure.granted, policy.to_string());
        assert_eq!(said, format!("{fields}\n{fields}\n"));
    }
}

#[test]
fn a_program_with_a_reservation_can_start_others() {
    let launch = Launch {
        policy: Some("deadline:1ms/100ms".parse().unwrap()),
        ..Launch::default()
    };
    let (said, measures) = say(&format!("{OWN_POLICY}; exec {OWN_POLICY}"), &launch);
    if !measure(&measures, "policy").ok {
        return skip(
            "a_program_with_a_reservation_can_start_others",
            NEEDS_RIGHTS,
        );
    }
    assert_eq!(
        said, "0 0\n0 6\n",
        "first a process it started, then itself"
    );
}

#[test]
fn cpus_nice_and_slack_are_the_program_s() {
    let mask = sched::affinity().unwrap();
    let last = CpuSet::from_mask(mask).iter().last().unwrap();
    let launch = Launch {
        cpus: Some(CpuSet::single(last)),
        nice: Some(7),
        timer_slack_ns: Some(2000),
        ..Launch::default()
    };
    let (said, measures) = say(
        "grep Cpus_allowed_list /proc/self/status; cut -d' ' -f19 /proc/$$/stat; exec cat /proc/self/timerslack_ns",
        &launch,
    );
    assert!(measures.iter().all(|measure| measure.ok), "{measures:?}");
    assert_eq!(said, format!("Cpus_allowed_list:\t{last}\n7\n2000\n"));
}

#[test]
fn cpus_that_are_not_there_are_told_and_the_program_runs() {
    let launch = Launch {
        cpus: Some(CpuSet::single(1023)),
        ..Launch::default()
    };
    let (said, measures) = say("echo runs", &launch);
    assert_eq!(said, "runs\n");
    let affinity = measure(&measures, "affinity");
    assert!(!affinity.ok && affinity.remedy.is_some());
    assert_ne!(affinity.granted, affinity.requested);
}

#[test]
fn what_is_required_and_refused_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("ran");
    for lock_memory in [false, true] {
        let mut command = Command::new("touch");
        command.arg(&trace);
        let launch = Launch {
            cpus: Some(CpuSet::single(1023)),
            lock_memory,
            require: true,
            ..Launch::default()
        };
        let error = start(command, &launch).unwrap_err();
        let LaunchError::NotGranted { measures } = &error else {
            panic!("{error}");
        };
        assert!(!measure(measures, "affinity").ok);
        assert!(error.to_string().contains("CPUs 1023"), "{error}");
        assert!(!trace.exists());
    }
}

#[test]
fn memory_is_locked_also_what_comes_later() {
    // The shell, and not a child of it, reads its own status, before and after it took 4 MB more.
    let script = "s() { while read -r n v u; do case $n in VmLck:|VmSize:) echo \"$v\";; esac; done \
                  </proc/$$/status; }; s; x=$(printf '%04000000d' 0); s; echo \"$x\" | wc -c";
    let launch = Launch {
        lock_memory: true,
        ..Launch::default()
    };
    let (said, measures) = say(script, &launch);
    let lock = measure(&measures, "memory_lock");
    if !lock.ok {
        assert!(lock.reason.is_some() && lock.remedy.is_some());
        return skip("memory_is_locked_also_what_comes_later", NEEDS_LOCKING);
    }
    let numbers: Vec<u64> = said.lines().map(|line| line.parse().unwrap()).collect();
    let (locked, later) = (numbers[1], numbers[3]);
    assert!(locked > 0, "{said}");
    assert!(later >= locked + 3000, "{said}");
    assert_eq!(numbers[4], 4_000_001, "the program works as ever");
}

#[test]
fn a_locked_program_is_otherwise_as_it_would_be() {
    let script = "grep -E '^(SigBlk|SigIgn|TracerPid)' /proc/self/status; echo \"$0\" \"$@\" \"$KADENZ_TEST\"";
    let with = |lock_memory| {
        let mut command = Command::new("bash");
        command
            .args(["-c", script, "name", "a b", ""])
            .env("KADENZ_TEST", "kept");
        let launch = Launch {
            lock_memory,
            ..Launch::default()
        };
        output(command, &launch)
    };
    if !Command::new("bash")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|it| it.success())
    {
        return skip(
            "a_locked_program_is_otherwise_as_it_would_be",
            "bash; apt-get install bash",
        );
    }
    let ((plain, _), (locked, measures)) = (with(false), with(true));
    assert_eq!(plain, locked);
    assert!(
        plain.contains("TracerPid:\t0\n") && plain.ends_with("name a b  kept\n"),
        "{plain}"
    );
    if !measure(&measures, "memory_lock").ok {
        skip(
            "a_locked_program_is_otherwise_as_it_would_be",
            NEEDS_LOCKING,
        );
    }
}

#[test]
fn what_a_lock_would_harm_or_not_reach_is_started_without() {
    let folder = tempfile::tempdir().unwrap();
    let set_id = folder.path().join("set-id");
    std::fs::copy("/bin/true", &set_id).unwrap();
    std::fs::set_permissions(&set_id, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let by_env = folder.path().join("by-env");
    std::fs::write(&by_env, "#!/usr/bin/env sh\ntrue\n").unwrap();
    std::fs::set_permissions(&by_env, std::fs::Permissions::from_mode(0o755)).unwrap();
    let launch = Launch {
        lock_memory: true,
        ..Launch::default()
    };
    for (file, word) in [(set_id, "gains rights"), (by_env, "`env` starts")] {
        let (_, measures) = output(Command::new(&file), &launch);
        let lock = measure(&measures, "memory_lock");
        assert!(!lock.ok);
        let reason = lock.reason.as_deref().unwrap();
        assert!(reason.contains(word), "{reason}");
    }
}

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
    let told = made.map(|()| {
        let _one = SPINNING.lock();
        let (awake, spinning) = Awake::hold(launch.cpus.as_ref(), launch.enter.as_deref());
        let inside = std::fs::read_to_string(group.join("tasks")).unwrap();
        drop(awake);
        assert!(measure(&spinning, "idle_spinner").ok, "{spinning:?}");
        assert_eq!(inside.lines().count(), 1, "the spinning thread alone");
        say(script, &launch)
    });
    // A group can be removed once the last process in it is quite gone.
    let removed = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::remove_dir(&group).is_ok()
    });
    assert!(removed, "{} stays behind", group.display());
    let (said, measures) = told.unwrap();
    assert!(measures.iter().all(|measure| measure.ok), "{measures:?}");
    assert!(
        said.starts_with(&format!("Cpus_allowed_list:\t{last}\n")),
        "{said}"
    );
    assert!(said.contains("/kadenz-test-"), "{said}");
}

#[test]
fn a_program_that_cannot_be_executed_is_an_error_that_names_it() {
    for lock_memory in [false, true] {
        let launch = Launch {
            lock_memory,
            ..Launch::default()
        };
        let error = start(Command::new("/no/such/program"), &launch).unwrap_err();
        assert!(error.to_string().contains("/no/such/program"), "{error}");
        let LaunchError::Program { source, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(source.kind(), io::ErrorKind::NotFound);
    }
}

#[test]
fn signals_are_handed_on_and_the_end_is_told() {
    for (signal, lock_memory) in [(libc::SIGTERM, false), (libc::SIGHUP, true)] {
        let launch = Launch {
            lock_memory,
            ..Launch::default()
        };
        let mut command = Command::new("sleep");
        command.arg("600");
        let mut program = start(command, &launch).unwrap();
        // To this thread alone: `kill` would meet the other tests' threads, which hold nothing back.
        signals::send_to_own_thread(signal).unwrap();
        assert_eq!(program.wait().unwrap().signal(), Some(signal));
    }
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
    assert_eq!(spinners(), 0);
    let (_awake, measures) = Awake::hold(Some(&CpuSet::single(1023)), None);
    let spinner = measure(&measures, "idle_spinner");
    assert!(!spinner.ok && spinner.granted == "none" && spinner.reason.is_some());
}

/// Threads of this process that spin, all of them behind everything else.
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
