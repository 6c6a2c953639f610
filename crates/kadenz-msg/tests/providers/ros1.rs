//! `ros1://`, against the master and the nodes of ROS 1 itself.

use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::{Provider, ros1::Ros1};
use kadenz_rt::clock;

use crate::ends::{channel, collect, free_port, inlet};
use crate::outside::{Program, beside, skip};
use crate::promises::{Open, promises};

/// `rosmsg md5 std_msgs/String`.
const STRING: &str = "type=std_msgs/String&md5=992ce8a1687cec8c8bd883ec73ca41d1";

const HOW: &str = "apt-get install python3-rosmaster python3-rospy python3-std-msgs";

/// A master of one test.
pub(crate) struct Master {
    pub(crate) port: u16,
    _program: Program,
    _logs: tempfile::TempDir,
}

/// Whether the system's Python has ROS's modules; reports a skipped test and returns `None` if not.
pub(crate) fn ros(test: &str) -> Option<()> {
    let import = "import rosmaster, rospy, std_msgs.msg";
    let output = Command::new("/usr/bin/python3")
        .args(["-c", import])
        .output();
    if output.is_ok_and(|output| output.status.success()) {
        return Some(());
    }
    skip(test, &format!("ROS 1's Python modules ({HOW})"));
    None
}

pub(crate) fn master() -> Master {
    master_at(free_port())
}

pub(crate) fn master_at(port: u16) -> Master {
    let logs = tempfile::tempdir().unwrap();
    let script = "import sys, rosmaster; rosmaster.rosmaster_main(['rosmaster'] + sys.argv[1:])";
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", script, "--core", "-p", &port.to_string()]);
    command
        .env("ROS_LOG_DIR", logs.path())
        .env("ROS_IP", "127.0.0.1");
    let program = Program::start(&mut command);
    let end = clock::now() + Duration::from_secs(60);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(clock::now() < end, "the master does not listen");
        thread::sleep(Duration::from_millis(20));
    }
    Master {
        port,
        _program: program,
        _logs: logs,
    }
}

pub(crate) fn bus(master: &Master) -> Ros1 {
    bus_with(master, "")
}

/// A bus of a master, with further parameters.
pub(crate) fn bus_with(master: &Master, more: &str) -> Ros1 {
    let url = format!("ros1://127.0.0.1:{}?{STRING}{more}", master.port);
    Ros1::open(&Address::parse(&url).unwrap()).unwrap()
}

/// Starts the rospy side with an action.
pub(crate) fn rospy(master: &Master, action: &str) -> Program {
    let mut command = Command::new("/usr/bin/python3");
    command.arg(beside("rospy_end.py"));
    command.args(action.split_whitespace());
    command.env(
        "ROS_MASTER_URI",
        format!("http://127.0.0.1:{}", master.port),
    );
    command.env("ROS_IP", "127.0.0.1");
    Program::start(&mut command)
}

/// Waits until the program has printed a line that contains `what`; returns the line.
pub(crate) fn until_said(program: &Program, what: &str) -> String {
    until_all_said(program, &[what]).remove(0)
}

/// The same for several texts in different lines.
pub(crate) fn until_all_said(program: &Program, whats: &[&str]) -> Vec<String> {
    let end = clock::now() + Duration::from_secs(20);
    let mut all = Vec::new();
    loop {
        all.extend(program.lines());
        let found = |what: &&str| all.iter().find(|line| line.contains(*what)).cloned();
        let said: Vec<String> = whats.iter().filter_map(found).collect();
        if said.len() == whats.len() {
            return said;
        }
        assert!(clock::now() < end, "no {whats:?} in {all:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn topics_keep_their_promises() {
    let Some(()) = ros("topics_keep_their_promises") else {
        return;
    };
    let master = master();
    promises(|| -> Open {
        let bus = Arc::new(bus(&master));
        Box::new(move || Arc::clone(&bus) as Arc<dyn Provider>)
    });
}

#[test]
fn what_rospy_publishes_is_received_by_name_and_by_pattern() {
    let Some(()) = ros("what_rospy_publishes_is_received_by_name_and_by_pattern") else {
        return;
    };
    let master = master();
    let _rospy = rospy(&master, "publish");
    for pattern in ["robot/chatter", "robot/.*"] {
        let mut inlet = inlet(&bus(&master), &[pattern]);
        let received = collect(&mut *inlet, 3);
        assert_eq!(received[0].channel, "robot/chatter");
        // A string in ROS's serialisation: its length, and its letters.
        assert_eq!(received[0].payload, b"\x05\0\0\0hello");
    }
}

#[test]
fn rospy_receives_what_is_published() {
    let Some(()) = ros("rospy_receives_what_is_published") else {
        return;
    };
    let master = master();
    let bus = bus(&master);
    let mut outlet = bus.outlet().unwrap();
    let rospy = rospy(&master, "subscribe");
    let end = clock::now() + Duration::from_secs(20);
    let mut lines = Vec::new();
    while !lines.iter().any(|line| line == "heard: hello from outside") {
        assert!(clock::now() < end, "{lines:?}");
        let payload = b"\x12\0\0\0hello from outside";
        outlet.publish(&channel("robot/chatter"), payload).unwrap();
        thread::sleep(Duration::from_millis(50));
        lines.extend(rospy.lines());
    }
}

#[test]
fn without_a_master_the_error_says_what_to_start() {
    let url = format!("ros1://127.0.0.1:{}?{STRING}", free_port());
    let bus = Ros1::open(&Address::parse(&url).unwrap()).unwrap();
    let error = bus.outlet().unwrap_err();
    assert!(error.remedy.contains("roscore"), "{error}");
    assert!(bus.inlet().is_err());
}
