//! The shield on a kernel made of maps: its changes, and that it undoes all of them.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::path::Path;
use std::sync::Arc;

use kadenz_rt::shield::journal::{Change, FILE_NAME, Journal, Members};
use kadenz_rt::shield::sim::{CALLER, FIRST, SECOND, SimKernel};
use kadenz_rt::shield::{
    self, RaiseShieldError, RestoreShieldError, Shield, leftovers_in, raise_on, restore_in,
};
use kadenz_rt::tuning::Measure;
use proptest::prelude::*;

fn raise(kernel: &Arc<SimKernel>, cpus: &str, folder: &Path) -> Result<Shield, RaiseShieldError> {
    raise_on(kernel.clone(), &cpus.parse().unwrap_or_default(), folder)
}

fn measure<'a>(shield: &'a Shield, name: &str) -> &'a Measure {
    let named = shield.measures.iter().find(|measure| measure.name == name);
    named.unwrap_or_else(|| panic!("no {name} in {:#?}", shield.measures))
}

/// In a memory file system where there is one, as `/run` is: each change waits for its journal.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

fn both() -> [Arc<SimKernel>; 2] {
    [Arc::new(SimKernel::first()), Arc::new(SimKernel::second())]
}

#[test]
fn a_dropped_shield_leaves_no_trace() {
    for kernel in both() {
        let folder = folder();
        let before = kernel.snapshot();
        let shield = raise(&kernel, "3", folder.path()).unwrap();
        assert_ne!(kernel.snapshot(), before);
        assert!(
            shield.measures.iter().all(|measure| measure.ok),
            "{:#?}",
            shield.measures
        );
        drop(shield);
        assert_eq!(kernel.snapshot(), before);
        assert!(leftovers_in(folder.path()).unwrap().is_none());
    }
}

/// Linux reports success for moving a thread that is ending, and leaves it in its control group, which cannot be
/// removed before: freeing a gigabyte of memory takes hundreds of milliseconds.
#[test]
fn a_thread_that_ends_slowly_keeps_no_control_group() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    let mut before = kernel.snapshot();
    let shield = raise(&kernel, "3", folder.path()).unwrap();
    kernel.exit(400, 200);
    let restored = shield.lower();
    assert!(restored.is_complete(), "{restored:#?}");
    before.remove("thread 400");
    assert_eq!(kernel.snapshot(), before);
}

#[test]
fn the_first_version_moves_everything_but_what_is_bound() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    kernel.fork(7);
    let shield = raise(&kernel, "2-3", folder.path()).unwrap();
    let now = kernel.snapshot();
    for thread in [30, 400, 401, CALLER, 2000, 2006] {
        let place = &now[&format!("thread {thread}")];
        assert!(place.contains("kadenz-housekeeping"), "{thread}: {place}");
    }
    // Its own CPUs, as far as they are left to it.
    assert!(now["thread 401"].ends_with("on 1"), "{}", now["thread 401"]);
    assert_eq!(now["thread 17"], format!("{FIRST} on 3"));
    // The kernel's forker stays in the root, but runs elsewhere.
    assert_eq!(now["thread 2"], format!("{FIRST} on 0-1"));
    assert_eq!(now[&format!("{FIRST}/cpuset.sched_load_balance")], "0");
    assert_eq!(
        now[&format!("{FIRST}/kadenz-shield/cpuset.sched_load_balance")],
        "0"
    );
    assert_eq!(now[&format!("{FIRST}/docker/cpuset.cpus")], "0-1");
    // The threads of another cpuset stay in it, and the cpuset gets other CPUs.
    assert_eq!(now["thread 501"], format!("{FIRST}/docker/box on 0-1"));
    assert!(measure(&shield, "shield").ok);
}

#[test]
fn a_cpuset_that_holds_on_to_its_cpus_is_named() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    kernel.refuse(&format!("{FIRST}/docker/cpuset.cpus"));
    let before = kernel.snapshot();
    let shield = raise(&kernel, "3", folder.path()).unwrap();
    let shielded = measure(&shield, "shield");
    assert!(!shielded.ok);
    assert!(
        shielded.reason.as_ref().unwrap().contains("docker"),
        "{shielded:?}"
    );
    assert!(shielded.remedy.is_some());
    drop(shield);
    assert_eq!(kernel.snapshot(), before);
}

#[test]
fn a_controller_that_is_off_is_switched_on_meanwhile() {
    let (kernel, folder) = (Arc::new(SimKernel::second()), folder());
    let control = format!("{SECOND}/cgroup.subtree_control");
    kernel.put(&control, "cpu io");
    kernel.remove(&format!("{SECOND}/pinned.slice/cpuset.cpus"));
    let shield = raise(&kernel, "3", folder.path()).unwrap();
    assert_eq!(kernel.snapshot()[&control], "cpuset cpu io");
    drop(shield);
    assert_eq!(kernel.snapshot()[&control], "cpu io");
}

#[test]
fn every_knob_is_turned_away_from_the_shield() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    let shield = raise(&kernel, "3", folder.path()).unwrap();
    let now = kernel.snapshot();
    for (path, value) in [
        ("/proc/irq/default_smp_affinity", "7"),
        ("/proc/irq/9/smp_affinity_list", "0-2"),
        ("/proc/irq/24/smp_affinity_list", "0-2"),
        ("/proc/irq/25/smp_affinity_list", "0"),
        ("/proc/sys/kernel/timer_migration", "0"),
        ("/proc/sys/kernel/watchdog_cpumask", "0-2"),
        ("/proc/sys/vm/stat_interval", "600"),
        ("/sys/kernel/rcu_expedited", "0"),
        ("/sys/kernel/rcu_normal", "1"),
        ("/sys/devices/virtual/workqueue/cpumask", "7"),
        ("/sys/devices/virtual/workqueue/writeback/cpumask", "7"),
    ] {
        assert_eq!(now[path].trim(), value, "{path}");
    }
    assert_eq!(
        measure(&shield, "shield_interrupts").granted,
        "2 moved, 0 not"
    );
}

#[test]
fn what_the_kernel_refuses_is_said_and_no_failure() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    kernel.refuse("/proc/irq/9/smp_affinity_list");
    kernel.refuse("/proc/sys/kernel/timer_migration");
    kernel.remove("/sys/kernel/rcu_normal");
    let before = kernel.snapshot();
    let shield = raise(&kernel, "3", folder.path()).unwrap();
    let interrupts = measure(&shield, "shield_interrupts");
    assert_eq!(
        (interrupts.ok, interrupts.granted.as_str()),
        (true, "1 moved, 1 not")
    );
    assert!(interrupts.reason.as_ref().unwrap().contains('9'));
    let timers = measure(&shield, "shield_timer_migration");
    assert_eq!((timers.ok, timers.granted.as_str()), (false, "1"));
    assert!(
        !shield
            .measures
            .iter()
            .any(|measure| measure.name == "shield_rcu_normal")
    );
    assert!(shield.lower().is_complete());
    assert_eq!(kernel.snapshot(), before);
}

#[test]
fn the_second_version_makes_an_isolated_partition() {
    let (kernel, folder) = (Arc::new(SimKernel::second()), folder());
    let shield = raise(&kernel, "3", folder.path()).unwrap();
    let now = kernel.snapshot();
    assert_eq!(
        now[&format!("{SECOND}/kadenz-shield/cpuset.cpus.partition")],
        "isolated"
    );
    assert_eq!(now[&format!("{SECOND}/pinned.slice/cpuset.cpus")], "2");
    assert_eq!(now["thread 30"], format!("{SECOND} on 0-2"));
    assert_eq!(
        measure(&shield, "shield").granted,
        "CPUs 3 in a cpuset of their own"
    );
    let inside = shield.entrance().enter();
    assert!(inside.measure.ok, "{:?}", inside.measure);
    let place = format!("{SECOND}/kadenz-shield on 3");
    assert_eq!(kernel.snapshot()[&format!("thread {CALLER}")], place);
}

#[test]
fn a_partition_that_is_not_valid_is_refused_with_the_kernels_reason() {
    let (kernel, folder) = (Arc::new(SimKernel::second()), folder());
    kernel.refuse(&format!("{SECOND}/pinned.slice/cpuset.cpus"));
    let before = kernel.snapshot();
    let error = raise(&kernel, "3", folder.path()).unwrap_err();
    assert!(
        matches!(error, RaiseShieldError::NotIsolated { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("not exclusive"), "{error}");
    assert_eq!(kernel.snapshot(), before);
    assert!(leftovers_in(folder.path()).unwrap().is_none());
}

/// Under cgroup v2 the whole process is inside: one thread that leaves must not take the others out.
#[test]
fn a_member_goes_in_and_comes_out_where_it_was_once_it_has_left_as_often_as_it_entered() {
    for kernel in both() {
        let folder = folder();
        let shield = raise(&kernel, "3", folder.path()).unwrap();
        let name = format!("thread {CALLER}");
        let outside = kernel.snapshot()[&name].clone();
        let [first, second] = [(); 2].map(|()| shield.entrance().enter());
        assert!(first.measure.ok && second.measure.ok);
        drop(first);
        assert!(kernel.snapshot()[&name].ends_with("kadenz-shield on 3"));
        drop(second);
        assert_eq!(kernel.snapshot()[&name], outside);
    }
}

#[test]
fn threads_still_inside_at_the_end_are_sent_back() {
    for kernel in both() {
        let folder = folder();
        let before = kernel.snapshot();
        let shield = raise(&kernel, "3", folder.path()).unwrap();
        let entrance = shield.entrance();
        let inside = entrance.enter();
        drop(shield);
        assert_eq!(kernel.snapshot(), before);
        // The way in is closed, and the way out leads nowhere.
        assert!(!entrance.enter().measure.ok);
        drop(inside);
        assert_eq!(kernel.snapshot(), before);
    }
}

#[test]
fn a_machine_has_one_shield() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    let _shield = raise(&kernel, "3", folder.path()).unwrap();
    let during = kernel.snapshot();
    let error = raise(&kernel, "2", folder.path()).unwrap_err();
    let RaiseShieldError::Busy { pid, cpus } = &error else {
        panic!("{error}");
    };
    assert_eq!((*pid, cpus.as_str()), (CALLER, "3"));
    let refused = restore_in(kernel.as_ref(), folder.path()).unwrap_err();
    assert!(
        matches!(refused, RestoreShieldError::Held { pid: CALLER }),
        "{refused}"
    );
    assert!(leftovers_in(folder.path()).unwrap().unwrap().alive);
    assert_eq!(kernel.snapshot(), during);
}

#[test]
fn a_shield_that_cannot_be_is_refused_before_anything_changes() {
    for kernel in both() {
        let folder = folder();
        let before = kernel.snapshot();
        for cpus in ["", "0-3", "3-4", "700"] {
            let error = raise(&kernel, cpus, folder.path()).unwrap_err();
            assert!(!error.to_string().is_empty());
            assert_eq!(kernel.snapshot(), before, "{cpus}: {error}");
        }
        assert!(!folder.path().join(FILE_NAME).exists());
    }
}

#[test]
fn without_a_controller_nothing_is_tried() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    kernel.put("/proc/mounts", "tmpfs /tmp tmpfs rw 0 0\n");
    let error = raise(&kernel, "3", folder.path()).unwrap_err();
    assert!(matches!(error, RaiseShieldError::NoController), "{error}");
    assert!(error.remedy().unwrap().contains("isolcpus"));
}

/// Raises a shield whose process dies after so many changes; its journal is left.
fn killed_after(kernel: &Arc<SimKernel>, changes: usize, folder: &Path) {
    let done = kernel.changes();
    kernel.stop_after(Some(changes));
    // A dead process undoes nothing: nor may this one, so that its journal stays.
    let outcome = raise(kernel, "3", folder);
    let entered = outcome.as_ref().map(|shield| shield.entrance().enter());
    assert!(kernel.changes() - done <= changes);
    drop(entered);
    drop(outcome);
    kernel.stop_after(None);
}

/// How many changes a shield and a thread that enters it make.
fn all_changes(kernel: &Arc<SimKernel>) -> usize {
    let folder = folder();
    let before = kernel.changes();
    let shield = raise(kernel, "3", folder.path()).unwrap();
    let _inside = shield.entrance().enter();
    kernel.changes() - before
}

#[test]
fn whenever_it_is_killed_everything_can_be_put_back() {
    for kernel in both() {
        let all = all_changes(&kernel);
        assert!(all > 15, "{all}");
        for changes in 0..=all {
            let folder = folder();
            let before = kernel.snapshot();
            killed_after(&kernel, changes, folder.path());
            let restored = restore_in(kernel.as_ref(), folder.path()).unwrap();
            assert!(restored.is_complete(), "after {changes}: {restored:#?}");
            assert_eq!(kernel.snapshot(), before, "after {changes} changes");
            assert!(leftovers_in(folder.path()).unwrap().is_none());
        }
    }
}

#[test]
fn the_next_shield_puts_back_first_what_a_killed_one_left() {
    for kernel in both() {
        let folder = folder();
        let before = kernel.snapshot();
        killed_after(&kernel, 12, folder.path());
        assert_ne!(kernel.snapshot(), before);
        let shield = raise(&kernel, "2", folder.path()).unwrap();
        assert!(measure(&shield, "shield_leftovers").ok);
        drop(shield);
        assert_eq!(kernel.snapshot(), before);
    }
}

#[test]
fn a_line_cut_short_costs_nothing_but_itself() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    let before = kernel.snapshot();
    killed_after(&kernel, 20, folder.path());
    let path = folder.path().join(FILE_NAME);
    let mut journal = std::fs::read(&path).unwrap();
    journal.extend_from_slice(b"{\"change\":\"file\",\"path\":\"/proc/ir");
    std::fs::write(&path, journal).unwrap();
    assert!(
        restore_in(kernel.as_ref(), folder.path())
            .unwrap()
            .is_complete()
    );
    assert_eq!(kernel.snapshot(), before);
}

#[test]
fn every_line_of_a_killed_shields_journal_is_understood_and_permitted() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../conformance/shield/killed.journal"
    );
    let journal = Journal::parse(&std::fs::read(path).unwrap());
    assert_eq!(journal.owner.unwrap().pid, 4242);
    assert_eq!((journal.changes.len(), journal.damaged), (13, 1));
    let mounts = [FIRST.to_owned()];
    for change in &journal.changes {
        assert!(shield::is_permitted(change, &mounts), "{change:?}");
    }
}

#[test]
fn what_a_boot_undid_is_not_undone_again() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    killed_after(&kernel, 20, folder.path());
    kernel.put("/proc/sys/kernel/random/boot_id", "the-next-boot\n");
    let now = kernel.snapshot();
    let restored = restore_in(kernel.as_ref(), folder.path()).unwrap();
    assert!(restored.is_complete() && restored.put_back.is_empty());
    assert_eq!(kernel.snapshot(), now);
    assert!(!folder.path().join(FILE_NAME).exists());
}

#[test]
fn a_forged_journal_changes_nothing_else_and_is_named() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    kernel.put("/proc/sys/kernel/core_pattern", "core");
    kernel.put("/etc/passwd", "root");
    let before = kernel.snapshot();
    let lines = [
        r#"{"version":1,"pid":1,"start":1,"boot":"this-boot","cpus":"1"}"#,
        r#"{"change":"file","path":"/proc/sys/kernel/core_pattern","before":"0"}"#,
        r#"{"change":"file","path":"/proc/irq/../../etc/passwd","before":"0"}"#,
        r#"{"change":"file","path":"/proc/irq/9/smp_affinity_list","before":"0; reboot"}"#,
        r#"{"change":"folder","path":"/etc","home":"/","members":"tasks"}"#,
    ];
    std::fs::write(folder.path().join(FILE_NAME), lines.join("\n")).unwrap();
    let restored = restore_in(kernel.as_ref(), folder.path()).unwrap();
    assert_eq!(restored.failed.len(), 4, "{restored:#?}");
    assert_eq!(kernel.snapshot(), before);
    let remedies = restored.failed.iter().map(|left| left.remedy.as_str());
    assert!(
        remedies.clone().all(|remedy| !remedy.contains("tee")),
        "{restored:#?}"
    );
}

#[test]
fn what_stays_changed_stays_in_the_journal() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    let before = kernel.snapshot();
    let shield = raise(&kernel, "3", folder.path()).unwrap();
    kernel.stop_after(Some(0));
    assert!(!shield.lower().is_complete());
    assert!(!leftovers_in(folder.path()).unwrap().unwrap().alive);
    kernel.stop_after(None);
    assert!(
        restore_in(kernel.as_ref(), folder.path())
            .unwrap()
            .is_complete()
    );
    assert_eq!(kernel.snapshot(), before);
}

fn paths() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just(String::new()),
        Just("proc".to_owned()),
        Just("irq".to_owned()),
        Just("9".to_owned()),
        Just("sys".to_owned()),
        Just("fs".to_owned()),
        Just("cgroup".to_owned()),
        Just("cpuset".to_owned()),
        Just("cpuset.cpus".to_owned()),
        Just("smp_affinity_list".to_owned()),
        Just("kadenz-shield".to_owned()),
        Just("devices/virtual/workqueue".to_owned()),
        Just("cpumask".to_owned()),
        "[a-z]{1,4}",
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| format!("/{}", parts.join("/")))
}

proptest! {
    #[test]
    fn no_journal_leads_out_of_its_places(path in paths(), home in paths(), before in ".{0,8}") {
        let mounts = [FIRST.to_owned()];
        let places = ["/proc/irq/", "/sys/devices/virtual/workqueue/", FIRST];
        let changes = [
            Change::File { path: path.clone(), before },
            Change::Folder { path: path.clone(), home: home.clone(), members: Members::Threads },
            Change::Controller { path: path.clone() },
        ];
        for change in changes {
            if shield::is_permitted(&change, &mounts) {
                prop_assert!(!path.contains("/../") && !path.ends_with("/.."), "{change:?}");
                prop_assert!(places.iter().any(|place| path.starts_with(place)), "{change:?}");
                if matches!(change, Change::Folder { .. }) {
                    prop_assert!(home.starts_with(FIRST) && !home.contains(".."), "{change:?}");
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_a_journal_and_none_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let journal = Journal::parse(&bytes);
        prop_assert!(journal.changes.len() + journal.damaged <= bytes.len());
    }
}

#[test]
fn a_journal_cut_anywhere_keeps_every_whole_line() {
    let (kernel, folder) = (Arc::new(SimKernel::first()), folder());
    let _shield = raise(&kernel, "3", folder.path()).unwrap();
    let bytes = std::fs::read(folder.path().join(FILE_NAME)).unwrap();
    let whole = Journal::parse(&bytes);
    assert_eq!(whole.damaged, 0);
    for cut in 0..bytes.len() {
        let part = Journal::parse(&bytes[..cut]);
        let lines = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        assert!(part.changes.len() >= lines.saturating_sub(1), "{cut}");
        assert_eq!(
            part.changes[..],
            whole.changes[..part.changes.len()],
            "{cut}"
        );
    }
}
