//! Offering a service.
//!
//! One thread accepts clients, reads their requests and sends their answers; the requested number of other
//! threads call the user's function. A client waits only for a free thread.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::watch::{Waker, Watch};

use super::super::http::socket_address;
use super::super::node::RosNode;
use super::connection::ClientConnection;
use super::protocol::{ClientSession, Offer};
use crate::provider::Wait;
use crate::provider::stream::RETRY;
use crate::provider::stream::acceptor::Acceptor;
use crate::provider::stream::connection_slots::{
    Budget, ConnectionId, ConnectionSlots, HANDSHAKE_TIMEOUT, IDLE_TIMEOUT, Share,
};
use crate::provider::stream::socket::{ListeningSocket, Socket};
use crate::sync::lock;

/// The maximum number of clients at once.
const MAX_CLIENTS: usize = 256;
/// Memory for all clients together, in bytes, unless the longest request is longer.
const MEMORY: usize = 256 << 20;
/// The number of clients that are accepted between two looks at the connected ones.
const BATCH: usize = 16;
/// The maximum number of answering threads.
const MAX_THREADS: usize = 64;

/// The answer of a user's function, or its error.
type HandlerResult = Result<Vec<u8>, String>;

pub(super) type Handler = Box<dyn Fn(&[u8]) -> HandlerResult + Send + Sync>;

/// Offers one service, until it is dropped; then it waits for calls of the user's function that have begun. Made by
/// [`Ros1::offer_service`](super::super::Ros1::offer_service).
pub struct ServiceServer {
    /// Dropped first, so that the master names no closed port.
    node: Option<RosNode>,
    ends: Arc<AtomicBool>,
    waker: Waker,
    threads: Vec<JoinHandle<()>>,
}

show_fields!(ServiceServer: node);

/// A request on its way to a thread that answers.
struct Job {
    id: ConnectionId,
    request: Vec<u8>,
    _memory: Share,
}

impl ServiceServer {
    pub(super) fn start(
        node: RosNode,
        offer: Offer,
        threads: usize,
        handler: Handler,
    ) -> io::Result<Self> {
        let listener = socket_address(node.host(), 0).listen()?;
        let host = std::net::SocketAddr::new(node.host(), listener.port().unwrap_or(0));
        let offer = Arc::new(offer);
        let (jobs, waiting) = sync_channel(MAX_CLIENTS);
        let (answers, answered) = sync_channel(MAX_CLIENTS);
        let watch = Watch::new()?;
        let mut server = Self {
            node: None,
            ends: Arc::new(AtomicBool::new(false)),
            waker: watch.waker(),
            threads: Vec::new(),
        };
        let keeper =
            ServerThread::new(&server, watch, listener, Arc::clone(&offer), jobs, answered);
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let keeps = named("kadenz-service").spawn(move || keeper.keep())?;
        server.threads.push(keeps);
        let worker = Arc::new(Worker {
            handler,
            longest: offer.longest,
            ends: Arc::clone(&server.ends),
            waker: server.waker.clone(),
            waiting: Mutex::new(waiting),
            answers,
        });
        for _ in 0..threads.clamp(1, MAX_THREADS) {
            let worker = Arc::clone(&worker);
            let answers = named("kadenz-answer").spawn(move || worker.work())?;
            server.threads.push(answers);
        }
        node.offer(&offer.service, &format!("rosrpc://{host}"))?;
        server.node = Some(node);
        Ok(server)
    }
}

impl Drop for ServiceServer {
    fn drop(&mut self) {
        self.node = None;
        self.ends.store(true, Ordering::Release);
        self.waker.wake();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The state that the answering threads share.
struct Worker {
    handler: Handler,
    longest: usize,
    ends: Arc<AtomicBool>,
    waker: Waker,
    waiting: Mutex<Receiver<Job>>,
    answers: SyncSender<(ConnectionId, HandlerResult)>,
}

impl Worker {
    fn work(&self) {
        loop {
            let job = lock(&self.waiting).recv();
            let Ok(job) = job else {
                return;
            };
            if self.ends.load(Ordering::Acquire) {
                return;
            }
            let outcome = self.answer(&job.request);
            if self.answers.send((job.id, outcome)).is_err() {
                return;
            }
            self.waker.wake();
        }
    }

    fn answer(&self, request: &[u8]) -> HandlerResult {
        let answer = catch_unwind(AssertUnwindSafe(|| (self.handler)(request)));
        let answer =
            answer.unwrap_or_else(|_| Err("the service's function panicked".to_owned()))?;
        if answer.len() > self.longest {
            let (length, longest) = (answer.len(), self.longest);
            return Err(format!(
                "its answer of {length} bytes is longer than {longest}"
            ));
        }
        Ok(answer)
    }
}

/// The thread that accepts clients.
struct ServerThread {
    ends: Arc<AtomicBool>,
    watch: Watch,
    acceptor: Acceptor,
    offer: Arc<Offer>,
    slots: ConnectionSlots,
    memory: Arc<Budget>,
    connections: Vec<ClientConnection>,
    jobs: SyncSender<Job>,
    answered: Receiver<(ConnectionId, HandlerResult)>,
}

impl ServerThread {
    fn new(
        server: &ServiceServer,
        watch: Watch,
        listener: ListeningSocket,
        offer: Arc<Offer>,
        jobs: SyncSender<Job>,
        answered: Receiver<(ConnectionId, HandlerResult)>,
    ) -> Self {
        Self {
            ends: Arc::clone(&server.ends),
            watch,
            acceptor: Acceptor::new(listener),
            memory: Budget::new(MEMORY.max(offer.longest.saturating_mul(4))),
            offer,
            slots: ConnectionSlots::new(MAX_CLIENTS, HANDSHAKE_TIMEOUT),
            connections: Vec::new(),
            jobs,
            answered,
        }
    }

    fn keep(mut self) {
        let mut room = vec![0; 1 << 16];
        while !self.ends.load(Ordering::Acquire) {
            let Self {
                watch, connections, ..
            } = &mut self;
            watch.clear();
            connections
                .iter_mut()
                .for_each(|connection| connection.watch(watch));
            self.acceptor.watch(&mut self.watch);
            let wait = self.deadline().map_or(Wait::Forever, Wait::Until);
            if self.watch.wait(wait).is_err() {
                thread::sleep(RETRY);
            }
            for index in 0..self.connections.len() {
                let request = self.connections[index].process(&self.watch, &mut room);
                self.forward(index, request);
            }
            self.take_answers();
            self.disconnect_silent();
            self.accept_peers();
        }
    }

    /// Returns the time of the next step that needs no input.
    fn deadline(&self) -> Option<MonotonicTime> {
        let stalled = self
            .connections
            .iter()
            .filter_map(ClientConnection::deadline)
            .min();
        let all = [self.slots.deadline(), self.acceptor.deadline(), stalled];
        all.into_iter().flatten().min()
    }

    fn take_answers(&mut self) {
        while let Ok((id, outcome)) = self.answered.try_recv() {
            if let Some(index) = self.connections.iter().position(|it| it.id == id) {
                let request = self.connections[index].answer(&outcome);
                self.forward(index, request);
            }
        }
    }

    /// Gives a client's request to the threads that answer, and sees to what the client holds.
    fn forward(&mut self, index: usize, request: Option<Vec<u8>>) {
        let mut request = request;
        while let Some(asked) = request {
            let id = self.connections[index].id;
            request = match self.pass(id, asked) {
                true => None,
                false => {
                    self.connections[index].answer(&Err("too many requests wait here".to_owned()))
                }
            };
        }
        let connection = &self.connections[index];
        self.slots.note(connection.id, connection.peer_state());
        while !self.connections[index].claim() {
            let greediest = self.connections.iter_mut().max_by_key(|it| it.held());
            greediest.into_iter().for_each(ClientConnection::give_up);
        }
    }

    /// Returns whether there was room for a request.
    fn pass(&self, id: ConnectionId, request: Vec<u8>) -> bool {
        let Some(memory) = self.memory.take(request.len()) else {
            return false;
        };
        let job = Job {
            id,
            request,
            _memory: memory,
        };
        match self.jobs.try_send(job) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }

    fn disconnect_silent(&mut self) {
        let now = clock::now();
        while let Some(id) = self.slots.overdue(now) {
            self.disconnect(|it| it.id == id);
        }
        self.disconnect(|it| it.is_done || it.deadline().is_some_and(|until| until <= now));
    }

    fn accept_peers(&mut self) {
        for _ in 0..BATCH {
            let now = clock::now();
            let Some(socket) = self.acceptor.accept(now) else {
                return;
            };
            if !self.slots.has_room() {
                let idle = self.connections.iter().filter(|it| !it.is_busy);
                let idle = idle.min_by_key(|it| it.last);
                let idle = idle
                    .filter(|it| now > it.last + IDLE_TIMEOUT)
                    .map(|it| it.id);
                let Some(id) = self.slots.least_needed(now, idle) else {
                    continue;
                };
                self.disconnect(|it| it.id == id);
            }
            self.add(now, socket);
        }
    }

    fn add(&mut self, now: MonotonicTime, socket: Socket) {
        let (id, protocol) = (
            self.slots.take(now),
            ClientSession::new(Arc::clone(&self.offer)),
        );
        let connection = ClientConnection::new(id, socket, protocol, self.memory.share());
        self.connections.push(connection);
    }

    fn disconnect(&mut self, on: impl Fn(&ClientConnection) -> bool) {
        if self.slots.release(&mut self.connections, |it| it.id, on) {
            self.acceptor.resume();
        }
    }
}
