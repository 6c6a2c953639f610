//! A control socket with scripted answers for tests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};

use kadenz::ethercat::control::supervisor::DeviceStatus;
use kadenz::ethercat::running_loop::control_socket::{Answer, ControlClient, Question, Reply};

use super::RunningLoop;

/// Calls `work` with a loop of this many devices; `answer` answers all questions except the one for the devices.
pub(in crate::commands::ethercat) fn with_a_server<R>(
    devices: usize,
    mut answer: impl FnMut(Question) -> Reply + Send,
    work: impl FnOnce(RunningLoop) -> R,
) -> R {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("ethercat-scripted.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let reply = move |question| match question {
        Question::Devices {} => Reply::Ok(Answer::Devices((0..devices).map(device).collect())),
        other => answer(other),
    };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            // A client that was disconnected finds no listener when it reconnects.
            drop(listener);
            attend(&stream, reply);
        });
        work(RunningLoop {
            client: ControlClient::at(&socket).unwrap(),
            name: "scripted".to_owned(),
            pid: std::process::id(),
        })
    })
}

/// Serves one client until it disconnects.
fn attend(mut stream: &UnixStream, mut reply: impl FnMut(Question) -> Reply) {
    for line in BufReader::new(stream).lines() {
        let question = serde_json::from_str(&line.unwrap()).unwrap();
        let reply = reply(question);
        let mut answer = serde_json::to_vec(&reply).unwrap();
        answer.push(b'\n');
        stream.write_all(&answer).unwrap();
        if matches!(reply, Reply::Closed(_)) {
            return;
        }
    }
}

fn device(device: usize) -> DeviceStatus {
    let number = u16::try_from(device).unwrap();
    DeviceStatus {
        device,
        name: format!("device-{device}"),
        description: String::new(),
        station: 0x1000 + number,
        alias: 0,
        identity: [0; 4],
        position: Some(number),
        status: 8,
        code: 0,
        links: 0,
        wanted: 8,
        losses: 0,
        recoveries: 0,
        emergencies: 0,
    }
}
