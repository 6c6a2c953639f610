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

/// Rule `real-time-headings`: an item's documentation of real-time safety stands under a heading of that name, where a
/// reader looks for it.
pub(crate) fn headings(files: &[SourceFile]) -> Vec<Finding> {
    let library = |file: &&SourceFile| {
        file.is("rs") && file.path.starts_with("crates/") && file.path.contains("/src/")
    };
    let mut findings = Vec::new();
    for file in files.iter().filter(library) {
        let mut is_under = false;
        for (at, line) in scan::shipped(&file.path, &file.text).lines().enumerate() {
            let Some(text) = line.trim_start().strip_prefix("///") else {
                is_under = false;
                continue;
            };
            if let Some(heading) = text.strip_prefix(" # ") {
                is_under = heading == "Real-time safety";
            }
            let says_so = text.contains("eal-time safe") || text.contains("real-time path");
            if says_so && !is_under {
                let place = format!("{}:{}", file.path, at + 1);
                let text = "real-time safety belongs under a heading `# Real-time safety`";
                findings.push(Finding::error(place, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_safety_without_a_heading_is_found() {
        let text = "/// Reads. Real-time safe.\nfn a() {}\n\
                    /// Reads.\n///\n/// # Real-time safety\n/// Not real-time safe.\nfn b() {}\n\
                    /// # Real-time safety\n/// None.\n///\n/// # Errors\n/// On a real-time path.\nfn c() {}\n";
        let found = headings(&[
            file("crates/a/src/lib.rs", text),
            file("crates/a/tests/b.rs", text),
        ]);
        assert_eq!(
            places(&found),
            ["crates/a/src/lib.rs:1", "crates/a/src/lib.rs:12"]
        );
    }
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
