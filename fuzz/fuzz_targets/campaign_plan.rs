//! Any text as a plan of a campaign: a plan within its limits, whose runs all differ, or an error text.
#![no_main]

use std::collections::HashSet;

use kadenz_lab::campaign::{Plan, limits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let plan = match Plan::parse(text) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!((1..=limits::RUNS).contains(&plan.count()));
    assert!(plan.parameters.len() <= limits::PARAMETERS);
    assert_eq!(plan.difference(&plan), None);
    let mut seen = HashSet::new();
    for (place, run) in plan.runs().enumerate() {
        assert_eq!(run.number, place + 1);
        assert!(run.combination < plan.combinations());
        assert!(seen.insert((run.round, run.combination)));
    }
    assert_eq!(seen.len(), plan.count());
    let _ = plan.measuring_time();
    for combination in plan.every_value_once() {
        assert_eq!(plan.values(combination).len(), plan.parameters.len());
        assert!(plan.words(combination).len() >= plan.command.len());
    }
});
