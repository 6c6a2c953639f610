//! RTSP 1.0 as a client of cameras speaks it (RFC 2326), sans-IO.
//!
//! A [`MessageReader`] cuts the stream of bytes into messages and interleaved frames; a [`Client`] asks and understands the
//! answers. It opens a stream by three questions, `DESCRIBE`, `SETUP`, `PLAY`: `OPTIONS` is its first keep-alive, from
//! whose answer it learns whether `GET_PARAMETER` would do, so that a first picture waits for one answer less.

mod client;
mod message;
mod transport;

pub use client::{Client, RtspError, RtspEvent};
pub use message::{MAX_BODY, Message, MessageError, MessageReader, answer, request};
pub use transport::{GrantedTransport, Transport};
