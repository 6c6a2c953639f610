use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kadenz_rt::tuning::{Measure, Tuning};

use super::{ServiceOptions, reply_channel};
use crate::arrival::random_number;
use crate::bus::{self, Bus, Callback, Delivery, RecvError, SubscribeError, SubscriptionOptions};
use crate::channel::{Channel, ChannelError};
use crate::message::Message;
use crate::provider::{Outlet, ProviderError};
use crate::service::cut;
use crate::service::messages::{Reply, Request};

/// The longest reason of a refusal, in bytes; what is longer is cut.
const MAX_REASON: usize = 1000;

/// Answers the calls of one name, on a thread of its own. Dropping it ends the thread, after the present
/// request.
///
/// Each request has at most one answer, which goes to its client alone. A handler that panics ends
/// the thread; its callers time out.
#[derive(Debug)]
pub struct Server {
    callback: Callback,
    counts: Arc<Counts>,
    number: i64,
}

/// Counters of the requests to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServiceCounters {
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that were refused: by the handler, or because they were too long or of another type.
    pub refused: u64,
    /// Requests that had arrived before, or were overtaken by a later one of the same client. They had no
    /// answer.
    pub repeated: u64,
    /// Messages on the channel that are not requests.
    pub undecodable: u64,
    /// Answers that the provider did not take.
    pub unsent: u64,
    /// Requests that were dropped for later ones.
    pub dropped: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) answered: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) repeated: AtomicU64,
    pub(super) undecodable: AtomicU64,
    unsent: AtomicU64,
}

/// The client that sent a request, and the times at which the request passed the kernel and this program.
#[derive(Debug, Clone, Copy)]
pub struct RequestContext {
    /// The client's number.
    pub client: i64,
    /// The number of the call.
    pub number: i64,
    /// The times at which the request passed the kernel and this program.
    pub delivery: Delivery,
}

/// The reason for which nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The name is not a channel.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// Nothing can be received, or there is no thread.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// Nothing can be sent.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl Bus {
    /// Answers the calls of a name by a function, on a thread with the given tuning that receives
    /// [beside](Bus::beside) this bus. The function's error text goes to the caller.
    ///
    /// # Errors
    /// If the name is not a channel, the provider cannot send or receive, or no thread can be started.
    pub fn serve<Req, Rep, F>(
        &self,
        name: &str,
        tuning: Tuning,
        mut handler: F,
    ) -> Result<Server, ServeError>
    where
        Req: Message + Default + Send + 'static,
        Rep: Message,
        F: FnMut(&Req) -> Result<Rep, String> + Send + 'static,
    {
        let handler = move |request: &Req, _: &RequestContext| handler(request);
        self.serve_with(name, &ServiceOptions::default(), tuning, handler)
    }

    /// As [`Bus::serve`], with the caller's bounds, and a function that gets the client.
    ///
    /// # Errors
    /// As [`Bus::serve`].
    pub fn serve_with<Req, Rep, F>(
        &self,
        name: &str,
        options: &ServiceOptions,
        tuning: Tuning,
        handler: F,
    ) -> Result<Server, ServeError>
    where
        Req: Message + Default + Send + 'static,
        Rep: Message,
        F: FnMut(&Req, &RequestContext) -> Result<Rep, String> + Send + 'static,
    {
        // A name is not a pattern: a service answers on one channel.
        let channel = Channel::new(name)?;
        let counts = Arc::new(Counts::default());
        let number = random_number().cast_signed();
        let mut server = RequestServer {
            outlet: self.outlet()?,
            reply_cache: ReplyCache::new(),
            reply: Reply {
                server: number,
                ..Reply::default()
            },
            request: Req::default(),
            longest: options.longest_payload,
            counts: Arc::clone(&counts),
            handler,
        };
        let queue = SubscriptionOptions::with_queue(options.queue);
        // This bus describes the types if it answers type requests.
        self.announce::<Req>();
        self.announce::<Rep>();
        let pattern = crate::service::pattern_of(&channel);
        let take = move |incoming: Result<(&Request, &Delivery), RecvError>| match incoming {
            Ok((request, delivery)) => server.take(request, delivery),
            Err(error) => server.pass_over(&error),
        };
        let callback = self.beside().on_message(&pattern, &queue, tuning, take)?;
        Ok(Server {
            callback,
            counts,
            number,
        })
    }
}

impl Server {
    /// Returns the settings that its thread requested of the machine and those granted.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        self.callback.measures()
    }

    /// Returns the counters of the requests until now.
    ///
    /// # Real-time safety
    /// Real-time safe.
    #[must_use]
    pub fn counters(&self) -> ServiceCounters {
        let of = |it: &AtomicU64| it.load(Ordering::Relaxed);
        let queue = self.callback.watcher().counters();
        ServiceCounters {
            answered: of(&self.counts.answered),
            refused: of(&self.counts.refused),
            repeated: of(&self.counts.repeated),
            undecodable: of(&self.counts.undecodable),
            unsent: of(&self.counts.unsent),
            dropped: queue.dropped_oldest,
        }
    }

    /// Its number, which its answers bear.
    #[must_use]
    pub fn number(&self) -> i64 {
        self.number
    }
}

/// The state of the thread.
pub(super) struct RequestServer<Req, F> {
    pub(super) outlet: Box<dyn Outlet>,
    pub(super) reply_cache: ReplyCache,
    pub(super) reply: Reply,
    pub(super) request: Req,
    pub(super) longest: usize,
    pub(super) counts: Arc<Counts>,
    pub(super) handler: F,
}

impl<Req, F> RequestServer<Req, F>
where
    Req: Message + Default,
{
    pub(super) fn take<Rep>(&mut self, request: &Request, delivery: &Delivery)
    where
        Rep: Message,
        F: FnMut(&Req, &RequestContext) -> Result<Rep, String>,
    {
        if !self.reply_cache.is_new(request.client, request.number) {
            return add(&self.counts.repeated);
        }
        let asked = RequestContext {
            client: request.client,
            number: request.number,
            delivery: *delivery,
        };
        self.reply.client = request.client;
        self.reply.number = request.number;
        match self.answer(&request.payload, &asked) {
            Ok(()) => self.send(false, String::new()),
            Err(reason) => self.send(true, reason),
        }
    }

    pub(super) fn pass_over(&self, error: &RecvError) {
        if matches!(error, RecvError::Decode { .. }) {
            add(&self.counts.undecodable);
        }
    }

    /// Puts the encoded answer into the reply.
    fn answer<Rep>(&mut self, payload: &[u8], asked: &RequestContext) -> Result<(), String>
    where
        Rep: Message,
        F: FnMut(&Req, &RequestContext) -> Result<Rep, String>,
    {
        bounded("the request", payload.len(), self.longest)?;
        let decoded = self.request.decode_from(payload);
        decoded.map_err(|error| format!("the request: {error}"))?;
        let answer = (self.handler)(&self.request, asked)?;
        let length = answer.encoded_length();
        bounded("the answer", length, self.longest)?;
        let payload = &mut self.reply.payload;
        payload.resize(length, 0);
        let used = answer.encode_into(payload);
        let used = used.map_err(|error| format!("the answer: {error}"))?;
        payload.truncate(used);
        Ok(())
    }

    fn send(&mut self, refused: bool, reason: String) {
        let reply = &mut self.reply;
        reply.refused = refused;
        reply.reason = printable(reason);
        if refused {
            reply.payload.clear();
        }
        reply.size = i32::try_from(reply.payload.len()).unwrap_or(i32::MAX);
        let counts = &self.counts;
        let sent = reply_channel(reply.client)
            .is_ok_and(|channel| bus::publish(&mut *self.outlet, &channel, reply).is_ok());
        add(match (sent, refused) {
            (false, _) => &counts.unsent,
            (true, true) => &counts.refused,
            (true, false) => &counts.answered,
        });
    }
}

fn bounded(what: &str, length: usize, longest: usize) -> Result<(), String> {
    if length <= longest && i32::try_from(length).is_ok() {
        return Ok(());
    }
    Err(format!(
        "{what} has {length} bytes, more than the {longest} that are agreed"
    ))
}

/// Returns a reason in a form that can be sent: without NUL, and not too long.
fn printable(mut reason: String) -> String {
    reason.truncate(cut(&reason, MAX_REASON).len());
    if reason.contains('\0') {
        reason = reason.replace('\0', " ");
    }
    reason
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

// The requests that were answered already.

/// The number of clients that are remembered; the one that was silent longest is forgotten first.
const CLIENTS: usize = 1024;

/// The last request of each client. A client has one call at a time, with rising numbers: a request that is
/// not newer than the last one was doubled or overtaken by the network, and no client waits for its answer
/// any more.
#[derive(Debug)]
pub(super) struct ReplyCache {
    /// Client and number, the most recent one at the end.
    last: VecDeque<(i64, i64)>,
}

impl ReplyCache {
    pub(super) fn new() -> Self {
        let last = VecDeque::with_capacity(CLIENTS);
        Self { last }
    }

    /// Returns whether a request must be answered; the same one never twice, while its client is remembered.
    /// Allocates nothing.
    pub(super) fn is_new(&mut self, client: i64, number: i64) -> bool {
        let known = self.last.iter().rposition(|(it, _)| *it == client);
        if let Some(at) = known {
            if self.last[at].1 >= number {
                return false;
            }
            self.last.remove(at);
        } else if self.last.len() == CLIENTS {
            self.last.pop_front();
        }
        self.last.push_back((client, number));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_between_characters_and_holds_no_nul() {
        assert_eq!(printable("a\0b".to_owned()), "a b");
        let long = format!("x{}", "ü".repeat(1000));
        let cut = printable(long);
        assert_eq!(cut.len(), 999);
        assert!(cut.ends_with('ü'));
    }
}

#[cfg(test)]
mod reply_cache_tests {
    use super::*;

    #[test]
    fn a_doubled_or_overtaken_request_is_not_new() {
        let mut reply_cache = ReplyCache::new();
        assert!(reply_cache.is_new(7, 1));
        assert!(!reply_cache.is_new(7, 1), "doubled");
        assert!(reply_cache.is_new(7, 3));
        assert!(!reply_cache.is_new(7, 2), "overtaken");
        assert!(reply_cache.is_new(8, 1), "of another client");
    }

    #[test]
    fn a_flood_of_clients_takes_no_more_memory_and_forgets_the_silent_ones() {
        let mut reply_cache = ReplyCache::new();
        assert!(reply_cache.is_new(-1, 5));
        assert!(reply_cache.is_new(-2, 5));
        for client in 0..2000 {
            assert!(reply_cache.is_new(client, 0));
            assert!(reply_cache.is_new(-1, 6 + client), "it goes on asking");
        }
        assert_eq!(reply_cache.last.len(), CLIENTS);
        assert!(
            !reply_cache.is_new(-1, 2005),
            "remembered, as it spoke last"
        );
        assert!(reply_cache.is_new(-2, 5), "silent for longest");
    }
}
