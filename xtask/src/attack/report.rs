//! What an attack tried and found.

/// The result of one attack.
#[derive(Debug)]
pub struct Report {
    name: &'static str,
    /// How many cases were tried.
    pub tried: u64,
    findings: Vec<Finding>,
    figures: Vec<(String, String)>,
}

#[derive(Debug)]
struct Finding {
    fault: String,
    reproduce: String,
}

impl Report {
    /// Nothing tried yet.
    pub fn new(name: &'static str) -> Self {
        let (findings, figures) = (Vec::new(), Vec::new());
        Self {
            name,
            tried: 0,
            findings,
            figures,
        }
    }

    /// Something is wrong, and this command shows it.
    pub fn finding(&mut self, fault: String, reproduce: String) {
        eprintln!("{}: {fault}\n  {reproduce}", self.name);
        self.findings.push(Finding { fault, reproduce });
    }

    /// Something that was measured.
    pub fn figure(&mut self, name: &str, value: String) {
        self.figures.push((name.to_owned(), value));
    }

    /// Whether nothing was found, and something was tried.
    pub fn clean(&self) -> bool {
        self.findings.is_empty() && self.tried > 0
    }

    /// In words: a line of sums, a line a figure, a line a finding.
    pub fn text(&self) -> String {
        let mut lines = vec![format!(
            "{}: {} tried, {} findings",
            self.name,
            self.tried,
            self.findings.len()
        )];
        lines.extend(
            self.figures
                .iter()
                .map(|(name, value)| format!("  {name}: {value}")),
        );
        let findings = self.findings.iter();
        lines.extend(findings.map(|it| {
            format!(
                "  FOUND {}\n    {}",
                it.fault.replace('\n', " | "),
                it.reproduce
            )
        }));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attack_that_tried_nothing_is_not_clean() {
        let mut report = Report::new("inputs");
        assert!(!report.clean());
        report.tried = 1;
        assert!(report.clean());
        report.finding("panicked".to_owned(), "kadenz show x".to_owned());
        assert!(!report.clean());
        assert!(report.text().contains("kadenz show x"));
    }
}
