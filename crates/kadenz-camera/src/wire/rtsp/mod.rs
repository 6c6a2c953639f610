//! The client's part of RTSP 1.0 (RFC 2326), sans-IO.
//!
//! A [`MessageReader`] cuts the stream of bytes into messages and interleaved frames; a [`Client`] sends requests and
//! understands the answers. It opens a stream by three requests, `DESCRIBE`, `SETUP`, `PLAY`. `OPTIONS` is its first
//! keep-alive, and the answer says whether `GET_PARAMETER` would do; so the first picture waits for one answer less.

mod client;
mod message;
mod transport;

pub use client::{Client, RtspError, RtspEvent};
pub use message::{MAX_BODY, Message, MessageError, MessageReader, answer, request};
pub use transport::{GrantedTransport, Transport};
