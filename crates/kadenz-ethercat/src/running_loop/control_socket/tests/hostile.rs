//! Clients that hold connections, are silent, or belong to another user.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::*;
use crate::running_loop::control_socket::pending::MAX_PENDING;

/// The replies of a control socket to a client that it closes.
fn said(stream: UnixStream) -> Vec<Reply> {
    stream.set_read_timeout(Some(LONG)).unwrap();
    let lines = BufReader::new(stream).lines();
    let replies = lines.map(|it| serde_json::from_str(&it.unwrap()).unwrap());
    replies.collect()
}

#[test]
fn a_stop_is_heard_beside_hundreds_of_idle_connections() {
    let handle = MotionHandle::default();
    at_a_control_socket_with(None, None, Some(&handle), |path, _| {
        let idle: Vec<_> = (0..500)
            .map(|_| UnixStream::connect(path).unwrap())
            .collect();
        let mut client = ControlClient::at(path).unwrap();
        // The request would end in `Silent` if the server waited for those clients to go.
        let why = client.request(&Question::Stop { by: None }).unwrap_err();
        assert!(
            why.to_string().contains("takes effect in its next cycle"),
            "{why}"
        );
        assert!(handle.take_stop().is_some());
        hello(&mut client);
        drop(idle);
    });
}

#[test]
fn a_stop_is_ordered_before_anybody_waits_for_its_answer() {
    let handle = MotionHandle::default();
    at_a_control_socket_with(None, None, Some(&handle), |path, _| {
        // More clients than there are threads, and none reads its answers.
        let all: Vec<_> = (0..40)
            .map(|_| {
                let mut stream = UnixStream::connect(path).unwrap();
                stream.write_all(b"{\"ask\":\"stop\"}\n").unwrap();
                stream
            })
            .collect();
        let end = std::time::Instant::now() + LONG;
        while handle.take_stop().is_none() {
            assert!(std::time::Instant::now() < end, "no client was heard");
        }
        for stream in all {
            let mut reply = String::new();
            stream.set_read_timeout(Some(LONG)).unwrap();
            BufReader::new(stream).read_line(&mut reply).unwrap();
            assert!(reply.contains("takes effect in its next cycle"), "{reply}");
        }
    });
}

#[test]
fn a_silent_client_is_closed_with_the_reason() {
    let limits = client_slots::ClientLimits {
        silent: Duration::from_secs(1),
        ..client_slots::ClientLimits::default()
    };
    at_a_control_socket_of(limits, |path| {
        let half = UnixStream::connect(path).unwrap();
        (&half).write_all(b"{\"ask\":").unwrap();
        for stream in [UnixStream::connect(path).unwrap(), half] {
            match &said(stream)[..] {
                [Reply::Closed(why)] => {
                    assert!(why.contains("nothing was asked for 1s"), "{why}");
                }
                other => panic!("{other:?}"),
            }
        }
        // A client that asks now and then stays.
        let mut asking = ControlClient::at(path).unwrap();
        hello(&mut asking);
        std::thread::sleep(Duration::from_millis(1500));
        hello(&mut asking);
    });
}

#[test]
fn of_too_many_clients_one_that_never_asked_goes_first() {
    at_a_control_socket(|path, _| {
        let mut asked = ControlClient::at(path).unwrap();
        hello(&mut asked);
        let mut silent: Vec<_> = (0..2 * MAX_PENDING)
            .map(|_| UnixStream::connect(path).unwrap())
            .collect();
        match &said(silent.remove(0))[..] {
            [Reply::Closed(why)] => assert!(why.contains("others are connected"), "{why}"),
            other => panic!("{other:?}"),
        }
        // Over the connection that it had: a closed one would end this request with an error.
        let stop = asked.request(&Question::Axes {}).unwrap_err();
        assert!(matches!(stop, ClientError::Refused(_)), "{stop}");
    });
}

#[test]
fn others_may_neither_connect_to_a_socket_nor_stop_axes_where_they_can() {
    let folder = tempfile::tempdir().unwrap();
    let server = ControlServer::open_in(folder.path(), "test").unwrap();
    let mode = std::fs::metadata(server.path())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(server);
    let nobody = 65_534;
    let handle = MotionHandle::default();
    at_a_control_socket_with(None, None, Some(&handle), |path, _| {
        // Permissions that let every user in.
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(path.parent().unwrap(), open.clone()).unwrap();
        std::fs::set_permissions(path, open).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        let test = "running_loop::control_socket::tests::hostile::a_stop_of_another_user";
        command.args([test, "--exact", "--ignored", "--nocapture"]);
        command.env("KADENZ_TEST_SOCKET", path);
        let asked = command.uid(nobody).gid(nobody).output();
        let (missing, output) = match asked {
            Ok(output) => (None, Some(output)),
            Err(error) => (Some(error), None),
        };
        let Some(output) = output else {
            let why = format!("the right to be another user, as root has it: {missing:?}");
            assert_ne!(
                std::env::var("KADENZ_SKIP_NOTHING").as_deref(),
                Ok("1"),
                "{why}"
            );
            println!("skipped: {test}: {why}");
            return;
        };
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let words = "user 0 runs this loop, which accepts requests of that user and root, not of user 65534";
        assert!(
            output.status.success() && printed.contains(words),
            "{printed}"
        );
        assert!(
            handle.take_stop().is_none(),
            "another user stopped the axes"
        );
    });
}

#[test]
#[ignore = "run by the test above, as another user"]
fn a_stop_of_another_user() {
    let Some(socket) = std::env::var_os("KADENZ_TEST_SOCKET") else {
        return;
    };
    let mut client = ControlClient::at(Path::new(&socket)).unwrap();
    let why = client.request(&Question::Stop { by: None }).unwrap_err();
    println!("{why}");
    assert!(matches!(why, ClientError::Refused(_)), "{why}");
}
