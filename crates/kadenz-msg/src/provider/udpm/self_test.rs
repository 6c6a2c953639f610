//! Whether this host hears what it sends, without disturbing anybody.

use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::port::{Inbox, UdpPort, Wait};

use super::Udpm;
use crate::channel::Channel;
use crate::wire::{Packet, SELF_TEST, short_header};

/// Whether a host hears what it sends to a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelfTest {
    /// It does.
    Heard {
        /// How long the first datagram that was heard took, with the scheduler's share.
        after: Duration,
    },
    /// Nothing came.
    Silent {
        /// How many datagrams were sent.
        sent: u32,
    },
    /// A socket was refused, or could not send.
    Refused {
        /// Why.
        why: String,
    },
}

/// How often a datagram is sent.
const TRIES: u32 = 5;
/// How long each is waited for.
const PATIENCE: Duration = Duration::from_millis(200);

impl Udpm {
    /// Sends on LCM's own channel for this, which every LCM program ignores, and listens; up to a
    /// second. Not real-time safe.
    #[must_use]
    pub fn self_test(&self) -> SelfTest {
        self.try_self_test()
            .unwrap_or_else(|why| SelfTest::Refused { why })
    }

    fn try_self_test(&self) -> Result<SelfTest, String> {
        let mut receiver = self
            .port(&self.options.receiving())
            .map_err(|it| it.reason)?;
        let mut mouth = self.port(&self.options.sending()).map_err(|it| it.reason)?;
        let channel = Channel::new(SELF_TEST).map_err(|it| it.to_string())?;
        let mut inbox = Inbox::new(8, 200);
        for number in 0..TRIES {
            let begun = clock::now();
            // Nobody else says the same.
            let mark = begun.as_ns().to_be_bytes();
            let header = short_header(number, &channel);
            let sent = mouth.send_parts([header.bytes(), &mark], self.options.group);
            sent.map_err(|error| error.to_string())?;
            if hears(&mut receiver, &mut inbox, &mark, begun + PATIENCE) {
                let after = clock::now().remaining(begun);
                return Ok(SelfTest::Heard { after });
            }
        }
        Ok(SelfTest::Silent { sent: TRIES })
    }
}

fn hears(receiver: &mut UdpPort, inbox: &mut Inbox, mark: &[u8], until: MonotonicTime) -> bool {
    while clock::now() < until {
        let _ = receiver.receive_batch(inbox, Wait::Until(until));
        let heard = inbox.datagrams().any(|datagram| {
            let packet = Packet::parse(datagram.bytes);
            matches!(packet, Ok(Packet::Short { payload, .. }) if payload == mark)
        });
        if heard {
            return true;
        }
    }
    false
}
