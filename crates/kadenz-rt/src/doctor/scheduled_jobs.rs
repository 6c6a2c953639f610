//! Work that starts on its own at some hour.

use super::{Check, Finding, Machine, Severity};

pub(super) struct ScheduledJobs;

const ID: &str = "scheduled-jobs";
const FOLDERS: [&str; 7] = [
    "/etc/cron.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/var/spool/cron/crontabs",
    "/etc/systemd/system/timers.target.wants",
];
/// So many are named.
const NAMED: usize = 12;

impl Check for ScheduledJobs {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let readable = FOLDERS
        .iter()
        .any(|folder| machine.root.list(folder).is_ok());
    if !readable {
        return Finding::new(ID, Severity::Note, "scheduled jobs: not known")
            .cost("not known")
            .evidence(format!("not known here: {} absent", FOLDERS.join(", ")));
    }
    let jobs: Vec<String> = FOLDERS
        .iter()
        .flat_map(|folder| {
            let names = machine.root.list(folder).unwrap_or_default();
            names
                .into_iter()
                .filter(|name| !name.starts_with('.'))
                .map(move |n| format!("{folder}/{n}"))
        })
        .collect();
    let runs = |names: &[&str]| {
        machine
            .processes()
            .iter()
            .any(|p| names.contains(&p.name.as_str()))
    };
    let starter = runs(&["cron", "crond", "anacron", "atd", "systemd"]);
    let evidence = jobs
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if jobs.is_empty() {
        return Finding::fine(
            ID,
            "no job is scheduled",
            format!("{}: empty", FOLDERS.join(", ")),
        );
    }
    if !starter && !machine.processes().is_empty() {
        let title = "jobs are scheduled, but nothing runs that would start them";
        return Finding::fine(ID, title, evidence);
    }
    Finding::new(
        ID,
        Severity::Note,
        format!("{} jobs are scheduled", jobs.len()),
    )
    .cost(
        "each brings its load at its hour (package lists, man pages, log rotation, disk trimming, \
             RAID checks): seconds to minutes that a short measurement does not see",
    )
    .evidence(evidence)
    .remedy(
        "systemctl list-timers; sudo systemctl mask --now apt-daily.timer apt-daily-upgrade.timer \
             man-db.timer fstrim.timer <and others>; sudo systemctl disable --now cron",
    )
}
