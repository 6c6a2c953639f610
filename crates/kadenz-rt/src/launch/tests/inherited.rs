//! What the program and its children inherit, and how its exit status comes back.

use std::os::unix::process::ExitStatusExt as _;

use super::*;
use crate::os::linux::signals;

/// Field 41 of proc_pid_stat(5) is the policy, field 40 its priority.
const OWN_POLICY: &str = "cut -d' ' -f40,41 /proc/self/stat";

const NEEDS_RIGHTS: &str =
    "the right to real-time scheduling; run as root or `sudo prlimit --pid $$ --rtprio=99`";

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
        // `cut` is a child of the shell: it has inherited the shell's settings.
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
fn absent_cpus_are_reported_and_the_program_runs() {
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
fn signals_are_forwarded_and_the_end_is_reported() {
    // Not SIGHUP: the user may run the tests in the background with it ignored, and then `sleep` ignores it too.
    for (signal, lock_memory) in [(libc::SIGTERM, false), (libc::SIGUSR1, true)] {
        let launch = Launch {
            lock_memory,
            ..Launch::default()
        };
        let mut command = Command::new("sleep");
        command.arg("600");
        let mut program = start(command, &launch).unwrap();
        // The signal goes to this thread alone: `kill` could reach the other tests' threads, which do not hold it
        // back.
        signals::send_to_own_thread(signal).unwrap();
        assert_eq!(program.wait().unwrap().signal(), Some(signal));
    }
}
