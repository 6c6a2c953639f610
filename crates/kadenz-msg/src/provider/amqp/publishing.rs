//! The publisher's side of a connection. Sans-IO.

use std::sync::Arc;

use super::session::{Account, Said, Session, Status};
use super::wire::{self, METHOD};
use crate::provider::stream::Broken;
use crate::provider::stream::peer_set::Peer;
use crate::provider::stream::seats::Standing;
use crate::sync::Lock;

/// A broker that is published to.
#[derive(Debug)]
pub(in crate::provider) struct Broker {
    session: Session,
    pub(in crate::provider) is_ready: bool,
}

impl Broker {
    pub(in crate::provider) fn greet(
        words: &mut Vec<u8>,
        account: &Arc<Account>,
        status: &Arc<Lock<Status>>,
    ) -> Self {
        Self {
            session: Session::greet(words, account, status),
            is_ready: false,
        }
    }

    /// The longest payload of a frame.
    pub(in crate::provider) fn frame(&self) -> usize {
        self.session.frame
    }
}

impl Peer for Broker {
    fn hear(&mut self, bytes: &[u8], reply: &mut Vec<u8>) -> Result<usize, Broken> {
        let Some(frame) = wire::frame(bytes, self.session.frame)? else {
            return Ok(0);
        };
        if frame.kind == METHOD && self.session.obey(frame.payload, reply)? == Said::Ready {
            self.is_ready = true;
            self.session.tell(Status::Ready);
        }
        Ok(frame.length)
    }

    /// It was asked for, and is no stranger.
    fn standing(&self) -> Standing {
        Standing::Active
    }
}
