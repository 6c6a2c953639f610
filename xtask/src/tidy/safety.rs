//! The places of unsafe code.

use super::Finding;
use crate::repository::SourceFile;
use crate::scan;

/// The crates that may have unsafe code: for the operating system's calls, the pointers of C, and the handles of Java.
const UNSAFE_CRATES: [&str; 3] = ["crates/kadenz-rt/", "bindings/c/", "bindings/java/"];

/// How many lines above an `unsafe` its reason may begin.
const REASON_WITHIN: usize = 12;

/// Rule `unsafe`.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    files
        .iter()
        .filter(|file| file.is("rs"))
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &SourceFile) -> Vec<Finding> {
    let source: Vec<&str> = file.text.lines().collect();
    let mut findings = Vec::new();
    for (at, line) in file.code().lines().enumerate() {
        if !scan::has_word(line, "unsafe") || line.contains("unsafe(") {
            continue;
        }
        let place = format!("{}:{}", file.path, at + 1);
        if !UNSAFE_CRATES.iter().any(|it| file.path.starts_with(it)) {
            let crates = UNSAFE_CRATES.map(|it| it.trim_end_matches('/')).join(", ");
            let text = format!("unsafe code belongs into one of {crates}");
            findings.push(Finding::error(place, text));
        } else if is_block(line) && !has_reason(&source, at) {
            let text = "an unsafe block without a SAFETY comment above it";
            findings.push(Finding::error(place, text));
        }
    }
    findings
}

/// Blocks and implementations give a reason; `unsafe fn` states its contract under `# Safety`.
fn is_block(line: &str) -> bool {
    let after = line.split("unsafe").nth(1).unwrap_or_default().trim_start();
    after.starts_with('{') || after.starts_with("impl")
}

fn has_reason(source: &[&str], at: usize) -> bool {
    let from = at.saturating_sub(REASON_WITHIN);
    source[from..=at]
        .iter()
        .any(|line| line.contains("SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::{file, places};

    #[test]
    fn unsafe_outside_its_crate_is_found_and_the_word_in_a_text_is_not() {
        let files = [
            file(
                "crates/kadenz-lab/src/lib.rs",
                "// unsafe\nlet a = \"unsafe\";\nunsafe { f() }\n",
            ),
            file("crates/kadenz-lab/Cargo.toml", "unsafe_code = \"deny\""),
        ];
        assert_eq!(places(&check(&files)), ["crates/kadenz-lab/src/lib.rs:3"]);
    }

    #[test]
    fn a_block_without_a_reason_is_found() {
        let bare = "fn f() {\n    unsafe { g() }\n}\n";
        let reasoned = "fn f() {\n    // SAFETY: g has no conditions.\n    unsafe { g() }\n}\n";
        let files = [
            file("crates/kadenz-rt/src/a.rs", bare),
            file("crates/kadenz-rt/src/b.rs", reasoned),
            file(
                "crates/kadenz-rt/src/c.rs",
                "/// # Safety\npub unsafe fn f() {}\n",
            ),
            file("crates/kadenz-rt/src/d.rs", "unsafe impl Send for X {}\n"),
        ];
        let expected = ["crates/kadenz-rt/src/a.rs:2", "crates/kadenz-rt/src/d.rs:1"];
        assert_eq!(places(&check(&files)), expected);
    }
}
