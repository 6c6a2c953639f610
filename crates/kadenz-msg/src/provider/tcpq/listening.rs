//! What a client says and hears on its connection.

use crate::channel::Pattern;
use crate::provider::SenderId;
use crate::provider::stream::peer_receiver::Talk;
use crate::provider::stream::seats::Standing;
use crate::provider::stream::{Broken, Heard, Read};
use crate::wire::tcpq::{
    Frame, MAGIC_CLIENT, Peer, greeting, push_subscription, read_frame, read_greeting,
};

/// One connection to a server.
#[derive(Debug)]
pub(super) struct Listening {
    longest: usize,
    greeted: bool,
    /// What the server was told to send.
    told: Vec<String>,
}

impl Listening {
    /// Greets.
    pub(super) fn begin(longest: usize, words: &mut Vec<u8>) -> Self {
        words.extend_from_slice(&greeting(MAGIC_CLIENT));
        Self {
            longest,
            greeted: false,
            told: Vec::new(),
        }
    }
}

impl Talk for Listening {
    fn want(&mut self, wanted: &[Pattern], words: &mut Vec<u8>) {
        let is_wanted = |told: &String| wanted.iter().any(|it| it.as_str() == told);
        // New ones first, so that what both the old and the new want has no gap. A pattern that the
        // wire cannot say is wanted in vain.
        for pattern in wanted {
            let text = pattern.as_str();
            let is_new = !self.told.iter().any(|told| told == text);
            if is_new && push_subscription(words, text, true).is_ok() {
                self.told.push(text.to_owned());
            }
        }
        for gone in self.told.iter().filter(|told| !is_wanted(told)) {
            let _ = push_subscription(words, gone, false);
        }
        self.told.retain(is_wanted);
    }

    fn read<'a>(
        &mut self,
        bytes: &'a [u8],
        wanted: &[Pattern],
        words: &mut Vec<u8>,
    ) -> Result<Read<'a>, Broken> {
        if !self.greeted {
            // After the connection was lost the server must be told again.
            self.want(wanted, words);
            let Some(length) = read_greeting(bytes, Peer::Server).map_err(|_| Broken)? else {
                return Ok(Read::Short);
            };
            self.greeted = true;
            return Ok(Read::Other(length));
        }
        match read_frame(bytes, Peer::Server, self.longest).map_err(|_| Broken)? {
            None => Ok(Read::Short),
            Some((length, Frame::Publish { channel, payload })) => {
                let heard = Heard {
                    channel,
                    payload,
                    sender: SenderId::default(),
                    sequence: None,
                };
                Ok(Read::Message(length, heard))
            }
            Some((length, _)) => Ok(Read::Malformed(length)),
        }
    }

    /// It was asked for, and is no stranger.
    fn standing(&self) -> Standing {
        Standing::Active
    }
}
