//! How to use a combination: a command to try it, a unit and kernel parameters to keep it.

use kadenz_record::run::matrix::{Combination, Measure};
use kadenz_record::run::tune::{DEFAULT_PRIORITY, Tune};

/// I permanently, without `kadenz run`.
const IDLE_STATES: &str = "To turn the idle states off without `kadenz run`: `sudo cpupower \
     idle-set -D 1` until the next boot, or for good the kernel parameter of this machine's idle \
     driver, which `kadenz doctor` names.";
/// No machine has a CPU of this number; a list that names one is not a valid list of CPUs.
const MAX_CPUS: u32 = 8192;

/// Commands and files that establish a combination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permanent {
    /// Tries it: `sudo kadenz run --priority 80 ... -- ./your-program`.
    pub command: String,
    /// A systemd unit that starts a program with it from now on.
    pub unit: String,
    /// Kernel parameters that keep the shielded CPU free from the start on; absent where no CPU is
    /// shielded.
    pub kernel_parameters: Option<String>,
    /// How to turn idle states off without `kadenz run`, in a sentence; absent where they are not held off.
    pub idle_states: Option<String>,
}

/// The facts of a run that the commands need. Values that are not valid numbers are dropped: the commands consist of
/// these words, and users will run them as root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Means {
    priority: u8,
    /// The list of shielded CPUs as users write it; `N` where the run names none.
    shield: String,
    /// All other CPUs, where they are known.
    others: Option<String>,
}

impl Means {
    /// The facts of the requested tuning, on a machine of this many CPUs.
    pub(super) fn of(asked: &Tune, cpus: u32) -> Self {
        let shield: Vec<u32> = asked.shield.iter().copied().collect();
        let is_list = shield.last().is_some_and(|&last| last < MAX_CPUS);
        let all = 0..cpus.min(MAX_CPUS);
        let others: Vec<u32> = all.filter(|cpu| !asked.shield.contains(cpu)).collect();
        Self {
            priority: match asked.priority {
                priority @ 1..=99 => priority,
                _ => DEFAULT_PRIORITY,
            },
            shield: if is_list {
                list(&shield)
            } else {
                "N".to_owned()
            },
            others: (is_list && !others.is_empty()).then(|| list(&others)),
        }
    }

    /// How to use a combination; absent where nothing is needed.
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

    /// systemd itself can give a priority. If more is requested, `kadenz run` does all of it: it must not have the
    /// program's priority or CPU itself while it clears that CPU.
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

    fn means(cpus: u32, shield: &[u32]) -> Means {
        let asked = Tune {
            priority: 70,
            shield: shield.iter().copied().collect(),
            ..Tune::default()
        };
        Means::of(&asked, cpus)
    }

    fn of(name: &str) -> Permanent {
        let means = means(8, &[1]);
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
        let unknown = means(0, &[1]);
        let parameters = unknown.permanent("C".parse().unwrap()).unwrap();
        let parameters = parameters.kernel_parameters.unwrap();
        assert!(!parameters.contains("irqaffinity"), "{parameters}");
    }

    #[test]
    fn what_no_machine_has_enters_no_command() {
        for shield in [&[][..], &[0, MAX_CPUS]] {
            let asked = Tune {
                priority: 100,
                shield: shield.iter().copied().collect(),
                ..Tune::default()
            };
            let pmc = Means::of(&asked, 4).permanent("PMC".parse().unwrap());
            let expected = "sudo kadenz run --priority 80 --lock --shield N -- ./your-program";
            assert_eq!(pmc.unwrap().command, expected, "{shield:?}");
        }
        assert_eq!(means(8, &[5, 2, 3]).shield, "2-3,5");
    }
}
