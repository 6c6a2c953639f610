use super::GeneratedFile;
use super::plan::{Plan, Words};
pub(super) const WORDS: Words = Words { keywords: &[], members: &[], derived: &[], separator: ".", before_underscore: "", default_package: "" };
pub(super) fn write(_: &Plan<'_>) -> Vec<GeneratedFile> { Vec::new() }
