use std::marker::PhantomData;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::units::Span;

use super::{ServiceOptions, reply_channel};
use crate::arrival::random_number;
use crate::bus::{
    AdvertiseError, Bus, Delivery, Publisher, RecvError, SendError, SubscribeError, Subscription,
    SubscriptionOptions,
};
use crate::channel::Channel;
use crate::codec::{DecodeError, EncodeError};
use crate::message::Message;
use crate::service::messages::{Reply, Request};

/// The maximum number of waiting answers: one, and late ones of calls that were given up.
const QUEUE: usize = 8;

/// Calls a service by its name.
///
/// One call at a time; threads that call at once have a client each.
///
/// # Real-time safety
/// A call waits for its answer, up to the timeout; [`Client::call_into`] allocates nothing once requests and
/// answers of that length have been exchanged, if the provider is real-time safe.
#[derive(Debug)]
pub struct Client<Req, Rep> {
    publisher: Publisher<Request>,
    replies: Subscription<Reply>,
    request: Request,
    reply: Reply,
    longest_payload: usize,
    ignored: u64,
    of: PhantomData<fn(&Req) -> Rep>,
}

/// An answer, and the server that gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<Rep> {
    /// The decoded answer.
    pub reply: Rep,
    /// The server's number: another one after a restart, or if another server was faster.
    pub server: i64,
    /// The times at which the answer passed the kernel and this program.
    pub delivery: Delivery,
}

/// The reason for which a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No answer arrived in time: no server has the name, the server is busy or gone, or the network lost the
    /// request or its answer.
    #[error(
        "{service} did not answer within {}: is a server of that name on this bus? Whether it did its work is not \
         known",
        rounded(*timeout)
    )]
    Timeout {
        /// The channel of the service.
        service: Channel,
        /// How long was waited.
        timeout: Duration,
    },
    /// The server refuses, with its reason.
    #[error("{service} refuses: {reason}")]
    Refused {
        /// The channel of the service.
        service: Channel,
        /// The reason in the server's words.
        reason: String,
    },
    /// The answer is not of the type that was expected.
    #[error("the answer of {service}: {source}")]
    Decode {
        /// The channel of the service.
        service: Channel,
        /// The error of the decoder.
        source: DecodeError,
    },
    /// The request or its answer is longer than agreed.
    #[error("{what} of {service} has {length} bytes, more than the {longest} that are agreed")]
    TooLong {
        /// The channel of the service.
        service: Channel,
        /// The request, or the answer.
        what: &'static str,
        /// The length of the request or the answer, in bytes.
        length: usize,
        /// The longest that is agreed, in bytes.
        longest: usize,
    },
    /// The request cannot be encoded.
    #[error("the request to {service} cannot be encoded: {source}")]
    Encode {
        /// The channel of the service.
        service: Channel,
        /// The error of the encoder.
        source: EncodeError,
    },
    /// The request was not sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// Nothing can be received.
    #[error(transparent)]
    Receive(#[from] RecvError),
}

impl CallError {
    /// The same error of a call that is a part of a work with this timeout.
    pub(crate) fn within(self, whole: Duration) -> Self {
        match self {
            Self::Timeout { service, .. } => Self::Timeout {
                service,
                timeout: whole,
            },
            other => other,
        }
    }
}

/// The reason for which there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The service's name is not a channel, or nothing can be sent.
    #[error(transparent)]
    Advertise(#[from] AdvertiseError),
    /// Nothing can be received.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
}

impl Bus {
    /// Returns a client of the service of that name.
    ///
    /// # Errors
    /// If the name is not a channel, or the provider cannot send or receive.
    ///
    /// # Real-time safety
    /// Not real-time safe itself.
    pub fn client<Req: Message, Rep: Message + Default>(
        &self,
        service: &str,
    ) -> Result<Client<Req, Rep>, ClientError> {
        self.client_with(service, &ServiceOptions::default())
    }

    /// As [`Bus::client`], with the caller's bounds.
    ///
    /// # Errors
    /// As [`Bus::client`].
    pub fn client_with<Req: Message, Rep: Message + Default>(
        &self,
        service: &str,
        options: &ServiceOptions,
    ) -> Result<Client<Req, Rep>, ClientError> {
        let client = random_number().cast_signed();
        let publisher = self.publisher(service)?;
        let replies = reply_channel(client).map_err(AdvertiseError::Channel)?;
        let queue = SubscriptionOptions::with_queue(QUEUE);
        Ok(Client {
            publisher,
            replies: self.subscribe_with(replies.as_str(), &queue)?,
            request: Request {
                client,
                ..Request::default()
            },
            reply: Reply::default(),
            longest_payload: options.longest_payload,
            ignored: 0,
            of: PhantomData,
        })
    }
}

impl<Req: Message, Rep: Message + Default> Client<Req, Rep> {
    /// Sends a request, and waits for the answer. Allocates the answer.
    ///
    /// # Errors
    /// If no answer arrived in time, the server refuses, or the answer is of another type. The next call goes
    /// on, and takes no answer to this one.
    pub fn call(&mut self, request: &Req, timeout: Duration) -> Result<Rep, CallError> {
        Ok(self.ask(request, timeout)?.reply)
    }

    /// As [`Client::call`], and returns the server and the times of the answer.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn ask(&mut self, request: &Req, timeout: Duration) -> Result<Answer<Rep>, CallError> {
        let mut reply = Rep::default();
        let (server, delivery) = self.call_into(request, &mut reply, timeout)?;
        Ok(Answer {
            reply,
            server,
            delivery,
        })
    }

    /// As [`Client::ask`], into an existing answer, whose memory is reused. Returns the server's number and
    /// the times at which the answer passed the kernel and this program.
    ///
    /// # Errors
    /// As [`Client::call`]; the answer then holds a mixture of old and new members.
    pub fn call_into(
        &mut self,
        request: &Req,
        reply: &mut Rep,
        timeout: Duration,
    ) -> Result<(i64, Delivery), CallError> {
        self.fill(request)?;
        self.send()?;
        let delivery = self.wait(timeout)?;
        self.answered()?;
        let service = *self.publisher.channel();
        reply
            .decode_from(&self.reply.payload)
            .map_err(|source| CallError::Decode { service, source })?;
        Ok((self.reply.server, delivery))
    }

    /// As [`Client::call`], with an encoded request of any type; the encoded answer is lent until the next
    /// call. For tools that know types only at run time.
    ///
    /// # Errors
    /// As [`Client::call`], except for errors of types.
    pub fn call_bytes(&mut self, request: &[u8], timeout: Duration) -> Result<&[u8], CallError> {
        self.bound("the request", request.len())?;
        self.request.payload.clear();
        self.request.payload.extend_from_slice(request);
        self.send()?;
        self.wait(timeout)?;
        self.answered()?;
        Ok(&self.reply.payload)
    }

    fn fill(&mut self, request: &Req) -> Result<(), CallError> {
        let service = *self.publisher.channel();
        let length = request.encoded_length();
        self.bound("the request", length)?;
        let payload = &mut self.request.payload;
        payload.resize(length, 0);
        let used = request
            .encode_into(payload)
            .map_err(|source| CallError::Encode { service, source })?;
        payload.truncate(used);
        Ok(())
    }

    fn send(&mut self) -> Result<(), CallError> {
        self.request.size = i32::try_from(self.request.payload.len()).unwrap_or(i32::MAX);
        self.request.number += 1;
        Ok(self.publisher.publish(&self.request)?)
    }

    /// Checks that the reply is an answer, and not too long.
    fn answered(&self) -> Result<(), CallError> {
        if self.reply.refused {
            let service = *self.publisher.channel();
            let reason = self.reply.reason.clone();
            return Err(CallError::Refused { service, reason });
        }
        self.bound("the answer", self.reply.payload.len())
    }

    /// Waits for the answer to the request that was sent last; all others are ignored.
    fn wait(&mut self, timeout: Duration) -> Result<Delivery, CallError> {
        let until = clock::now() + timeout;
        loop {
            match self.replies.recv_into(&mut self.reply, left(until)) {
                Ok(Some(delivery)) if self.is_meant() => return Ok(delivery),
                Ok(Some(_)) | Err(RecvError::Decode { .. }) => self.ignored += 1,
                Ok(None) => {
                    let service = *self.publisher.channel();
                    return Err(CallError::Timeout { service, timeout });
                }
                Err(error) => return Err(error.into()),
            }
            // A flood of messages on the channel does not extend the wait beyond the timeout.
            if left(until).is_zero() && !timeout.is_zero() {
                let service = *self.publisher.channel();
                return Err(CallError::Timeout { service, timeout });
            }
        }
    }

    fn is_meant(&self) -> bool {
        let (reply, request) = (&self.reply, &self.request);
        (reply.client, reply.number) == (request.client, request.number)
    }

    fn bound(&self, what: &'static str, length: usize) -> Result<(), CallError> {
        let longest = self.longest_payload;
        if length <= longest && i32::try_from(length).is_ok() {
            return Ok(());
        }
        Err(CallError::TooLong {
            service: *self.publisher.channel(),
            what,
            length,
            longest,
        })
    }

    /// Returns how many messages on its channel were not an answer to the call at hand: late ones, second ones,
    /// and what is not an answer at all.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Returns the service that it calls.
    #[must_use]
    pub fn service(&self) -> &Channel {
        self.publisher.channel()
    }
}

/// A timeout as a user wrote it. What remained of one is a number of nanoseconds: whole milliseconds of it are enough.
fn rounded(timeout: Duration) -> Span {
    let is_rest =
        timeout >= Duration::from_millis(1) && !timeout.subsec_nanos().is_multiple_of(1000);
    let whole_ms = timeout
        .saturating_add(Duration::from_micros(500))
        .as_millis();
    Span(match is_rest {
        true => Duration::from_millis(u64::try_from(whole_ms).unwrap_or(u64::MAX)),
        false => timeout,
    })
}

fn left(until: MonotonicTime) -> Duration {
    until.remaining(clock::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_stated_as_written_and_the_rest_of_one_in_milliseconds() {
        let ns = |ns| rounded(Duration::from_nanos(ns)).to_string();
        assert_eq!(
            (ns(1_500_000), ns(2_000_000_000)),
            ("1500us".into(), "2s".into())
        );
        assert_eq!(
            (ns(499_999_123), ns(1_000_001)),
            ("500ms".into(), "1ms".into())
        );
        assert_eq!(ns(999_999), "999999ns");
        assert_eq!(rounded(Duration::MAX).0, Duration::from_millis(u64::MAX));
    }
}
