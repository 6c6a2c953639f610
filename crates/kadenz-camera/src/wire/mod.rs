//! The wire formats of cameras, sans-IO: bytes and a time in, bytes and events out.
//!
//! [`rtsp`] opens a stream that [`sdp`] describes; [`rtp`] puts its packets into their order, and [`video`] makes
//! encoded pictures of them. [`multipart`] finds the pictures in an answer of HTTP. [`multipart`] finds the pictures in an answer of HTTP. What comes from outside is bounded
//! in memory and never believed.

pub mod auth;
pub mod chunked;
pub mod head;
pub mod jpeg;
pub mod multipart;
pub mod rtp;
pub mod rtsp;
pub mod sdp;
pub mod url;
pub mod video;
