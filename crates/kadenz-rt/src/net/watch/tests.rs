use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use super::*;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let far = listener.accept().unwrap().0;
    (near, far)
}

#[test]
fn the_readable_socket_is_reported() {
    let ((_quiet, mute), (mut near, far)) = (pair(), pair());
    let mut watch = Watch::new().unwrap();
    let places = [&mute, &far].map(|socket| watch.add(socket, Interest::Read));
    near.write_all(b"!").unwrap();
    assert_eq!(watch.wait(Wait::Forever).unwrap(), WakeCause::Ready);
    assert!(watch.readable(places[1]));
    if cfg!(target_os = "linux") {
        assert!(!watch.readable(places[0]) && !watch.writable(places[1]));
    }
}

#[test]
fn a_socket_with_room_can_be_written() {
    let (near, _far) = pair();
    let mut watch = Watch::new().unwrap();
    let place = watch.add(&near, Interest::ReadAndWrite);
    assert_eq!(watch.wait(Wait::Forever).unwrap(), WakeCause::Ready);
    assert!(watch.writable(place));
}

#[test]
fn a_waker_ends_this_wait_or_the_next_and_only_one() {
    let mut watch = Watch::new().unwrap();
    let waker = watch.waker();
    waker.wake();
    waker.wake();
    assert_eq!(watch.wait(Wait::Forever).unwrap(), WakeCause::Woken);
    assert_eq!(watch.wait(Wait::Poll).unwrap(), WakeCause::Nothing);
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        waker.wake();
    });
    let end = crate::clock::now() + Duration::from_secs(10);
    let mut woke = watch.wait(Wait::Until(end)).unwrap();
    while woke == WakeCause::Interrupted {
        woke = watch.wait(Wait::Until(end)).unwrap();
    }
    assert_eq!(woke, WakeCause::Woken);
    thread.join().unwrap();
}

#[test]
fn sockets_that_are_forgotten_end_no_wait() {
    let (mut near, far) = pair();
    let mut watch = Watch::new().unwrap();
    watch.add(&far, Interest::Read);
    watch.clear();
    near.write_all(b"!").unwrap();
    assert_eq!(watch.wait(Wait::Poll).unwrap(), WakeCause::Nothing);
}
