use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::*;
use crate::arrival::{SenderId, SourceInfo};
use crate::provider::stream::StreamMessage;

/// A message is its length and so many bytes; `?` is a question, answered by a thousand bytes.
struct Words(PeerState);

impl PeerProtocol for Words {
    fn want(&mut self, _: &[Pattern], _: &mut Vec<u8>) {}

    fn read<'a>(
        &'a mut self,
        bytes: &'a [u8],
        _: &[Pattern],
        buffer: &mut Vec<u8>,
    ) -> Result<ReadOutcome<'a>, ProtocolError> {
        let Some((first, rest)) = bytes.split_first() else {
            return Ok(ReadOutcome::Short);
        };
        self.0 = PeerState::Active;
        if *first == b'?' {
            buffer.extend_from_slice(&[b'!'; 1000]);
            return Ok(ReadOutcome::Other(1));
        }
        let length = usize::from(*first);
        let Some(payload) = rest.get(..length) else {
            return Ok(ReadOutcome::Short);
        };
        let received = StreamMessage {
            channel: "A",
            payload,
            source: SourceInfo::new(SenderId(1), None),
        };
        Ok(ReadOutcome::Message(1 + length, received))
    }

    fn peer_state(&self) -> PeerState {
        self.0
    }
}

fn receiver() -> (PeerReceiver<Words>, String) {
    let listener = SocketAddress::Tcp("127.0.0.1:0".to_owned())
        .listen()
        .unwrap();
    let address = format!("127.0.0.1:{}", listener.port().unwrap());
    (receiver_at(listener), address)
}

fn receiver_at(listener: ListeningSocket) -> PeerReceiver<Words> {
    let mut receiver = PeerReceiver::new(1000).unwrap();
    receiver.open(listener, Box::new(|_| Words(PeerState::Connected)));
    receiver.want(&[Pattern::new("A").unwrap()]);
    receiver
}

/// Receives for that long; returns the number of messages.
fn listen(receiver: &mut PeerReceiver<Words>, ms: u64) -> usize {
    let until = Wait::Until(clock::now() + Duration::from_millis(ms));
    let mut count = 0;
    loop {
        let outcome = receiver.receive(until, &mut |_| {
            count += 1;
            More::GoOn
        });
        if matches!(outcome, Ok(Received::Nothing)) {
            return count;
        }
    }
}

#[test]
fn a_message_that_is_begun_and_never_ended_holds_its_place_for_a_while_only() {
    let (mut receiver, address) = receiver();
    receiver.unfinished = Duration::from_millis(300);
    let mut begun = TcpStream::connect(&address).unwrap();
    let idle = TcpStream::connect(&address).unwrap();
    begun.write_all(&[1, 7, 200, 7]).unwrap();
    (&idle).write_all(&[1, 7]).unwrap();
    assert_eq!(listen(&mut receiver, 100), 2);
    assert_eq!(receiver.connections.len(), 2);
    // Each byte is progress.
    let written = clock::now();
    begun.write_all(&[7]).unwrap();
    listen(&mut receiver, 220);
    let is_late = clock::now() >= written + receiver.unfinished;
    assert!(receiver.connections.len() == 2 || is_late);
    listen(&mut receiver, 400);
    assert_eq!(receiver.connections.len(), 1, "a silent peer stays");
    assert_eq!(receiver.counters.incomplete, 1);
    let mut room = [0; 1];
    begun
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    assert!(matches!(begun.read(&mut room), Ok(0)));
}

#[test]
fn bytes_that_wait_in_the_system_are_not_a_stall() {
    let (mut receiver, address) = receiver();
    let mut peer = TcpStream::connect(&address).unwrap();
    peer.write_all(&[3, 7]).unwrap();
    listen(&mut receiver, 20);
    peer.write_all(&[7, 7]).unwrap();
    receiver.unfinished = Duration::from_millis(50);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(listen(&mut receiver, 20), 1);
    assert_eq!(receiver.connections.len(), 1);
}

#[test]
#[cfg(unix)]
fn unread_answers_stay_within_the_memory_of_all() {
    use std::os::unix::net::UnixStream;

    const LIMIT: usize = 4 << 20;
    // Unix sockets, whose buffers are small.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("receiver");
    let mut receiver = receiver_at(SocketAddress::Unix(path.clone()).listen().unwrap());
    receiver.memory = Budget::new(LIMIT);
    let connect = || UnixStream::connect(&path).unwrap();
    let mut asking: Vec<_> = (0..20).map(|_| connect()).collect();
    let mut most = 0;
    for _ in 0..30 {
        // A disconnected peer cannot send any more.
        for peer in &mut asking {
            let _ = peer.write(&[b'?'; 400]);
        }
        listen(&mut receiver, 2);
        let waiting = receiver.connections.iter().map(|it| it.outgoing.waiting());
        most = most.max(waiting.sum());
    }
    assert!(most > LIMIT / 2, "sockets took it all: {most}");
    assert!(most <= LIMIT, "{most}");
    // An honest peer is answered.
    let mut honest = connect();
    honest.write_all(b"?").unwrap();
    honest.set_nonblocking(true).unwrap();
    let mut answered = 0;
    let end = clock::now() + Duration::from_secs(60);
    while answered < 1000 {
        assert!(clock::now() < end, "{answered} bytes came");
        listen(&mut receiver, 20);
        match honest.read(&mut [0; 1000]) {
            Ok(0) => panic!("{answered} bytes came before the end"),
            Ok(count) => answered += count,
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    }
    drop(asking);
}

#[test]
fn a_peer_for_whom_no_descriptor_is_left_does_not_end_the_wait() {
    let (mut receiver, address) = receiver();
    receiver.listener.as_mut().unwrap().0.pause(clock::now());
    let mut peer = TcpStream::connect(&address).unwrap();
    peer.write_all(&[1, 7]).unwrap();
    assert_eq!(receiver.wait(Wait::Poll), WakeCause::Nothing);
    let result = receiver.receive(Wait::Forever, &mut |_| More::GoOn);
    assert!(
        matches!(result, Err(ReceiveError::NoDescriptor)),
        "{result:?}"
    );
    assert_eq!(
        listen(&mut receiver, 100),
        1,
        "it was let in after the pause"
    );
}

/// A listener whose queue is full, so that a connection to it is neither accepted nor refused.
#[cfg(target_os = "linux")]
fn mute() -> (std::net::TcpListener, Vec<TcpStream>, SocketAddress) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    kadenz_rt::net::listener::set_backlog(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(100));
    let waiting = std::iter::from_fn(|| connect().ok()).collect();
    (listener, waiting, SocketAddress::Tcp(address.to_string()))
}

#[test]
#[cfg(target_os = "linux")]
fn peers_that_do_not_answer_delay_one_call_by_one_attempt_and_get_long_pauses() {
    const PEERS: usize = 3;
    let mute = mute();
    let mut receiver = PeerReceiver::new(1000).unwrap();
    for id in 0..PEERS as u64 {
        let make = Box::new(|_: &mut Vec<u8>| Words(PeerState::Connected));
        receiver.add_target(id, mute.2.clone(), make);
    }
    let begin = clock::now();
    for tried in 1..=PEERS {
        let received = receiver.receive(Wait::Poll, &mut |_| More::GoOn);
        assert_eq!(received, Ok(Received::Nothing));
        let tries = receiver.targets.iter().filter_map(|it| it.next_try);
        // An attempt takes at least half a second.
        let pause = Duration::from_millis(500) * 9 * PEERS as u32;
        assert_eq!(tries.filter(|next| *next > begin + pause).count(), tried);
    }
}
