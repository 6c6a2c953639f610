//! The doctor on machines made of files, and on the machine that runs the test.

use std::path::Path;

use kadenz_rt::doctor::{Finding, Root, Severity, checks, examine, examine_at, fake};
use kadenz_rt::host;

fn examined(make: fn(&Path) -> std::io::Result<Root>) -> Vec<Finding> {
    let folder = tempfile::tempdir().expect("a folder for a test");
    examine_at(&make(folder.path()).expect("the files of a fake machine"))
}

fn show(findings: &[&Finding]) -> String {
    findings
        .iter()
        .map(|finding| format!("{finding:#?}\n"))
        .collect()
}

/// The most severe finding of a check.
fn worst<'a>(findings: &'a [Finding], id: &str) -> &'a Finding {
    let of_check = findings.iter().filter(|finding| finding.id == id);
    of_check
        .max_by_key(|finding| finding.severity)
        .unwrap_or_else(|| panic!("no {id}"))
}

fn expect(findings: &[Finding], severity: Severity, ids: &[&str]) {
    for id in ids {
        let finding = worst(findings, id);
        assert_eq!(finding.severity, severity, "{finding:#?}");
        assert!(finding.is_known(), "{finding:#?}");
    }
}

#[test]
fn the_ideal_machine_is_fine_throughout() {
    let findings = examined(fake::ideal);
    let others: Vec<&Finding> = findings
        .iter()
        .filter(|f| f.severity != Severity::Fine || !f.is_known())
        .collect();
    assert!(others.is_empty(), "{}", show(&others));
    for check in checks() {
        worst(&findings, check.id);
    }
}

/// The checks that find a cost on a laptop as installed.
const LAPTOP_COSTS: [&str; 21] = [
    "memory-lock-rights",
    "rt-throttling",
    "realtime-neighbours",
    "isolated-cpus",
    "irq-affinity",
    "cpu-governor",
    "c-states",
    "smt",
    "thermal-throttling",
    "power-supply",
    "clock-source",
    "swap",
    "transparent-hugepages",
    "free-memory",
    "numa-balancing",
    "same-page-merging",
    "network-offloads",
    "pcie-power",
    "load-average",
    "background-daemons",
    "kernel-log",
];

/// The checks that give a note on it.
const LAPTOP_NOTES: [&str; 13] = [
    "cpu-boost",
    "timer-migration",
    "tick",
    "rcu-callbacks",
    "kernel-watchdogs",
    "memory-overcommit",
    "memory-compaction",
    "vm-statistics",
    "wifi-power-save",
    "scheduled-jobs",
    "time-synchronisation",
    "mitigations",
    "split-lock",
];

#[test]
fn the_laptop_has_every_usual_defect() {
    let findings = examined(fake::laptop);
    expect(
        &findings,
        Severity::Spoils,
        &["preemption", "realtime-rights"],
    );
    expect(&findings, Severity::Costs, &LAPTOP_COSTS);
    expect(&findings, Severity::Note, &LAPTOP_NOTES);
    let fine = [
        "virtualisation",
        "steal-time",
        "cpu-quota",
        "serial-console",
    ];
    expect(&findings, Severity::Fine, &fine);
    let idle = worst(&findings, "c-states");
    assert!(idle.cost.contains("230 us"));
    let states = "POLL 0 us, C1E 10 us, C10 230 us; driver intel_idle, governor not known";
    assert!(idle.evidence.contains(states), "{}", idle.evidence);
    let remedy = idle.remedy.as_deref().unwrap();
    assert!(remedy.contains("--cpu-dma-latency 0us"), "{remedy}");
    let neighbours = &worst(&findings, "realtime-neighbours").evidence;
    assert!(neighbours.contains("904 data-loop.0 at 88"), "{neighbours}");
    assert!(
        worst(&findings, "rt-throttling")
            .cost
            .contains("50 ms in every 1000 ms")
    );
    assert!(
        worst(&findings, "realtime-rights")
            .evidence
            .contains("@audio - rtprio 95")
    );
    let remedy = worst(&findings, "smt").remedy.clone().unwrap();
    assert!(remedy.contains("update-grub"), "{remedy}");
}

#[test]
fn the_virtual_machine_is_reported_as_such() {
    let findings = examined(fake::virtual_machine);
    let spoiled = [
        "virtualisation",
        "steal-time",
        "preemption",
        "high-resolution-timers",
        "kernel-debugging",
    ];
    expect(&findings, Severity::Spoils, &spoiled);
    expect(
        &findings,
        Severity::Costs,
        &["serial-console", "rt-throttling"],
    );
    expect(
        &findings,
        Severity::Note,
        &["clock-source", "c-states", "isolated-cpus"],
    );
    assert!(worst(&findings, "steal-time").title.contains("30.00 %"));
    let idle = worst(&findings, "c-states");
    assert!(
        idle.evidence.contains("no idle states"),
        "{}",
        idle.evidence
    );
    // The host's own interrupts cannot be seen from inside.
    assert!(!worst(&findings, "smi").is_known());
}

#[test]
fn the_container_has_a_quota_and_no_rights() {
    let findings = examined(fake::container);
    expect(
        &findings,
        Severity::Spoils,
        &["cpu-quota", "realtime-rights", "rt-group-scheduling"],
    );
    expect(&findings, Severity::Note, &["virtualisation"]);
    expect(
        &findings,
        Severity::Costs,
        &["preemption", "memory-lock-rights", "thermal-throttling"],
    );
    expect(&findings, Severity::Fine, &["clock-source"]);
    let quota = worst(&findings, "cpu-quota");
    // Half a CPU, used up at once by four: 12.5 of 100 ms, so nothing runs for 87.5.
    assert!(quota.cost.contains("up to 87 ms"), "{}", quota.cost);
    assert!(
        quota.evidence.contains("nr_throttled 7"),
        "{}",
        quota.evidence
    );
}

#[test]
fn where_nothing_can_be_read_nothing_is_judged() {
    let findings = examined(fake::closed_container);
    let judged: Vec<&Finding> = findings
        .iter()
        .filter(|f| f.is_known() || f.severity != Severity::Note)
        .collect();
    assert!(judged.is_empty(), "{}", show(&judged));
    for check in checks() {
        worst(&findings, check.id);
    }
}

#[test]
fn facts_come_from_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let facts = host::facts_at(&fake::laptop(folder.path()).unwrap());
    assert_eq!(facts.os_release.as_deref(), Some("Ubuntu 24.04.2 LTS"));
    assert_eq!(facts.kernel.as_deref(), Some("6.8.0-57-generic"));
    assert_eq!(
        facts.preemption.as_deref(),
        Some("PREEMPT_DYNAMIC (voluntary)")
    );
    assert_eq!(
        facts.cpu.as_deref(),
        Some("13th Gen Intel(R) Core(TM) i7-1360P")
    );
    assert_eq!(facts.cpus, 4);
    assert_eq!(facts.memory_bytes, Some(16_000_000 * 1024));
    assert_eq!(facts.clock_source.as_deref(), Some("hpet"));
    assert_eq!(facts.governor.as_deref(), Some("powersave"));
    assert_eq!(facts.cgroup.as_deref(), Some("/user.slice/user-1000.slice"));
    assert_eq!(facts.virtualisation.as_deref(), Some("none"));

    let folder = tempfile::tempdir().unwrap();
    let facts = host::facts_at(&fake::container(folder.path()).unwrap());
    assert_eq!(facts.cpu.as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
    assert_eq!(facts.virtualisation.as_deref(), Some("docker"));
    assert_eq!(facts.cgroup.as_deref(), Some("/docker/abc"));

    let folder = tempfile::tempdir().unwrap();
    let facts = host::facts_at(&fake::closed_container(folder.path()).unwrap());
    assert_eq!(facts.virtualisation, None);
    assert_eq!(facts.cpus, 0);
}

#[test]
fn this_machine_is_examined() {
    let findings = examine();
    assert!(!findings.is_empty());
    complete(&findings);
    if cfg!(target_os = "linux") {
        for check in checks() {
            worst(&findings, check.id);
        }
    }
}

/// The same without rights: the test runs itself again as a user without rights.
#[cfg(target_os = "linux")]
#[test]
fn this_machine_is_examined_without_rights() {
    use std::os::unix::process::CommandExt;

    let name = "this_machine_is_examined_without_rights";
    // The copy has to lie where that user may read it.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("examine");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let mut command = std::process::Command::new(&program);
    command
        .args(["--exact", "this_machine_is_examined"])
        .current_dir("/");
    match command.uid(65_534).gid(65_534).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && said.contains("1 passed"),
                "{said}"
            );
        }
        Err(error) => {
            let message = format!("skipped: {name}: root, to become another user ({error})");
            assert!(
                std::env::var_os("KADENZ_SKIP_NOTHING").is_none(),
                "{message}"
            );
            eprintln!("{message}");
        }
    }
}

#[test]
fn every_check_stands_in_the_book() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");
    let page = std::fs::read_to_string(page).unwrap();
    let heading = |id: &str| page.lines().any(|line| line == format!("### {id}"));
    let ids: Vec<&str> = checks().iter().map(|check| check.id).collect();
    for (at, id) in ids.iter().enumerate() {
        assert!(heading(id), "docs/doctor.md has no heading `### {id}`");
        assert!(!ids[..at].contains(id), "two checks are called {id}");
    }
    for line in page.lines().filter_map(|line| line.strip_prefix("### ")) {
        let foreign = ["linux-only", "system-timer", "timer-coalescing"];
        assert!(
            ids.contains(&line) || foreign.contains(&line),
            "no check is called {line}"
        );
    }
}

/// The properties that hold on any machine: all fields are filled, and a finding with a cost has a remedy.
fn complete(findings: &[Finding]) {
    for finding in findings {
        for text in [&finding.title, &finding.cost, &finding.evidence] {
            assert!(!text.is_empty(), "{finding:#?}");
            assert!(!text.contains("  "), "two blanks in a row: {finding:#?}");
        }
        let costs = finding.severity >= Severity::Costs;
        assert!(!costs || finding.remedy.is_some(), "{finding:#?}");
        assert!(
            finding.is_known() || finding.severity == Severity::Note,
            "{finding:#?}"
        );
    }
}

/// A machine with a journal of process 4242, which started at 77 ticks, if it lives.
fn with_journal(files: &[(&str, &str)]) -> Finding {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let journal = r#"{"version":1,"pid":4242,"start":77,"boot":"this-boot","cpus":"3"}
{"change":"file","path":"/proc/irq/9/smp_affinity_list","before":"0-3"}
{"change":"file","path":"/proc/ir"#;
    for (path, text) in files
        .iter()
        .chain(&[("run/kadenz/shield.journal", journal)])
    {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    worst(&examine_at(&Root::at(folder.path())), "leftovers").clone()
}

const THIS_BOOT: (&str, &str) = ("proc/sys/kernel/random/boot_id", "this-boot\n");

#[test]
fn what_a_killed_measurement_left_is_found_with_its_remedy() {
    // The number is used again, by a process that started later.
    let other = "4242 (sh) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0\n";
    for files in [
        &[THIS_BOOT][..],
        &[THIS_BOOT, ("proc/4242/stat", other)][..],
    ] {
        let finding = with_journal(files);
        assert_eq!(finding.severity, Severity::Costs, "{finding:#?}");
        assert!(
            finding.evidence.contains("1 changes by process 4242"),
            "{finding:#?}"
        );
        assert_eq!(
            finding.remedy.as_deref(),
            Some("sudo kadenz doctor --restore")
        );
    }
}

#[test]
fn a_living_shield_is_not_a_leftover_and_an_earlier_boots_costs_nothing() {
    let alive = "4242 (kadenz) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0\n";
    let finding = with_journal(&[THIS_BOOT, ("proc/4242/stat", alive)]);
    assert_eq!(
        (finding.severity, finding.remedy.is_some()),
        (Severity::Note, false)
    );
    assert!(finding.title.contains("shields CPUs 3"), "{finding:#?}");
    let finding = with_journal(&[("proc/sys/kernel/random/boot_id", "another\n")]);
    assert_eq!(
        (finding.severity, finding.remedy.is_some()),
        (Severity::Note, true)
    );
}

/// The most severe finding about a testbed's claim by process 4242, which started at 77 ticks.
#[cfg(target_os = "linux")]
fn with_claim(files: &[(&str, &str)]) -> Finding {
    let claim = r#"{"version":1,"pid":4242,"start":77,"boot":"this-boot","topology":"arm","ready":true,"hosts":[],"programs":[]}"#;
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files.iter().chain(&[("run/kadenz/testbed.claim", claim)]) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    worst(&examine_at(&Root::at(folder.path())), "leftovers").clone()
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_testbed_is_found_and_a_standing_one_is_not_a_leftover() {
    let killed = with_claim(&[THIS_BOOT]);
    assert_eq!(killed.severity, Severity::Costs, "{killed:#?}");
    assert!(killed.title.contains("testbed arm"), "{killed:#?}");
    assert_eq!(
        killed.remedy.as_deref(),
        Some("sudo kadenz doctor --restore")
    );
    let alive = "4242 (kadenz) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0\n";
    let standing = with_claim(&[THIS_BOOT, ("proc/4242/stat", alive)]);
    assert_eq!(standing.severity, Severity::Note, "{standing:#?}");
}
