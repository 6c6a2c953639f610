//! Publishing through a server.

use std::io;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::port::Wait;
use kadenz_rt::net::watch::{Interest, Watch};

use crate::channel::Channel;
use crate::provider::PublishError;
use crate::provider::stream::outgoing::Outgoing;
use crate::provider::stream::socket::{Socket, SocketAddress};
use crate::provider::stream::{Publish, RETRY};
use crate::wire::Header;
use crate::wire::tcpq::{MAGIC_CLIENT, greeting, message_header};

/// A connection of its own.
#[derive(Debug)]
pub(super) struct TcpqOutlet {
    server_address: SocketAddress,
    connection: Option<OutletConnection>,
    watch: Watch,
    next_try: MonotonicTime,
    queue: usize,
    send_wait: Duration,
}

/// The connection to the server, with what waits to be sent.
#[derive(Debug)]
struct OutletConnection {
    socket: Socket,
    outgoing: Outgoing,
}

impl TcpqOutlet {
    pub(super) fn connect(
        server_address: SocketAddress,
        queue: usize,
        send_wait: Duration,
    ) -> io::Result<Self> {
        let mut outlet = Self {
            server_address,
            connection: None,
            watch: Watch::new()?,
            next_try: MonotonicTime::default(),
            queue,
            send_wait,
        };
        outlet.connect_again()?;
        Ok(outlet)
    }

    fn connect_again(&mut self) -> io::Result<()> {
        let mut socket = self.server_address.connect()?;
        let mut outgoing = Outgoing::new(self.queue, None);
        outgoing.reserve();
        outgoing.reply(&greeting(MAGIC_CLIENT))?;
        outgoing.flush(&mut socket)?;
        self.connection = Some(OutletConnection { socket, outgoing });
        Ok(())
    }

    fn send(&mut self, header: &Header, payload: &[u8]) -> io::Result<bool> {
        if self.connection.is_none() {
            let now = clock::now();
            if now < self.next_try {
                return Err(io::ErrorKind::NotConnected.into());
            }
            self.next_try = now + RETRY;
            self.connect_again()?;
        }
        let Some(OutletConnection { socket, outgoing }) = &mut self.connection else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        socket.discard_input()?;
        let until = clock::now() + self.send_wait;
        let mut taken = outgoing.send(socket, [header.bytes(), payload, &[]])?;
        while !(taken && outgoing.is_empty()) && clock::now() < until {
            self.watch.clear();
            socket.watch(&mut self.watch, Interest::ReadAndWrite);
            self.watch.wait(Wait::Until(until))?;
            socket.discard_input()?;
            outgoing.flush(socket)?;
            if !taken {
                taken = outgoing.send(socket, [header.bytes(), payload, &[]])?;
            }
        }
        Ok(taken)
    }
}

impl Publish for TcpqOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        // No longer than the provider's longest, of 1 GiB at most.
        let header = message_header(channel, payload.len() as u32);
        match self.send(&header, payload) {
            Ok(true) => Ok(()),
            Ok(false) => Err(PublishError::Full {
                channel: *channel,
                reason: "the server does not read, and the queue to it is full",
            }),
            Err(error) => {
                self.connection = None;
                Err(PublishError::Refused {
                    channel: *channel,
                    reason: error.kind(),
                })
            }
        }
    }
}

impl Socket {
    /// Reads and discards the bytes that a server sends to a client that only publishes, and detects a closed
    /// connection.
    fn discard_input(&mut self) -> io::Result<()> {
        let mut room = [0; 1024];
        while self.read(&mut room)?.is_some() {}
        Ok(())
    }
}
