//! LCM's server of the `tcpq://` provider: every client of it connects here, LCM's own programs too.
//!
//! `cargo run --example tcpq_server` listens on loopback at LCM's port, `cargo run --example tcpq_server
//! 192.168.0.7:7700` at that address. The program prints its address, and serves until the user ends it
//! (Ctrl-C).
#![allow(clippy::print_stdout, reason = "an example speaks")]

use std::error::Error;

use kadenz_msg::provider::tcpq::{ServerOptions, TcpqServer};

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = ServerOptions::default();
    if let Some(address) = std::env::args().nth(1) {
        options.address = address.parse()?;
    }
    let server = TcpqServer::start(&options)?;
    println!("tcpq://{}", server.address());
    loop {
        std::thread::park();
    }
}
