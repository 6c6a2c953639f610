//! The requested tuning against the tuning that the program's process reads back of itself.

use super::Launch;
use crate::os::linux::launch::LaunchReport;
use crate::tuning::linux::rights::Rights;
use crate::tuning::linux::{affinity, kernel_says, scheduling};
use crate::tuning::{Measure, Note};

/// One measure for each requested setting, except for locked memory.
pub(super) fn of(launch: &Launch, report: &LaunchReport, rights: &Rights) -> Vec<Measure> {
    let measures = [
        launch.policy.map(|wanted| {
            let granted = scheduling::name(&report.scheduling_in_force);
            scheduling::measure(wanted, report.policy.outcome(), granted, rights)
        }),
        launch.enter.as_ref().map(|list| {
            let place = list.parent().unwrap_or(list).display();
            cgroup(&place.to_string(), report)
        }),
        launch.cpus.as_ref().map(|wanted| {
            affinity::measure(wanted, report.affinity.outcome(), Ok(report.cpus_in_force))
        }),
        launch.nice.map(|wanted| nice(wanted, report)),
        launch
            .timer_slack_ns
            .map(|wanted| timer_slack(wanted, report)),
    ];
    measures.into_iter().flatten().collect()
}

fn cgroup(place: &str, report: &LaunchReport) -> Measure {
    let outcome = report.enter.outcome();
    let granted = match outcome {
        Ok(()) => format!("in {place}"),
        Err(_) => "the cgroup of this process".to_owned(),
    };
    let note = outcome.err().map(|errno| {
        Note::new(
            format!(
                "the program could not enter {place}: {}",
                kernel_says(errno)
            ),
            format!("ls -ld {place}; run as root, or let the group's owner start the program"),
        )
    });
    Measure::noted(
        "cgroup",
        format!("in {place}"),
        granted,
        outcome.is_ok(),
        note,
    )
}

fn nice(wanted: i8, report: &LaunchReport) -> Measure {
    let outcome = report.nice.outcome();
    let note = outcome.err().map(|errno| match errno {
        libc::EACCES | libc::EPERM => Note::new(
            "a nice value below that of this process needs RLIMIT_NICE or the capability CAP_SYS_NICE",
            "sudo prlimit --pid $$ --nice=40 for this shell, or run as root",
        ),
        _ => Note::new(
            format!("the kernel says: {}", kernel_says(errno)),
            "see setpriority(2)",
        ),
    });
    let ok = outcome.is_ok() && report.nice_in_force == i32::from(wanted);
    let granted = report.nice_in_force.to_string();
    Measure::noted("nice", wanted.to_string(), granted, ok, note)
}

fn timer_slack(wanted_ns: u64, report: &LaunchReport) -> Measure {
    let granted_ns = report.timer_slack_in_force_ns;
    let ok = granted_ns <= wanted_ns.max(1);
    let note = (!ok).then(|| {
        let reason = match report.timer_slack.outcome() {
            Err(errno) => format!("the kernel says: {}", kernel_says(errno)),
            Ok(()) => "the kernel kept a larger slack".to_owned(),
        };
        Note::new(reason, "take a real-time policy: its threads have no slack")
    });
    Measure::noted(
        "timer_slack",
        format!("{wanted_ns} ns"),
        format!("{granted_ns} ns"),
        ok,
        note,
    )
}
