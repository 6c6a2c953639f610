//! Statements on real-time safety in the documentation.

use std::collections::BTreeSet;

use super::Finding;
use crate::repository::{SourceFile, text_of};
use crate::scan;

const HEADING: &str = "# Real-time safety";

/// Files on the real-time path: what a loop calls in each cycle, and the types with which it calls.
const REAL_TIME_PATH: &[&str] = &[
    "crates/kadenz-camera/src/client.rs",
    "crates/kadenz-camera/src/client/group.rs",
    "crates/kadenz-camera/src/ring/mod.rs",
    "crates/kadenz-camera/src/ring/reader.rs",
    "crates/kadenz-camera/src/ring/writer.rs",
    "crates/kadenz/src/ethercat/io.rs",
    "crates/kadenz/src/ethercat/network_loop.rs",
    "crates/kadenz/src/ethercat/object.rs",
    "crates/kadenz/src/ethercat/shared_values.rs",
    "crates/kadenz/src/periodic.rs",
    "crates/kadenz/src/recording.rs",
    "crates/kadenz-ethercat/src/control/cyclic/context.rs",
    "crates/kadenz-ethercat/src/control/cyclic/mod.rs",
    "crates/kadenz-ethercat/src/control/cyclic/operate.rs",
    "crates/kadenz-ethercat/src/control/cyclic/publisher.rs",
    "crates/kadenz-ethercat/src/control/cyclic/report.rs",
    "crates/kadenz-ethercat/src/control/cyclic/settings.rs",
    "crates/kadenz-ethercat/src/control/cyclic/timekeeper.rs",
    "crates/kadenz-ethercat/src/control/health.rs",
    "crates/kadenz-ethercat/src/control/locked.rs",
    "crates/kadenz-ethercat/src/control/output_requests.rs",
    "crates/kadenz-ethercat/src/control/phase.rs",
    "crates/kadenz-ethercat/src/control/process_image.rs",
    "crates/kadenz-ethercat/src/control/timing.rs",
    "crates/kadenz-ethercat/src/main_device/acyclic.rs",
    "crates/kadenz-ethercat/src/main_device/cycle.rs",
    "crates/kadenz-ethercat/src/main_device/link.rs",
    "crates/kadenz-ethercat/src/motion/axis/mod.rs",
    "crates/kadenz-ethercat/src/motion/axis_group.rs",
    "crates/kadenz-ethercat/src/motion/axis_runner.rs",
    "crates/kadenz-ethercat/src/motion/braking.rs",
    "crates/kadenz-ethercat/src/motion/handle.rs",
    "crates/kadenz-ethercat/src/motion/pid.rs",
    "crates/kadenz-ethercat/src/motion/program.rs",
    "crates/kadenz-ethercat/src/motion/safety.rs",
    "crates/kadenz-ethercat/src/motion/trajectory/mod.rs",
    "crates/kadenz-ethercat/src/port/mod.rs",
    "crates/kadenz-ethercat/src/wire/frame.rs",
    "crates/kadenz-msg/src/bus/aggregator.rs",
    "crates/kadenz-msg/src/bus/delivery.rs",
    "crates/kadenz-msg/src/bus/leader_followers.rs",
    "crates/kadenz-msg/src/bus/listener.rs",
    "crates/kadenz-msg/src/bus/mailbox.rs",
    "crates/kadenz-msg/src/bus/mod.rs",
    "crates/kadenz-msg/src/bus/publisher.rs",
    "crates/kadenz-msg/src/bus/subscription.rs",
    "crates/kadenz-msg/src/codec/element.rs",
    "crates/kadenz-msg/src/codec/mod.rs",
    "crates/kadenz-msg/src/codec/reader.rs",
    "crates/kadenz-msg/src/codec/writer.rs",
    "crates/kadenz-msg/src/message.rs",
    "crates/kadenz-record/src/histogram/counts.rs",
    "crates/kadenz-record/src/phaser/mod.rs",
    "crates/kadenz-record/src/recorder/lone.rs",
    "crates/kadenz-record/src/recorder/mod.rs",
    "crates/kadenz-record/src/recorder/shared.rs",
    "crates/kadenz-record/src/run/folder/series.rs",
    "crates/kadenz-record/src/samples/ring.rs",
    "crates/kadenz-rt/src/beat/mod.rs",
    "crates/kadenz-rt/src/beat/overrun.rs",
    "crates/kadenz-rt/src/clock/mod.rs",
    "crates/kadenz-rt/src/clock/bridge.rs",
    "crates/kadenz-rt/src/clock/pair.rs",
    "crates/kadenz-rt/src/clock/time.rs",
    "crates/kadenz-rt/src/net/packet.rs",
    "crates/kadenz-rt/src/net/port/inbox.rs",
    "crates/kadenz-rt/src/net/port/mod.rs",
    "crates/kadenz-rt/src/net/port/options.rs",
    "crates/kadenz-rt/src/net/port/outbox.rs",
    "crates/kadenz-rt/src/pi_mutex/mod.rs",
    "crates/kadenz-rt/src/sleep/mod.rs",
    "crates/kadenz-udp/src/lib.rs",
];

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
            if text.starts_with(" # ") {
                is_under = text.trim_start() == HEADING;
            }
            let says_so = text.contains("eal-time safe") || text.contains("real-time path");
            if says_so && !is_under {
                let text = "real-time safety belongs under a heading `# Real-time safety`";
                findings.push(Finding::in_line(&file.path, at, text));
            }
        }
    }
    findings
}

/// Rule `real-time-items`: on the real-time path the documentation of each public function, or of its type or module,
/// has the heading, and so has that of each public trait.
pub(crate) fn items(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut stated, mut silent) = (BTreeSet::new(), Vec::new());
    for path in REAL_TIME_PATH {
        let Some(text) = text_of(files, path) else {
            let text = "is on the real-time path, and missing";
            findings.push(Finding::error(*path, text));
            continue;
        };
        if !is_stated_by_module(files, path, text) {
            let sources = path.split("/src/").next().unwrap_or_default();
            for item in public_items(scan::shipped(path, text)) {
                match item.is_stated {
                    true => _ = stated.insert((sources, item.name)),
                    false => silent.push((*path, sources, item)),
                }
            }
        }
    }
    silent.retain(|(_, sources, item)| {
        let is_stated = |it| stated.contains(&(*sources, it));
        item.must_state && !item.owner.is_some_and(is_stated)
    });
    findings.extend(silent.into_iter().map(|(path, _, item)| {
        let name = item.name;
        let text = format!("`{name}` is on the real-time path: add a heading `{HEADING}`");
        Finding::in_line(path, item.line, text)
    }));
    findings
}

/// Whether the documentation of the file, or of the module that the file is a part of, has the heading.
fn is_stated_by_module(files: &[SourceFile], path: &str, text: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let module = text_of(files, &format!("{folder}/mod.rs")).unwrap_or_default();
    let heading = format!("//! {HEADING}\n");
    text.contains(&heading) || module.contains(&heading)
}

/// A public type, trait or function.
struct Item<'a> {
    /// From 0.
    line: usize,
    name: &'a str,
    /// The type whose function it is.
    owner: Option<&'a str>,
    /// Whether its own documentation has the heading.
    is_stated: bool,
    /// Whether it is a function or a trait, which are called.
    must_state: bool,
}

fn public_items(text: &str) -> Vec<Item<'_>> {
    let (mut items, mut is_stated, mut owner) = (Vec::new(), false, None);
    for (at, line) in text.lines().enumerate() {
        let inner = line.trim_start();
        is_stated |= inner.strip_prefix("/// ") == Some(HEADING);
        if let Some(generics) = line.strip_prefix("impl") {
            owner = Some(implementor(generics));
        } else if line == "}" {
            owner = None;
        }
        let item = inner.strip_prefix("pub ").and_then(|it| {
            let it = it.strip_prefix("const ").unwrap_or(it);
            let mut kinds = ["fn ", "trait ", "struct ", "enum "].into_iter();
            kinds.find_map(|kind| Some((kind, scan::name_at(it.strip_prefix(kind)?))))
        });
        if let Some((kind, name)) = item {
            // A trait within a module of a file is a private one.
            let must_state = kind == "fn " || kind == "trait " && line == inner;
            items.push(Item {
                line: at,
                name,
                owner,
                is_stated,
                must_state,
            });
        }
        is_stated &= item.is_none() && !inner.is_empty();
    }
    items
}

/// The type of an `impl`, from what follows this word.
fn implementor(text: &str) -> &str {
    let mut depth = 0_usize;
    let end = text.find(|c| {
        depth = match c {
            '<' => depth + 1,
            '>' => depth.saturating_sub(1),
            _ => depth,
        };
        depth == 0 && c == ' '
    });
    let rest = text[end.unwrap_or(0)..].trim_start();
    scan::name_at(rest.split_once(" for ").map_or(rest, |(_, it)| it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::{file, places};

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

    #[test]
    fn public_functions_that_state_nothing_are_found() {
        let text = "/// A.\n///\n/// # Real-time safety\n/// Safe.\npub struct A;\n\n\
                    impl<'a, T: From<B>> X<B> for A {\n    pub fn a() {}\n}\n\n\
                    pub struct B;\n\nimpl B {\n    pub const fn b() {}\n\n    fn c() {}\n\n    \
                    /// # Real-time safety\n    /// Safe.\n    #[must_use]\n    pub fn d() {}\n}\n\n\
                    pub trait C {\n    fn e();\n}\n";
        let found: Vec<_> = public_items(text)
            .into_iter()
            .filter(|it| !it.is_stated)
            .collect();
        let named: Vec<_> = found.iter().map(|it| (it.name, it.owner)).collect();
        assert_eq!(
            named,
            [("a", Some("A")), ("B", None), ("b", Some("B")), ("C", None)]
        );
        let files: Vec<_> = REAL_TIME_PATH
            .iter()
            .skip(1)
            .map(|path| file(path, ""))
            .collect();
        assert_eq!(places(&items(&files)), [REAL_TIME_PATH[0]]);
        let silent = file(REAL_TIME_PATH[0], text);
        let found = items(&[vec![silent], files].concat());
        let lines = [14, 24].map(|it| format!("{}:{it}", REAL_TIME_PATH[0]));
        assert_eq!(places(&found), lines);
    }
}
