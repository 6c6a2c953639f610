//! How a combination is used: a command to try it, a unit and kernel parameters to keep it.

use kadenz_record::run::model::Run;
use serde_json::Value;

use kadenz_record::run::matrix::{Combination, Measure};

/// I for good, without `kadenz run`.
const IDLE_STATES: &str = "To turn the idle states off without `kadenz run`: `sudo cpupower \
     idle-set -D 1` until the next boot, or for good the kernel parameter of this machine's idle \
     driver, which `kadenz doctor` names.";
/// The priority where the run names none that is one.
const PRIORITY: u64 = 80;
/// No machine has a CPU of this number; a list that names one is no list of CPUs.
const MAX_CPUS: u32 = 8192;

/// What to type and to write to have a combination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permanent {
    /// Tries it: `sudo kadenz run --priority 80 ... -- ./your-program`.
    pub command: String,
    /// A systemd unit that starts a program with it from now on.
    pub unit: String,
    /// Kernel parameters that keep the shielded CPU free from the start on; absent where no CPU is
    /// shielded.
    pub kernel_parameters: Option<String>,
    /// How idle states are turned off without `kadenz run`, in a sentence; absent where they are
    /// not held off.
    pub idle_states: Option<String>,
}

/// What of a run decides about the commands. Whatever is no number of its kind is not taken over:
/// a command is made of these words, and people will type it as root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Means {
    priority: u64,
    /// The list of shielded CPUs as people write it; `N` where the run names none.
    shield: String,
    /// All others, where they are known.
    others: Option<String>,
}

impl Means {
    pub(super) fn of(run: &Run) -> Self {
        let number = |value: &Value| match value {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        };
        let priority = run.parameters.get("priority").and_then(number);
        let shield = run.parameters.get("shield").and_then(|value| match value {
            Value::String(text) => cpus(text),
            other => cpus(&other.to_string()),
        });
        let all = run.host.cpus.min(MAX_CPUS);
        let others = shield.as_ref().map(|shield| {
            let others: Vec<u32> = (0..all).filter(|cpu| !shield.contains(cpu)).collect();
            list(&others)
        });
        Self {
            priority: priority
                .filter(|number| (1..=99).contains(number))
                .unwrap_or(PRIORITY),
            shield: shield.map_or_else(|| "N".to_owned(), |cpus| list(&cpus)),
            others: others.filter(|others| !others.is_empty()),
        }
    }

    /// How to use a combination; absent where there is nothing to do.
    pub(super) fn permanent(&self, combination: Combination) -> Option<Permanent> {
        (combination != Combination::NONE).then(|| Permanent {
            command: format!(
                "sudo kadenz run {} -- ./your-program",
                self.flags(combination)
            ),
            unit: self.unit(combination),
            kernel_parameters: combination
                .has(Measure::Cpu)
                .then(|| self.kernel_parameters()),
            idle_states: combination
                .has(Measure::Idle)
                .then(|| IDLE_STATES.to_owned()),
        })
    }

    fn flags(&self, combination: Combination) -> String {
        let flag = |measure| match measure {
            Measure::Priority => format!("--priority {}", self.priority),
            Measure::Memory => "--lock".to_owned(),
            Measure::Cpu => format!("--shield {}", self.shield),
            Measure::Spin => "--spin".to_owned(),
            Measure::Idle => "--cpu-dma-latency 0us".to_owned(),
        };
        let flags: Vec<String> = combination.measures().map(flag).collect();
        flags.join(" ")
    }

    fn unit(&self, combination: Combination) -> String {
        let mut lines = vec![
            "# /etc/systemd/system/your-program.service".to_owned(),
            "[Unit]".to_owned(),
            format!("Description=Your program with {}", combination.words()),
            String::new(),
            "[Service]".to_owned(),
            self.exec_start(combination),
        ];
        if is_priority_alone(combination) {
            lines.push("CPUSchedulingPolicy=fifo".to_owned());
            lines.push(format!("CPUSchedulingPriority={}", self.priority));
        }
        if combination.has(Measure::Priority) {
            lines.push(format!("LimitRTPRIO={}", self.priority));
        }
        if combination.has(Measure::Memory) {
            lines.push("LimitMEMLOCK=infinity".to_owned());
        }
        lines.extend(
            [
                "Restart=on-failure",
                "",
                "[Install]",
                "WantedBy=multi-user.target",
            ]
            .map(str::to_owned),
        );
        lines.join("\n") + "\n"
    }

    /// systemd itself can give a priority. Where more is asked for, `kadenz run` does all of it: it
    /// must not have the program's priority or CPU itself while it clears that CPU.
    fn exec_start(&self, combination: Combination) -> String {
        if is_priority_alone(combination) {
            return "ExecStart=/usr/local/bin/your-program".to_owned();
        }
        format!(
            "ExecStart=/usr/local/bin/kadenz run {} -- /usr/local/bin/your-program",
            self.flags(combination)
        )
    }

    fn kernel_parameters(&self) -> String {
        let cpu = &self.shield;
        let mut words = vec![
            format!("isolcpus=managed_irq,domain,{cpu}"),
            format!("nohz_full={cpu}"),
            format!("rcu_nocbs={cpu}"),
        ];
        words.extend(
            self.others
                .as_ref()
                .map(|cpus| format!("irqaffinity={cpus}")),
        );
        words.join(" ")
    }
}

fn is_priority_alone(combination: Combination) -> bool {
    combination == Combination::NONE.with(Measure::Priority)
}

/// The CPUs of a list such as `1,3-5`, ascending; absent if it is none.
fn cpus(text: &str) -> Option<Vec<u32>> {
    let number = |text: &str| -> Option<u32> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten();
        number.filter(|&cpu| cpu < MAX_CPUS)
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first.trim())?, number(last.trim())?);
        if first > last || cpus.len() > MAX_CPUS as usize {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// Ascending CPUs as a list: `0,2-7`.
fn list(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|a, b| *a + 1 == *b);
    let words: Vec<String> = runs
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            [only] => only.to_string(),
            [] => String::new(),
        })
        .collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(cpus: u32, parameters: &[(&str, Value)]) -> Means {
        let mut run = Run::default();
        run.host.cpus = cpus;
        let own = |(name, value): &(&str, Value)| ((*name).to_owned(), value.clone());
        run.parameters = parameters.iter().map(own).collect();
        Means::of(&run)
    }

    fn of(name: &str) -> Permanent {
        let means = means(8, &[("priority", 70.into()), ("shield", "1".into())]);
        means.permanent(name.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_command_has_the_flags_of_its_combination_and_no_more() {
        assert_eq!(
            of("PMCS").command,
            "sudo kadenz run --priority 70 --lock --shield 1 --spin -- ./your-program"
        );
        assert_eq!(of("M").command, "sudo kadenz run --lock -- ./your-program");
        assert_eq!(of("M").idle_states, None);
        let idle = of("PI");
        assert_eq!(
            idle.command,
            "sudo kadenz run --priority 70 --cpu-dma-latency 0us -- ./your-program"
        );
        assert!(idle.idle_states.is_some_and(|it| it.contains("cpupower")));
        let held = "ExecStart=/usr/local/bin/kadenz run --priority 70 --cpu-dma-latency 0us --";
        assert!(idle.unit.contains(held), "{}", idle.unit);
        assert_eq!(means(8, &[]).permanent(Combination::NONE), None);
    }

    #[test]
    fn a_unit_is_complete() {
        assert_eq!(
            of("PMC").unit,
            "\
# /etc/systemd/system/your-program.service
[Unit]
Description=Your program with real-time priority, locked memory and a shielded CPU

[Service]
ExecStart=/usr/local/bin/kadenz run --priority 70 --lock --shield 1 -- /usr/local/bin/your-program
LimitRTPRIO=70
LimitMEMLOCK=infinity
Restart=on-failure

[Install]
WantedBy=multi-user.target
"
        );
        let only_priority = of("P").unit;
        assert!(only_priority.contains("ExecStart=/usr/local/bin/your-program\n"));
        assert!(only_priority.contains("CPUSchedulingPriority=70\n"));
        assert!(!only_priority.contains("MEMLOCK") && !only_priority.contains("kadenz run"));
    }

    #[test]
    fn a_shielded_cpu_is_kept_free_by_the_kernel() {
        assert_eq!(
            of("C").kernel_parameters.as_deref(),
            Some("isolcpus=managed_irq,domain,1 nohz_full=1 rcu_nocbs=1 irqaffinity=0,2-7")
        );
        assert_eq!(of("PM").kernel_parameters, None);
        let unknown = means(0, &[("shield", "1".into())]);
        let parameters = unknown.permanent("C".parse().unwrap()).unwrap();
        let parameters = parameters.kernel_parameters.unwrap();
        assert!(!parameters.contains("irqaffinity"), "{parameters}");
    }

    #[test]
    fn what_is_no_list_of_cpus_enters_no_command() {
        for hostile in [
            "1; reboot",
            "$(reboot)",
            "",
            "-1",
            "1-",
            "3-1",
            "99999",
            "0-8191,0-8191,0-8191",
        ] {
            let means = means(
                4,
                &[("shield", hostile.into()), ("priority", "9; x".into())],
            );
            let pmc = means.permanent("PMC".parse().unwrap()).unwrap();
            let expected = "sudo kadenz run --priority 80 --lock --shield N -- ./your-program";
            assert_eq!(pmc.command, expected, "{hostile}");
        }
        assert_eq!(means(8, &[("shield", "5, 2-3,3".into())]).shield, "2-3,5");
        assert_eq!(means(8, &[("shield", 1.into())]).shield, "1");
    }
}
