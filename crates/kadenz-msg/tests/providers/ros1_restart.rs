//! A master of ROS 1 that ends and starts again.

use std::thread;
use std::time::Duration;

use kadenz_msg::provider::ros1::{ServiceError, ServiceType};
use kadenz_msg::provider::{Inlet, Outlet, Provider as _, PublishError};
use kadenz_rt::clock;

use crate::ends::{channel, free_port, inlet, join_all, look};
use crate::outside::Program;
use crate::ros1::{bus, master_at, ros, rospy, until_said};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Waits until a message with this payload arrives.
fn until_heard(inlet: &mut dyn Inlet, payload: &[u8]) {
    let end = clock::now() + TIMEOUT;
    loop {
        let received = look(inlet, Duration::from_millis(50));
        if received.iter().any(|it| it.payload == payload) {
            return;
        }
        assert!(clock::now() < end, "{payload:?} did not come");
    }
}

/// Publishes a string until rospy has received it.
fn until_rospy_hears(outlet: &mut dyn Outlet, rospy: &Program, said: &str) {
    let end = clock::now() + TIMEOUT;
    let payload = [&(said.len() as u32).to_le_bytes(), said.as_bytes()].concat();
    while !rospy.lines().iter().any(|line| line.contains(said)) {
        assert!(clock::now() < end, "rospy did not hear {said}");
        outlet.publish(&channel("robot/chatter"), &payload).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_master_that_starts_again_learns_of_all_and_connections_stay() {
    let Some(()) = ros("a_master_that_starts_again_learns_of_all_and_connections_stay") else {
        return;
    };
    let first = master_at(free_port());
    let (port, old, name) = (first.port, bus(&first), channel("robot/chatter"));
    let mut outlet = old.outlet().unwrap();
    let mut inlet = inlet(&old, &["robot/chatter"]);
    join_all(&mut *outlet, &mut [&mut *inlet], &["robot/chatter"]);
    // ROS's own nodes do not register again, and still send.
    let _rospy = rospy(&first, "publish");
    until_heard(&mut *inlet, b"\x05\0\0\0hello");

    drop(first);
    outlet.publish(&name, b"without a master").unwrap();
    until_heard(&mut *inlet, b"without a master");
    old.outlet().unwrap().publish(&name, b"another").unwrap();
    until_heard(&mut *inlet, b"another");
    let refused = outlet.publish(&channel("robot/new"), b"");
    assert!(matches!(refused, Err(PublishError::Refused { .. })));

    let second = master_at(port);
    let subscriber = rospy(&second, "subscribe");
    until_rospy_hears(&mut *outlet, &subscriber, "from the old publisher");
    let new = bus(&second);
    let mut new_outlet = new.outlet().unwrap();
    join_all(&mut *new_outlet, &mut [&mut *inlet], &["robot/chatter"]);
    outlet.publish(&name, b"still here").unwrap();
    until_heard(&mut *inlet, b"still here");
    // The inlet also hears publishers that the new master does not name.
    look(&mut *inlet, Duration::from_millis(10));
    until_heard(&mut *inlet, b"\x05\0\0\0hello");
    outlet.publish(&channel("robot/new"), b"").unwrap();
}

#[test]
fn a_channel_that_is_new_after_a_restart_hides_none_that_the_master_forgot() {
    let test = "a_channel_that_is_new_after_a_restart_hides_none_that_the_master_forgot";
    let Some(()) = ros(test) else {
        return;
    };
    let first = master_at(free_port());
    let (port, old) = (first.port, bus(&first));
    let mut outlet = old.outlet().unwrap();
    outlet.publish(&channel("robot/chatter"), b"").unwrap();
    drop(first);
    let second = master_at(port);
    // The new master knows the node from here on, even if the node has not yet noticed the restart.
    outlet.publish(&channel("robot/new"), b"").unwrap();
    let subscriber = rospy(&second, "subscribe");
    until_rospy_hears(&mut *outlet, &subscriber, "forgotten");
}

#[test]
fn a_service_is_found_again_after_a_restart() {
    let Some(()) = ros("a_service_is_found_again_after_a_restart") else {
        return;
    };
    let first = master_at(free_port());
    let (port, old) = (first.port, bus(&first));
    let level = ServiceType::new("roscpp/SetLoggerLevel", "51da076440d78ca1684d36c868df61ea");
    let server = old.offer_service("/robot/level", &level, 1, |_| Ok(Vec::new()));
    let _server = server.unwrap();
    let timeout = Duration::from_secs(10);
    let mut kept = old.service_client("/robot/level", &level.md5);
    assert!(kept.call(b"", timeout).unwrap().is_empty());
    drop(first);
    kept.call(b"", timeout).unwrap();
    let call = || old.service_client("/robot/level", "*").call(b"", timeout);
    assert!(matches!(call(), Err(ServiceError::NoMaster { .. })));
    let again = master_at(port);
    let rospy = rospy(&again, "call Warn");
    until_said(&rospy, "answered: Warn");
    call().unwrap();
}
