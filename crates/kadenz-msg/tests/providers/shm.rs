//! `shm://`.

use std::io::{BufRead as _, BufReader, Write as _, stdout};
use std::process::{Command, Stdio};
use std::sync::Arc;

use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::{Provider, shm::Shm};

use crate::ends::{a_new_subscription_gets_no_old_messages, channel, collect, joined_pair};
use crate::promises::{Open, promises};
use crate::unique;

fn fresh(query: &'static str) -> Open {
    let url = format!("shm://{}{query}", unique());
    let address = Address::parse(&url).unwrap();
    Box::new(move || -> Arc<dyn Provider> { Arc::new(Shm::open(&address).unwrap()) })
}

#[test]
fn shared_memory_keeps_its_promises() {
    promises(|| fresh(""));
}

#[test]
fn shared_memory_keeps_its_promises_to_those_that_poll() {
    promises(|| fresh("?wait=poll"));
}

#[test]
fn a_new_subscription_gets_no_message_of_before() {
    for query in ["", "?wait=poll"] {
        a_new_subscription_gets_no_old_messages(&*fresh(query)());
    }
}

/// The environment variable with the bus that a child process of this test opens and does not close.
const BUS_OF_THE_KILLED: &str = "KADENZ_TEST_KILLED_BUS";

#[test]
fn what_a_killed_program_leaves_is_cleaned_and_the_bus_goes_on() {
    if let Ok(url) = std::env::var(BUS_OF_THE_KILLED) {
        return be_killed(&url);
    }
    let url = format!("shm://{}?inlets=2&outlets=2", unique());
    let address = Address::parse(&url).unwrap();
    // More kills than the bus has slots for outlets and inlets.
    for _ in 0..4 {
        let test = "shm::what_a_killed_program_leaves_is_cleaned_and_the_bus_goes_on";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(BUS_OF_THE_KILLED, &url)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("it holds both ends")));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let bus = Shm::open(&address).unwrap();
    let (mut outlet, mut inlet) = joined_pair(&bus, &["A"]);
    outlet.publish(&channel("A"), b"goes on").unwrap();
    assert_eq!(collect(&mut *inlet, 1)[0].payload, b"goes on");
    let second = (bus.outlet(), bus.inlet());
    assert!(second.0.is_ok() && second.1.is_ok(), "{second:?}");
    assert!(bus.outlet().is_err(), "a third outlet has no place");
}

fn be_killed(url: &str) {
    let bus = Shm::open(&Address::parse(url).unwrap()).unwrap();
    let _ends = joined_pair(&bus, &["A"]);
    let mut out = stdout();
    writeln!(out, "it holds both ends").unwrap();
    loop {
        std::thread::park();
    }
}
