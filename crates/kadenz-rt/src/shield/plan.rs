//! The CPUs to shield, the CPUs that remain, and the results.

use super::error::RaiseShieldError;
use super::kernel::{Kernel, cpu_list};
use crate::tuning::{CpuSet, Measure};

/// The CPUs to shield, and the measures so far.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) cpus: CpuSet,
    /// The CPUs that everything else keeps.
    pub(super) others: CpuSet,
    /// The shielded CPUs and the others.
    pub(super) all: CpuSet,
    pub(super) measures: Vec<Measure>,
}

impl Plan {
    /// Checks the requested CPUs against those that are `available`.
    pub(super) fn of(cpus: &CpuSet, available: &CpuSet) -> Result<Self, RaiseShieldError> {
        let absent = cpus.without(available);
        if cpus.is_empty() {
            return Err(RaiseShieldError::NoCpus);
        }
        if !absent.is_empty() {
            return Err(RaiseShieldError::Offline {
                cpus: cpus.to_string(),
                absent: absent.to_string(),
                online: available.to_string(),
            });
        }
        if available.len() == 1 {
            return Err(RaiseShieldError::OneCpu);
        }
        let others = available.without(cpus);
        if others.is_empty() {
            return Err(RaiseShieldError::AllCpus {
                online: available.to_string(),
            });
        }
        Ok(Self {
            cpus: cpus.clone(),
            others,
            all: available.clone(),
            measures: Vec::new(),
        })
    }

    /// The CPUs of a list without the shielded ones; all others if none is left.
    pub(super) fn outside(&self, before: &CpuSet) -> CpuSet {
        let rest = before.without(&self.cpus);
        if rest.is_empty() {
            self.others.clone()
        } else {
            rest
        }
    }

    /// Whether a list holds a shielded CPU.
    pub(super) fn concerns(&self, cpus: &CpuSet) -> bool {
        cpus.without(&self.cpus) != *cpus
    }

    /// The measure of the cpuset itself.
    pub(super) fn cpuset(&self, granted: &str, kept: &[String]) -> Measure {
        let ok = kept.is_empty() && granted.parse().is_ok_and(|cpus: CpuSet| cpus == self.cpus);
        Measure {
            name: "shield",
            requested: format!("CPUs {} for the measurement alone", self.cpus),
            granted: format!("CPUs {granted} in a cpuset of their own"),
            ok,
            reason: (!kept.is_empty()).then(|| {
                format!(
                    "these cpusets hold on to CPUs of the shield: {}",
                    kept.join(", ")
                )
            }),
            remedy: (!kept.is_empty())
                .then(|| "give them other CPUs in their cpuset.cpus".to_owned()),
        }
    }
}

/// The CPUs that are online.
pub(super) fn online(kernel: &dyn Kernel) -> CpuSet {
    cpu_list(kernel, "/sys/devices/system/cpu/online").unwrap_or_default()
}

/// The mask as the kernel writes it, in groups of 32 bits: `f`, `1,00000000`.
pub(super) fn mask_of(cpus: &CpuSet) -> String {
    let highest = cpus.iter().last().unwrap_or(0);
    let group = |n: usize| {
        (0..32).fold(0_u32, |bits, bit| {
            bits | u32::from(cpus.contains(n * 32 + bit)) << bit
        })
    };
    let mut text = format!("{:x}", group(highest / 32));
    for n in (0..highest / 32).rev() {
        text.push_str(&format!(",{:08x}", group(n)));
    }
    text
}

/// Reads such a mask; `None` for any other text.
pub(super) fn cpus_of(mask: &str) -> Option<CpuSet> {
    let mut cpus = CpuSet::default();
    for (n, group) in mask.trim().rsplit(',').enumerate() {
        let bits = u32::from_str_radix(group, 16).ok()?;
        for bit in (0..32).filter(|bit| bits & (1 << bit) != 0) {
            let cpu = n * 32 + bit;
            if cpu >= CpuSet::MAX {
                return None;
            }
            cpus.insert(cpu);
        }
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn masks_are_written_as_the_kernel_writes_them() {
        for (list, mask) in [
            ("0", "1"),
            ("0-1", "3"),
            ("32", "1,00000000"),
            ("4,63", "80000000,00000010"),
        ] {
            let cpus: CpuSet = list.parse().unwrap();
            assert_eq!(mask_of(&cpus), mask);
        }
        assert_eq!(cpus_of("00000000,0000000f\n").unwrap().to_string(), "0-3");
        assert_eq!(cpus_of("nonsense"), None);
    }

    #[test]
    fn a_wish_that_cannot_be_met_is_refused_by_its_cause() {
        let of = |cpus: &str, available: &str| {
            Plan::of(
                &cpus.parse().unwrap_or_default(),
                &available.parse().unwrap(),
            )
        };
        assert!(matches!(of("", "0-1"), Err(RaiseShieldError::NoCpus)));
        assert!(matches!(
            of("0-1", "0-1"),
            Err(RaiseShieldError::AllCpus { .. })
        ));
        assert!(matches!(of("0", "0"), Err(RaiseShieldError::OneCpu)));
        let Err(RaiseShieldError::Offline { absent, .. }) = of("1-2", "0-1") else {
            panic!("CPU 2 is not there");
        };
        assert_eq!(absent, "2");
    }

    proptest! {
        #[test]
        fn a_mask_survives_its_own_digits(cpus in proptest::collection::btree_set(0_usize..1024, 1..40)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(cpus_of(&mask_of(&set)), Some(set));
        }
    }
}
