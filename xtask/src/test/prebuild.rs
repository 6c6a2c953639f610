//! Builds of later steps run beside the tests of earlier ones.
//!
//! Tests of the workspace wait more than they compute, for measurements to end and for other processes. Builds with
//! flags of their own have a target folder of their own: one thread runs them at the lowest priority while tests run,
//! and their steps find them done. A build that fails here is tried again, and reported, by its step.

use std::process::Command;
use std::sync::mpsc::{Receiver, sync_channel};

use super::TestStep;
use crate::process;
use crate::repository::Repository;

/// Commands that build what a step runs, into a target folder that no other step uses.
pub(crate) type Builds = fn(&Repository) -> Vec<Command>;

/// For a step that has no such builds.
pub(crate) fn none(_: &Repository) -> Vec<Command> {
    Vec::new()
}

/// The builds of some steps, in their order.
pub(crate) struct Prebuilds(Vec<(&'static str, Receiver<()>)>);

impl Prebuilds {
    /// Begins the builds of all steps after the first; where a step runs alone, there are none.
    pub(crate) fn begin(repository: &Repository, steps: &[&'static TestStep]) -> Self {
        let mut ends = Vec::new();
        let mut waiting = Vec::new();
        for step in steps.iter().skip(1) {
            let (end, ended) = sync_channel(0);
            ends.push(((step.prebuilds)(repository), end));
            waiting.push((step.name, ended));
        }
        // A detached thread: the builds that it started end by themselves, also when a step fails.
        std::thread::spawn(move || {
            for (builds, end) in ends {
                builds.iter().for_each(run_at_lowest_priority);
                drop(end);
            }
        });
        Self(waiting)
    }

    /// Waits until the builds of this step have ended.
    pub(crate) fn wait(&self, name: &str) {
        if let Some((_, ended)) = self.0.iter().find(|(step, _)| *step == name) {
            // The sender is dropped at the end and never sends.
            let _ = ended.recv();
        }
    }
}

/// Runs a command at the lowest priority and discards its output.
fn run_at_lowest_priority(command: &Command) {
    let _ = process::silent(&mut lowest_priority(command)).status();
}

/// The same command behind `nice`, where there is one.
fn lowest_priority(command: &Command) -> Command {
    let mut lowered = match cfg!(unix) {
        true => {
            let mut nice = Command::new("nice");
            nice.args(["-n", "19"]).arg(command.get_program());
            nice
        }
        false => Command::new(command.get_program()),
    };
    lowered.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => lowered.env(name, value),
            None => lowered.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        lowered.current_dir(folder);
    }
    lowered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::{Outcome, STEPS};

    fn step(name: &'static str, prebuilds: Builds) -> TestStep {
        TestStep {
            name,
            about: "",
            prebuilds,
            run: |_, _| Ok(Outcome::Passed),
        }
    }

    #[test]
    fn each_prebuild_has_a_target_folder_of_its_own() {
        let repository = Repository::of_this_build();
        for build in STEPS.iter().flat_map(|it| (it.prebuilds)(&repository)) {
            let folder = build
                .get_envs()
                .find(|(name, _)| *name == "CARGO_TARGET_DIR")
                .and_then(|(_, value)| value);
            let spelled = process::spelled(&build);
            assert!(folder.is_some(), "it builds where tests run: {spelled}");
            assert_ne!(folder, Some(repository.target().as_os_str()), "{spelled}");
        }
    }

    #[test]
    fn a_step_waits_for_its_builds_and_the_first_has_none() {
        let marked = |repository: &Repository| {
            let mut mark = repository.command("sh");
            mark.args(["-c", "sleep 0.2; test -n \"$MARK\" && : > \"$MARK\""]);
            mark.env("MARK", repository.target().join("prebuild-mark"));
            vec![mark]
        };
        let steps: &[&'static TestStep] = &[
            Box::leak(Box::new(step("first", |_| panic!("no step waits for it")))),
            Box::leak(Box::new(step("second", marked))),
            Box::leak(Box::new(step("third", none))),
        ];
        let repository = Repository::of_this_build();
        let mark = repository.target().join("prebuild-mark");
        let _ = std::fs::remove_file(&mark);
        let prebuilds = Prebuilds::begin(&repository, steps);
        prebuilds.wait("first");
        prebuilds.wait("second");
        assert!(mark.exists(), "it did not wait");
        prebuilds.wait("third");
        std::fs::remove_file(&mark).expect("it was made");
    }

    #[test]
    fn a_command_at_the_lowest_priority_keeps_its_folder_and_its_variables() {
        let mut command = Command::new("cargo");
        command.arg("build").env("A", "b").current_dir("/");
        let lowered = lowest_priority(&command);
        assert!(process::spelled(&lowered).ends_with("cargo build"));
        assert!(process::spelled(&lowered).starts_with("A=b "));
        assert_eq!(lowered.get_current_dir(), command.get_current_dir());
    }
}
