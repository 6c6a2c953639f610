//! Promises of more memory than there is.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Overcommit;

const ID: &str = "memory-overcommit";
const PATH: &str = "/proc/sys/vm/overcommit_memory";

impl Check for Overcommit {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let finding = match machine.root.read_number(PATH) {
            Ok(2) => Finding::fine(ID, "memory is not overcommitted", format!("{PATH}: 2")),
            Ok(value) => note(value),
            Err(why) => Finding::unknown(ID, "memory overcommitment", &why),
        };
        vec![finding]
    }
}

fn note(value: i64) -> Finding {
    Finding::new(ID, Severity::Note, "more memory is promised than there is")
        .cost(
            "nothing until memory runs out; then the out-of-memory killer ends a process, perhaps \
             the controller (kernel documentation sysctl/vm, overcommit_memory; paper of H. Yoon \
             et al., 4, has it spare the robot's processes)",
        )
        .evidence(format!("{PATH}: {value}"))
        .remedy(remedy::now_and_for_good(
            "sudo choom -n -1000 -p <controller>",
            "in the controller's unit: OOMScoreAdjust=-1000",
        ))
}
