//! How many cycles lie between a sensor, the controller and an actuator, beside the paper's. In virtual
//! time: what it prints is the same on every machine.
#![allow(clippy::print_stdout, reason = "an example speaks to who runs it")]

use std::time::Duration;

use kadenz_ethercat::control::cyclic::Mode;
use kadenz_ethercat::control::latency::{
    Experiment, ExperimentError, Latency, Sends, measure, paper,
};

fn span(latency: &Latency) -> String {
    latency.summary().map_or("nothing".to_owned(), |it| {
        format!("{:.2} to {:.2}, p50 {:.2}", it.min, it.max, it.p50)
    })
}

fn row(name: &str, experiment: &Experiment) -> Result<(), ExperimentError> {
    let all = measure(experiment)?;
    let [sensor, command, reaction] = [&all.sensor, &all.command, &all.reaction].map(span);
    println!("{name:<46} {sensor:<26} {command:<26} {reaction}");
    Ok(())
}

fn main() -> Result<(), ExperimentError> {
    println!(
        "{:<46} {:<26} {:<26} reaction",
        "cycles", "sensor", "command"
    );
    let [sensor, command, reaction] = [paper::SENSOR, paper::COMMAND, paper::REACTION]
        .map(|(from, to)| format!("{from} to {to}"));
    println!(
        "{:<46} {sensor:<26} {command:<26} {reaction}",
        "the paper says"
    );
    let papers = Experiment::paper();
    row("pipelined, sends a cycle later (the paper's)", &papers)?;
    let at_once = Experiment {
        sends: Sends::AtOnce,
        ..papers
    };
    row("pipelined, sends at once", &at_once)?;
    let synchronous = Experiment {
        mode: Mode::Synchronous {
            wait: Duration::from_micros(900),
        },
        ..at_once
    };
    row("synchronous", &synchronous)?;
    let pulsed = Experiment {
        work: Duration::ZERO,
        sync0: Some(Duration::from_micros(250)),
        ..at_once
    };
    row("pipelined, at once, SYNC0 at 0.25 cycles", &pulsed)?;
    let both = Experiment {
        mode: synchronous.mode,
        sync0: Some(Duration::from_micros(900)),
        ..pulsed
    };
    row("synchronous, SYNC0 at 0.9 cycles", &both)
}
