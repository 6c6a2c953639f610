//! Publishing, subscribing, and the ways to receive.
