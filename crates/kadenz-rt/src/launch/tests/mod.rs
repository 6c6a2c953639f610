//! Programs that report their own settings, against the settings that `start` reported.

mod inherited;
mod lock;
mod place;

use std::io::Read as _;
use std::process::Command;

use super::*;
use crate::os::linux::sched;
use crate::testing::skip;

/// What a shell script prints on standard output when it is started so, and the granted measures.
fn say(script: &str, launch: &Launch) -> (String, Vec<Measure>) {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    output(command, launch)
}

fn output(mut command: Command, launch: &Launch) -> (String, Vec<Measure>) {
    let (mut reader, writer) = io::pipe().unwrap();
    command.stdout(writer);
    let mut program = start(command, launch).unwrap();
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert!(program.wait().unwrap().success(), "{said}");
    (said, program.measures().to_vec())
}

fn measure<'a>(measures: &'a [Measure], name: &str) -> &'a Measure {
    let found = measures.iter().find(|measure| measure.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {measures:?}"))
}

#[test]
fn a_pipe_is_enlarged() {
    let (reader, _writer) = io::pipe().unwrap();
    let least = 1 << 17;
    assert!(enlarge_pipe(&reader, least).unwrap() >= least);
}
