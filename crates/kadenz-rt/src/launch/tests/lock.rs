//! M: memory of another program.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use super::*;

const NEEDS_LOCKING: &str = "the right to lock memory and to trace; run as root or `sudo prlimit --pid $$ --memlock=unlimited`";

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

/// Waits until no process writes a program that this one has just written: a child process that another test was
/// forking meanwhile holds the descriptor until it starts its own program.
fn wait_for_writers(program: &std::path::Path) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while let Err(error) = Command::new(program).status() {
        let is_busy = error.kind() == std::io::ErrorKind::ExecutableFileBusy;
        assert!(is_busy && std::time::Instant::now() < end, "{error}");
        std::thread::sleep(std::time::Duration::from_millis(10));
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
        wait_for_writers(&file);
        let (_, measures) = output(Command::new(&file), &launch);
        let lock = measure(&measures, "memory_lock");
        assert!(!lock.ok);
        let reason = lock.reason.as_deref().unwrap();
        assert!(reason.contains(word), "{reason}");
    }
}
