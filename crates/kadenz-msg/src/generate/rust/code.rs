/// Lines of code, indented.
#[derive(Default)]
pub(super) struct Code {
    text: String,
    depth: usize,
}

impl Code {
    /// A line; a closing bracket at its beginning ends a level, an opening one at its end begins one.
    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with(['}', ')', ']']) {
            self.depth = self.depth.saturating_sub(1);
        }
        if !line.is_empty() {
            self.text.push_str(&"    ".repeat(self.depth));
            self.text.push_str(line.trim_end());
        }
        self.text.push('\n');
        let word = line.trim_start();
        let comment = word.starts_with("//");
        if !comment && line.ends_with(['{', '(']) {
            self.depth += 1;
        }
    }

    /// Documentation: the comment of the `.lcm` file where there is one, else what is said instead.
    pub(super) fn doc(&mut self, comment: &str, instead: &str) {
        let filled = comment.lines().any(|it| !it.trim().is_empty());
        let text = if filled { comment } else { instead };
        for line in text.lines() {
            // Neither indentation nor fences: rustdoc would compile what is within.
            let line = line.trim().replace("```", "'''").replace("~~~", "---");
            self.line(&format!("/// {line}"));
        }
    }

    /// Text as it is.
    pub(super) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn text(self) -> String {
        self.text
    }
}

/// A text as a literal that may have several lines.
pub(super) fn literal(text: &str) -> String {
    let mut hashes = String::new();
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    format!("r{hashes}\"{text}\"{hashes}")
}
