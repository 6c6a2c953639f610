#![cfg(unix)]

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicUsize;

use super::connection::TURN;
use super::*;

/// Counts single bytes.
#[derive(Default)]
struct Bytes(Arc<AtomicUsize>);

impl PeerSetProtocol for Bytes {
    fn receive(&mut self, bytes: &[u8], _reply: &mut Vec<u8>) -> Result<usize, ProtocolError> {
        self.0.fetch_add(bytes.len().min(1), Ordering::Relaxed);
        Ok(bytes.len().min(1))
    }

    fn peer_state(&self) -> PeerState {
        PeerState::Active
    }
}

impl Bytes {
    fn received(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn connection(id: u64, memory: &Arc<Budget>) -> (PeerSetConnection<Bytes>, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let connection = PeerSetConnection {
        id: ConnectionId(id),
        socket: Socket::Unix(near),
        peer: Bytes::default(),
        outgoing: Outgoing::new(1000, Some(memory.share())),
        received: Vec::new(),
        has_unprocessed: false,
        memory: memory.share(),
        last: clock::now(),
        is_lost: false,
    };
    (connection, far)
}

#[test]
fn a_turn_hears_so_many_frames_and_the_rest_is_heard_before_more_is_read() {
    let (mut connection, mut far) = connection(0, &Budget::new(1 << 20));
    let mut room = [0; 1000];
    far.write_all(&[1; TURN + 10]).unwrap();
    connection.process(&mut room, true, false).unwrap();
    assert_eq!(
        (connection.peer.received(), connection.has_unprocessed),
        (TURN, true)
    );
    far.write_all(&[1; 5]).unwrap();
    connection.process(&mut room, true, false).unwrap();
    let received = (connection.peer.received(), connection.has_unprocessed);
    assert_eq!(received, (TURN + 10, false));
    connection.process(&mut room, true, false).unwrap();
    assert_eq!(connection.peer.received(), TURN + 15);
}

/// Waits until that many bytes were processed.
fn wait_for(received: &AtomicUsize, count: usize) {
    let end = clock::now() + Duration::from_secs(20);
    while received.load(Ordering::Relaxed) < count {
        assert!(clock::now() < end, "it hangs");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_peer_for_whom_no_descriptor_was_left_is_let_in_once_the_pause_is_over() {
    let received = Arc::new(AtomicUsize::new(0));
    let peer = Arc::clone(&received);
    let listener = SocketAddress::Tcp("127.0.0.1:0".to_owned())
        .listen()
        .unwrap();
    let port = listener.port().unwrap();
    let mut acceptor = Acceptor::new(listener);
    acceptor.pause(clock::now());
    let make = Box::new(move |_: &mut Vec<u8>| Bytes(Arc::clone(&peer)));
    let peers = PeerSet::start(Side::Listen(acceptor), 1000, make).unwrap();
    let mut far = TcpStream::connect(("127.0.0.1", port)).unwrap();
    far.write_all(&[1; 3]).unwrap();
    wait_for(&received, 3);
    drop(peers);
}

#[test]
fn what_a_turn_did_not_hear_is_heard_although_nothing_more_comes() {
    let received = Arc::new(AtomicUsize::new(0));
    let peer = Arc::clone(&received);
    let listener = SocketAddress::Tcp("127.0.0.1:0".to_owned())
        .listen()
        .unwrap();
    let port = listener.port().unwrap();
    let make = Box::new(move |_: &mut Vec<u8>| Bytes(Arc::clone(&peer)));
    let peers = PeerSet::start(Side::Listen(Acceptor::new(listener)), 1000, make).unwrap();
    let mut far = TcpStream::connect(("127.0.0.1", port)).unwrap();
    far.write_all(&[1; 20 * TURN]).unwrap();
    wait_for(&received, 20 * TURN);
    drop(peers);
}

#[test]
fn a_newcomer_gets_the_slot_of_the_peer_that_is_idle_for_the_longest() {
    let memory = Budget::new(1 << 20);
    let watch = Watch::new().unwrap();
    let (mut first, _far) = connection(0, &memory);
    let (mut second, _far) = connection(1, &memory);
    let start = clock::now();
    (first.last, second.last) = (start + IDLE_TIMEOUT, start);
    let keeper = PeerSetThread {
        shared: Arc::new(PeerSetContext {
            connections: Lock::new(vec![first, second]),
            waker: watch.waker(),
            ends: AtomicBool::new(false),
        }),
        watch,
        side: Side::Connect(SocketAddress::of("127.0.0.1:1")),
        limit: 1000,
        make: Box::new(|_: &mut Vec<u8>| Bytes::default()),
        slots: ConnectionSlots::new(2, HANDSHAKE_TIMEOUT),
        memory,
    };
    assert_eq!(keeper.idle(start + IDLE_TIMEOUT), None);
    assert_eq!(
        keeper.idle(start + IDLE_TIMEOUT + IDLE_TIMEOUT),
        Some(ConnectionId(1))
    );
}
