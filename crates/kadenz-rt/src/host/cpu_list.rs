//! The kernel's way of writing sets of CPUs: `0-3,8,10-11`, and masks: `ff,00000001`.

/// No kernel is built for more CPUs (the limit of `CONFIG_NR_CPUS`); larger numbers are ignored.
const MAX_CPUS: u32 = 8192;

/// Reads `0-3,8`; parts that cannot be read are left out, as the kernel itself writes no such parts.
///
/// ```
/// assert_eq!(kadenz_rt::host::cpu_list::parse_list("0-2,5"), [0, 1, 2, 5]);
/// assert!(kadenz_rt::host::cpu_list::parse_list("").is_empty());
/// ```
#[must_use]
pub fn parse_list(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').take(MAX_CPUS as usize) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            cpus.extend(first..=last.min(MAX_CPUS - 1));
        }
        if cpus.len() > 2 * MAX_CPUS as usize {
            break;
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Writes `[0, 1, 2, 5]` as `0-2,5`.
#[must_use]
pub(crate) fn format_list(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let parts = parts.into_iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_go_there_and_back() {
        for text in ["0", "0-3", "1,3,5", "0-1,7-9"] {
            assert_eq!(format_list(&parse_list(text)), text);
        }
    }

    #[test]
    fn a_wild_list_stays_bounded() {
        assert_eq!(parse_list("0-4294967295").len(), MAX_CPUS as usize);
        assert!(parse_list("9-2,x,-,4294967296").is_empty());
        assert!(parse_list(&"0-8191,".repeat(1000)).len() <= MAX_CPUS as usize);
    }
}
