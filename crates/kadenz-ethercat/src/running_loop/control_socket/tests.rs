//! The control socket from both sides; devices answer where the loop runs: see the tests over a cable.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::*;
use crate::control::catalogue::{Catalogue, Direction, Item};
use crate::control::health::Health;
use crate::control::notice::{Event, Notices};
use crate::control::output_requests::OutputRequests;
use crate::control::process_image::{ProcessImageWriter, words_for};
use crate::control::supervisor::DeviceTable;
use crate::main_device::acyclic::AcyclicQueue;
use crate::motion::MotionHandle;
use crate::sync::AtomicU64;

mod hostile;
mod published_image;

const LONG: Duration = Duration::from_secs(10);

/// Runs `work` at a control socket without devices.
fn at_a_control_socket(work: impl FnOnce(&Path, &Notices)) {
    at_a_control_socket_with(None, None, None, work);
}

/// Runs `work` at a control socket that shows what a loop publishes, passes outputs on to it, and stops
/// its axes.
fn at_a_control_socket_with(
    shown: Option<PublishedImage<'_>>,
    output_requests: Option<&OutputRequests>,
    handle: Option<&MotionHandle>,
    work: impl FnOnce(&Path, &Notices),
) {
    open_a_control_socket(|_| (), shown, output_requests, handle, work);
}

/// Runs `work` at a control socket with other limits.
fn at_a_control_socket_of(limits: client_slots::ClientLimits, work: impl FnOnce(&Path)) {
    let set = |server: &mut ControlServer| server.limits = limits;
    open_a_control_socket(set, None, None, None, |path, _| work(path));
}

fn open_a_control_socket(
    set: impl FnOnce(&mut ControlServer),
    shown: Option<PublishedImage<'_>>,
    output_requests: Option<&OutputRequests>,
    handle: Option<&MotionHandle>,
    work: impl FnOnce(&Path, &Notices),
) {
    let folder = tempfile::tempdir().unwrap();
    let mut server = ControlServer::open_in(folder.path(), "test").unwrap();
    set(&mut server);
    let (device_table, notices) = (DeviceTable::new(Vec::new()), Notices::new());
    let (health, queue) = (Health::new(), AcyclicQueue::default());
    queue.end();
    let counter = ServerContext {
        device_table: &device_table,
        notices: &notices,
        health: &health,
        timing: None,
        queue: &queue,
        shown,
        output_requests,
        handle,
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| server.serve(&counter, &stop));
        let work = std::panic::AssertUnwindSafe(|| work(server.path(), &notices));
        let outcome = std::panic::catch_unwind(work);
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

fn hello(client: &mut ControlClient) -> u32 {
    match client.request(&Question::Hello {}).unwrap() {
        Answer::Hello { pid, .. } => pid,
        other => panic!("{other:?}"),
    }
}

#[test]
fn several_clients_are_answered_and_hear_the_same_notices() {
    at_a_control_socket(|path, notices| {
        let mut asking = ControlClient::at(path).unwrap();
        let mut hearing: Vec<_> = (0..3)
            .map(|_| ControlClient::at(path).unwrap().listen().unwrap())
            .collect();
        assert_eq!(hello(&mut asking), std::process::id());
        notices.publish(MonotonicTime::from_ns(1), None, Event::WireLost);
        for hearing in &mut hearing {
            match hearing.next_within(LONG).unwrap() {
                Some(ReceivedNotice::Notice(notice)) => assert_eq!(notice.event, Event::WireLost),
                other => panic!("{other:?}"),
            }
        }
        match asking.request(&Question::Recent {}).unwrap() {
            Answer::Notices(recent) => assert_eq!(recent.len(), 1),
            other => panic!("{other:?}"),
        }
        let answer = asking.request(&Question::Devices {}).unwrap();
        assert_eq!(answer, Answer::Devices(Vec::new()));
    });
}

#[test]
fn what_cannot_be_done_is_said_with_a_remedy() {
    at_a_control_socket(|path, _| {
        let mut client = ControlClient::at(path).unwrap();
        let mut refusal = |question: &Question| match client.request(question) {
            Err(ClientError::Refused(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(refusal(&Question::Stats {}).contains("no statistics"));
        let state = |state: Option<&str>| Question::State {
            device: 3,
            state: state.map(str::to_owned),
        };
        assert!(refusal(&state(None)).contains("no device 3"));
        assert!(refusal(&state(Some("FLYING"))).contains("INIT, PREOP, SAFEOP or OP"));
    });
}

#[test]
fn registers_that_a_device_lives_by_are_not_written_in_passing() {
    at_a_control_socket(|path, _| {
        let mut client = ControlClient::at(path).unwrap();
        let mut refusal = |question: &Question| match client.request(question) {
            Err(ClientError::Refused(why)) => why,
            other => panic!("{other:?}"),
        };
        let write = |address, length, force| Question::RegisterWrite {
            device: 3,
            address,
            value: vec![0; length],
            force,
        };
        assert!(refusal(&write(0x0120, 2, false)).contains("that the state needs"));
        for question in [write(0x0120, 2, true), write(0x0300, 8, false)] {
            assert!(refusal(&question).contains("no device 3"));
        }
        for length in [0, 1025] {
            let read = Question::RegisterRead {
                device: 3,
                address: 0x1000,
                length,
            };
            assert!(refusal(&read).contains("1 to 1024"));
            assert!(refusal(&write(0x1000, length.into(), true)).contains("1 to 1024"));
        }
        assert!(refusal(&Question::Sii { device: 3 }).contains("no device 3"));
    });
}

#[test]
fn hostile_lines_are_refused_and_others_go_on_being_served() {
    at_a_control_socket(|path, _| {
        let mut good = ControlClient::at(path).unwrap();
        let deep = format!("{}\n", "[".repeat(100_000));
        for line in [
            "\n",
            "null\n",
            "{\"ask\":\"fly\"}\n",
            "{\"ask\":\"state\"}\n",
            "{\"ask\":\"hello\",\"x\":1}\n",
            "{\"ask\":\"sdo_read\",\"device\":-1,\"index\":1}\n",
            deep.as_str(),
        ] {
            let mut stream = UnixStream::connect(path).unwrap();
            stream.write_all(line.as_bytes()).unwrap();
            let mut answer = [0; 64];
            let length = stream.read(&mut answer).unwrap();
            assert!(answer[..length].starts_with(b"{\"error\":"), "{line:.40}");
        }
        let mut bytes = UnixStream::connect(path).unwrap();
        bytes.write_all(&[0xFF, 0xC0, 0, b'\n']).unwrap();
        let mut endless = UnixStream::connect(path).unwrap();
        // The connection is closed, or the last line says why it ends.
        let piece = [b'x'; 65_536];
        while endless.write_all(&piece).is_ok() {}
        hello(&mut good);
    });
}

/// A client for each thread that there may be.
fn all_clients(path: &Path) -> Vec<ControlClient> {
    let clients = (0..MAX_CLIENTS).map(|_| {
        let mut client = ControlClient::at(path).unwrap();
        client.request(&Question::Devices {}).unwrap();
        client
    });
    clients.collect()
}

#[test]
fn one_client_too_many_is_refused_and_one_that_goes_makes_room() {
    at_a_control_socket(|path, _| {
        let mut all = all_clients(path);
        let mut late = ControlClient::at(path).unwrap();
        // A client that wants to stop the axes is heard nevertheless, however often.
        for _ in 0..5 {
            hello(&mut late);
            let received = late.request(&Question::Stop { by: None }).unwrap_err();
            assert!(received.to_string().contains("moves no axes"), "{received}");
        }
        for _ in 0..2 {
            let why = late.request(&Question::Devices {}).unwrap_err().to_string();
            assert!(why.contains("16 clients"), "{why}");
        }
        all.truncate(4);
        let end = std::time::Instant::now() + LONG;
        while late.request(&Question::Devices {}).is_err() {
            assert!(std::time::Instant::now() < end, "no room was made");
            std::thread::sleep(Duration::from_millis(10));
        }
    });
}

#[test]
fn idle_and_watching_clients_prevent_no_stop() {
    let handle = MotionHandle::default();
    at_a_control_socket_with(None, None, Some(&handle), |path, _| {
        let _all = all_clients(path);
        // As many again as there are other slots: some say nothing, some ask without end.
        let silent: Vec<_> = (0..8).map(|_| UnixStream::connect(path).unwrap()).collect();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut polling = ControlClient::at(path).unwrap();
                    while !done.load(Ordering::Relaxed) {
                        let _ = polling.request(&Question::Axes {});
                        std::thread::sleep(Duration::from_millis(2));
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(100));
            let asked =
                ControlClient::at(path).and_then(|mut it| it.request(&Question::Stop { by: None }));
            done.store(true, Ordering::Relaxed);
            let why = asked.unwrap_err().to_string();
            assert!(why.contains("takes effect in its next cycle"), "{why}");
            assert!(handle.take_stop().is_some());
        });
        drop(silent);
    });
}

#[test]
fn an_idle_client_makes_room_and_is_heard_again() {
    let limits = client_slots::ClientLimits {
        idle: Duration::from_millis(100),
        ..client_slots::ClientLimits::default()
    };
    at_a_control_socket_of(limits, |path| {
        let mut all = all_clients(path);
        std::thread::sleep(Duration::from_millis(300));
        let mut late = ControlClient::at(path).unwrap();
        let end = std::time::Instant::now() + LONG;
        while late.request(&Question::Devices {}).is_err() {
            assert!(std::time::Instant::now() < end, "no room was made");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Each of them, including the one that had to go.
        drop(late);
        for client in &mut all {
            hello(client);
        }
    });
}

#[test]
fn a_client_without_a_thread_is_refused_and_the_server_lives() {
    let limits = client_slots::ClientLimits {
        // More than any address space has room for.
        stack: usize::MAX >> 4,
        ..client_slots::ClientLimits::default()
    };
    at_a_control_socket_of(limits, |path| {
        // More often than there are slots, of which none is lost.
        for _ in 0..30 {
            let mut client = ControlClient::at(path).unwrap();
            let refused = client
                .request(&Question::Devices {})
                .unwrap_err()
                .to_string();
            assert!(
                refused.contains("no thread for one more client"),
                "{refused}"
            );
        }
        let mut client = ControlClient::at(path).unwrap();
        hello(&mut client);
        let received = client.request(&Question::Stop { by: None }).unwrap_err();
        assert!(received.to_string().contains("moves no axes"), "{received}");
    });
}

#[test]
fn a_control_socket_that_cannot_listen_says_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("x".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    let why = ControlServer::open_in(&deep, "robot")
        .unwrap_err()
        .to_string();
    assert!(why.contains("at most 107 bytes"), "{why}");
    assert!(why.contains("XDG_RUNTIME_DIR"), "{why}");
}

#[test]
fn a_stop_stands_also_before_the_loop_has_reported_any_axis() {
    let handle = MotionHandle::default();
    at_a_control_socket_with(None, None, Some(&handle), |path, _| {
        let mut client = ControlClient::at(path).unwrap();
        hello(&mut client);
        let error = client.request(&Question::Stop { by: None }).unwrap_err();
        let why = error.to_string();
        assert!(why.contains("takes effect in its next cycle"), "{why}");
        assert!(handle.take_stop().is_some());
    });
}

#[test]
fn a_name_has_one_control_socket_and_what_a_killed_one_left_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let first = ControlServer::open_in(folder.path(), "robot").unwrap();
    let second = ControlServer::open_in(folder.path(), "robot").unwrap_err();
    let owner = format!("(process {})", std::process::id());
    assert!(second.to_string().contains(&owner), "{second}");
    ControlServer::open_in(folder.path(), "other").unwrap();
    let path = first.path().to_owned();
    drop(first);
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 0, "neither sockets nor locks pile up");
    // As after `kill -9`: a socket and a lock that no process holds.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    assert!(matches!(
        ControlClient::at(&path),
        Err(ClientError::NoLoop(_))
    ));
    ControlServer::open_in(folder.path(), "robot").unwrap();
    for bad in ["", "a/b", "../x", ".x", "a b"] {
        assert!(ControlServer::open_in(folder.path(), bad).is_err(), "{bad}");
    }
}

#[test]
fn a_question_is_the_line_that_the_documentation_shows() {
    let line = r#"{"ask":"sdo_read","device":3,"index":4120,"sub":1}"#;
    let question = Question::SdoRead {
        device: 3,
        index: 4120,
        sub: 1,
    };
    assert_eq!(serde_json::to_string(&question).unwrap(), line);
    assert_eq!(serde_json::from_str::<Question>(line).unwrap(), question);
    let reply = Reply::Ok(Answer::Bytes(vec![1, 0]));
    let line = serde_json::to_string(&reply).unwrap();
    assert_eq!(line, r#"{"ok":{"bytes":[1,0]}}"#);
}
