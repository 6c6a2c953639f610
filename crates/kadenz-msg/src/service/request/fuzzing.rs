//! A server without a bus and a thread, for fuzzing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::server::{Counts, ReplyCache, RequestContext, RequestServer};
use crate::arrival::MessageInfo;
use crate::bus::{Delivery, RecvError};
use crate::channel::Channel;
use crate::message::Message;
use crate::provider::{Outlet, PublishError};
use crate::service::messages::{Reply, Request};

/// A server that answers any message.
pub(in crate::service) struct FuzzedServer<Req, F> {
    server: RequestServer<Req, F>,
    counts: Arc<Counts>,
    received: u64,
}

impl<Req: Message + Default, F> FuzzedServer<Req, F> {
    /// Returns a server with that longest request and answer.
    pub(in crate::service) fn new(longest: usize, handler: F) -> Self {
        let counts = Arc::new(Counts::default());
        let server = RequestServer {
            outlet: Box::new(Listener),
            reply_cache: ReplyCache::new(),
            reply: Reply::default(),
            request: Req::default(),
            longest,
            counts: Arc::clone(&counts),
            handler,
        };
        Self {
            server,
            counts,
            received: 0,
        }
    }

    /// Takes a message, which is a request or not, and panics if it is neither counted nor leads to an answer
    /// that can be sent.
    pub(in crate::service) fn receive<Rep: Message>(&mut self, message: &[u8])
    where
        F: FnMut(&Req, &RequestContext) -> Result<Rep, String>,
    {
        match Request::decode(message) {
            Ok(request) => self.server.take(&request, &delivery()),
            Err(source) => self.server.pass_over(&RecvError::Decode {
                channel: Channel::default(),
                source,
            }),
        }
        self.received += 1;
        let of = |it: &AtomicU64| it.load(Ordering::Relaxed);
        let counts = &self.counts;
        let worked_on = of(&counts.answered) + of(&counts.refused);
        let others = of(&counts.repeated) + of(&counts.undecodable);
        assert_eq!(worked_on + others, self.received);
    }
}

fn delivery() -> Delivery {
    Delivery {
        channel: Channel::default(),
        info: MessageInfo::default(),
        dequeued: Default::default(),
        decoded: Default::default(),
    }
}

/// Takes a reply as a client does.
#[derive(Debug)]
struct Listener;

impl Outlet for Listener {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        assert!(channel.as_str().starts_with("KADENZ/REPLY/"));
        let reply = Reply::decode(payload);
        assert!(reply.is_ok_and(|it| it.refused != it.reason.is_empty() || it.refused));
        Ok(())
    }

    fn publish_in_place(
        &mut self,
        channel: &Channel,
        length: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, PublishError> {
        let mut payload = vec![0; length];
        let filled = fill(&mut payload);
        if filled {
            self.publish(channel, &payload)?;
        }
        Ok(filled)
    }
}
