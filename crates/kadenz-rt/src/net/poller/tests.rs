use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use super::*;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let far = listener.accept().unwrap().0;
    far.set_nonblocking(true).unwrap();
    (near, far)
}

/// Waits until a socket reports such a change.
fn until(poller: &mut Poller, is_it: impl Fn(&Readiness) -> bool) {
    loop {
        poller.wait(Wait::Forever).unwrap();
        if poller.changes().any(|change| is_it(&change)) {
            return;
        }
    }
}

#[test]
fn a_readable_socket_is_reported_by_its_number() {
    let ((_quiet, mute), (mut near, far)) = (pair(), pair());
    let mut poller = Poller::new().unwrap();
    poller.add(&mute, 1).unwrap();
    poller.add(&far, 2).unwrap();
    near.write_all(b"!").unwrap();
    until(&mut poller, |it| it.token == 2 && it.readable);
    if cfg!(target_os = "linux") {
        assert!(!poller.changes().any(|it| it.token == 1 && it.readable));
    }
}

#[test]
fn a_change_is_reported_once_until_more_comes() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let (mut near, far) = pair();
    let mut poller = Poller::new().unwrap();
    poller.add(&far, 1).unwrap();
    near.write_all(b"!").unwrap();
    until(&mut poller, |it| it.readable);
    poller.wait(Wait::Poll).unwrap();
    assert_eq!(poller.changes().count(), 0);
    near.write_all(b"!").unwrap();
    until(&mut poller, |it| it.readable);
}

#[test]
fn an_end_and_new_room_to_send_are_reported() {
    let (mut near, mut far) = pair();
    let mut poller = Poller::new().unwrap();
    poller.add(&far, 1).unwrap();
    until(&mut poller, |it| it.writable);
    while far.write(&[0; 65_536]).is_ok() {}
    let mut room = vec![0; 1 << 20];
    let reader = std::thread::spawn(
        move || {
            while near.read(&mut room).is_ok_and(|count| count > 0) {}
        },
    );
    until(&mut poller, |it| it.writable);
    far.shutdown(std::net::Shutdown::Write).unwrap();
    reader.join().unwrap();
    until(&mut poller, |it| it.ended);
}

#[test]
fn a_waker_ends_a_wait_that_has_begun() {
    let mut poller = Poller::new().unwrap();
    let waker = poller.waker();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        waker.wake();
    });
    poller.wait(Wait::Forever).unwrap();
    thread.join().unwrap();
    assert_eq!(poller.changes().count(), 0);
}

#[test]
fn wakes_before_a_wait_end_that_one_and_no_other() {
    // Elsewhere a wait ends once a millisecond anyway.
    if !cfg!(target_os = "linux") {
        return;
    }
    let mut poller = Poller::new().unwrap();
    let waker = poller.waker();
    waker.wake();
    waker.wake();
    poller.wait(Wait::Forever).unwrap();
    let until = crate::clock::now() + std::time::Duration::from_millis(50);
    poller.wait(Wait::Until(until)).unwrap();
    let now = crate::clock::now();
    assert!(now >= until, "{} ns early", until.since(now));
}
