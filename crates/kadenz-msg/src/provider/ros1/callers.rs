//! The callers of a node: several at once, each for a bounded time and with bounded memory.

use std::io::{self, IoSlice};
use std::sync::Arc;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::watch::{Interest, Watch};

use super::http::{CALL_TIMEOUT, HttpMessageReader, response};
use super::xmlrpc::{Call, XmlRpcValue};
use crate::provider::stream::acceptor::Acceptor;
use crate::provider::stream::connection_slots::{Budget, ConnectionId, ConnectionSlots, Share};
use crate::provider::stream::socket::{ListeningSocket, Socket};

/// The maximum number of callers at once.
const MAX_CALLERS: usize = 64;
/// The maximum length of a request, in bytes.
const MAX_REQUEST: usize = 1 << 20;
/// Memory for all requests together, in bytes.
const MEMORY: usize = 16 << 20;
/// The number of callers that are accepted between two looks at the connected ones.
const BATCH: usize = 16;

#[derive(Debug)]
pub(super) struct Callers {
    acceptor: Acceptor,
    slots: ConnectionSlots,
    memory: Arc<Budget>,
    callers: Vec<Caller>,
    room: Vec<u8>,
}

#[derive(Debug)]
struct Caller {
    id: ConnectionId,
    socket: Socket,
    incoming: HttpMessageReader,
    memory: Share,
    /// Its answer, once its request is complete, and the number of sent bytes of it.
    reply: Vec<u8>,
    sent: usize,
    is_done: bool,
}

impl Callers {
    /// Returns the callers of that listening socket.
    pub(super) fn at(listener: ListeningSocket) -> Self {
        Self {
            acceptor: Acceptor::new(listener),
            // A caller stays an unknown peer until it has its answer, and is then disconnected.
            slots: ConnectionSlots::new(MAX_CALLERS, CALL_TIMEOUT),
            memory: Budget::new(MEMORY),
            callers: Vec::new(),
            room: vec![0; 16 << 10],
        }
    }

    /// Watches the callers, at the first places, and the listening socket.
    pub(super) fn watch(&self, watch: &mut Watch) {
        watch.clear();
        for caller in &self.callers {
            let interest = match caller.reply.is_empty() {
                true => Interest::Read,
                false => Interest::ReadAndWrite,
            };
            caller.socket.watch(watch, interest);
        }
        self.acceptor.watch(watch);
    }

    /// Returns the time of the next step that needs no input.
    pub(super) fn deadline(&self) -> Option<MonotonicTime> {
        let all = [self.slots.deadline(), self.acceptor.deadline()];
        all.into_iter().flatten().min()
    }

    /// Reads and answers the callers that the wait has found, and accepts others.
    pub(super) fn process(&mut self, watch: &Watch, answer: impl Fn(&Call) -> XmlRpcValue) {
        for index in 0..self.callers.len() {
            let Self { callers, room, .. } = self;
            let caller = &mut callers[index];
            let mut outcome = Ok(());
            if watch.readable(index) {
                outcome = caller.receive(room, &answer);
            }
            if outcome.is_ok() && !caller.reply.is_empty() {
                outcome = caller.send();
            }
            // A caller that disconnects in the middle harms only itself.
            caller.is_done |= outcome.is_err();
            while !self.callers[index].claim() {
                self.evict_greediest();
            }
        }
        while let Some(id) = self.slots.overdue(clock::now()) {
            self.disconnect(|it| it.id == id);
        }
        self.disconnect(|it| it.is_done);
        self.accept_peers();
    }

    /// Gives up the caller that holds the most.
    fn evict_greediest(&mut self) {
        let greediest = self.callers.iter_mut().max_by_key(|it| it.incoming.held());
        if let Some(greediest) = greediest {
            greediest.is_done = true;
            greediest.incoming = HttpMessageReader::new(0);
            greediest.memory.resize(0);
        }
    }

    fn accept_peers(&mut self) {
        for _ in 0..BATCH {
            let now = clock::now();
            let Some(socket) = self.acceptor.accept(now) else {
                return;
            };
            if !self.slots.has_room()
                && let Some(id) = self.slots.least_needed(now, None)
            {
                self.disconnect(|it| it.id == id);
            }
            self.callers.push(Caller {
                id: self.slots.take(now),
                socket,
                incoming: HttpMessageReader::new(MAX_REQUEST),
                memory: self.memory.share(),
                reply: Vec::new(),
                sent: 0,
                is_done: false,
            });
        }
    }

    fn disconnect(&mut self, on: impl Fn(&Caller) -> bool) {
        if self.slots.release(&mut self.callers, |it| it.id, on) {
            self.acceptor.resume();
        }
    }
}

impl Caller {
    fn receive(
        &mut self,
        room: &mut [u8],
        answer: impl Fn(&Call) -> XmlRpcValue,
    ) -> io::Result<()> {
        let Some(count) = self.socket.read(room)? else {
            return Ok(());
        };
        if self.is_done || !self.reply.is_empty() {
            // Bytes after the request have no meaning.
            return Ok(());
        }
        if self.incoming.push(&room[..count])? {
            let incoming = std::mem::replace(&mut self.incoming, HttpMessageReader::new(0));
            let call = Call::parse(&incoming.body()?).ok_or(io::ErrorKind::InvalidData)?;
            self.reply = response(&answer(&call)).into_bytes();
        }
        Ok(())
    }

    /// Claims memory for the received bytes; returns whether there was enough.
    fn claim(&mut self) -> bool {
        self.memory.resize(self.incoming.held())
    }

    fn send(&mut self) -> io::Result<()> {
        self.sent += self
            .socket
            .write(&[IoSlice::new(&self.reply[self.sent..])])?;
        self.is_done = self.sent == self.reply.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpStream;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::super::http::call;
    use super::*;
    use kadenz_rt::net::watch::WakeCause;

    use crate::provider::Wait;
    use crate::provider::stream::socket::SocketAddress;

    /// Answers every call with 7, until it is dropped.
    struct Node {
        address: String,
        ends: Arc<AtomicBool>,
    }

    impl Node {
        fn start() -> Self {
            let listener = SocketAddress::Tcp("127.0.0.1:0".to_owned())
                .listen()
                .unwrap();
            let address = format!("127.0.0.1:{}", listener.port().unwrap());
            let ends = Arc::new(AtomicBool::new(false));
            let node = Self {
                address,
                ends: Arc::clone(&ends),
            };
            thread::spawn(move || {
                let (mut callers, mut watch) = (Callers::at(listener), Watch::new().unwrap());
                let seven = [
                    XmlRpcValue::Int(1),
                    XmlRpcValue::text(""),
                    XmlRpcValue::Int(7),
                ];
                while !ends.load(Ordering::Acquire) {
                    callers.watch(&mut watch);
                    let soon = clock::now() + std::time::Duration::from_millis(20);
                    watch.wait(Wait::Until(soon)).unwrap();
                    callers.process(&watch, |_| XmlRpcValue::List(seven.to_vec()));
                }
            });
            node
        }

        fn call(&self) -> io::Result<XmlRpcValue> {
            let method = "getPid".to_owned();
            let arguments = vec![XmlRpcValue::text("/me")];
            call(
                &self.address,
                &Call { method, arguments },
                CALL_TIMEOUT * 5,
                &|| true,
            )
        }

        fn begun(&self, bytes: &[u8]) -> TcpStream {
            let mut stream = TcpStream::connect(&self.address).unwrap();
            let _ = stream.write_all(bytes);
            stream
        }
    }

    impl Drop for Node {
        fn drop(&mut self) {
            self.ends.store(true, Ordering::Release);
        }
    }

    #[test]
    fn a_slow_caller_delays_no_other() {
        let node = Node::start();
        let _slow = node.begun(b"POST /RPC2 HTTP/1.0\r\n");
        for _ in 0..20 {
            assert_eq!(node.call().unwrap(), XmlRpcValue::Int(7));
        }
    }

    #[test]
    fn more_slow_callers_than_slots_exclude_no_other() {
        let node = Node::start();
        let slow = (0..3 * MAX_CALLERS).map(|_| node.begun(b"POST"));
        let slow: Vec<_> = slow.collect();
        // Once the first ones are no longer the newest.
        thread::sleep(std::time::Duration::from_millis(150));
        assert_eq!(node.call().unwrap(), XmlRpcValue::Int(7));
        drop(slow);
    }

    #[test]
    fn requests_that_are_begun_and_never_ended_stay_within_their_memory() {
        let listener = SocketAddress::Tcp("127.0.0.1:0".to_owned())
            .listen()
            .unwrap();
        let address = format!("127.0.0.1:{}", listener.port().unwrap());
        let (mut callers, mut watch) = (Callers::at(listener), Watch::new().unwrap());
        let head = b"POST /RPC2 HTTP/1.0\r\nContent-Length: 1048576\r\n\r\n";
        let begun = [&head[..], &vec![b' '; 1_000_000]].concat();
        let mut slow = Vec::new();
        for _ in 0..30 {
            let (address, begun) = (address.clone(), begun.clone());
            // A caller that is given up cannot send all of its request.
            slow.push(thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                let _ = stream.write_all(&begun);
                stream
            }));
        }
        let (mut most, mut came) = (0, 0);
        // Until all are written or given up, and the written requests are read.
        let mut quiet = 0;
        while quiet < 5 {
            callers.watch(&mut watch);
            let soon = clock::now() + std::time::Duration::from_millis(50);
            let is_quiet = watch.wait(Wait::Until(soon)).unwrap() == WakeCause::Nothing;
            let is_written = slow.iter().all(|it| it.is_finished());
            quiet = if is_quiet && is_written { quiet + 1 } else { 0 };
            callers.process(&watch, |_| XmlRpcValue::Int(0));
            let held = callers.callers.iter().map(|it| it.incoming.held());
            most = most.max(held.sum());
            came = came.max(callers.callers.len());
        }
        assert!(most <= MEMORY, "{most}");
        assert!(most > MEMORY / 2 && came > 15, "{most} of {came}");
        drop(slow);
    }

    #[test]
    fn a_caller_without_a_descriptor_keeps_the_node_from_nothing() {
        let listener = SocketAddress::Tcp("127.0.0.1:0".to_owned())
            .listen()
            .unwrap();
        let address = format!("127.0.0.1:{}", listener.port().unwrap());
        let (mut callers, mut watch) = (Callers::at(listener), Watch::new().unwrap());
        callers.acceptor.pause(clock::now());
        let _waits = TcpStream::connect(address).unwrap();
        callers.watch(&mut watch);
        assert_eq!(
            watch
                .wait(Wait::Until(callers.deadline().unwrap()))
                .unwrap(),
            WakeCause::Nothing
        );
        callers.process(&watch, |_| XmlRpcValue::Int(0));
        assert_eq!(
            (callers.callers.len(), callers.acceptor.deadline()),
            (1, None)
        );
    }
}
