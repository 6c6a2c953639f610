//! Options of the socket and the clock on both sides, and the token that they share.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kadenz::report::numbers;
use kadenz::rt::beat::Rate;
use kadenz::rt::clock::{self, Synchronisation};
use kadenz::rt::net::port::{PortOptions, Stamping};
use kadenz::udp::device::PerSecond;
use kadenz::udp::wire::Token;

use crate::options::{Size, Span};

/// The most bytes that are read of a token's file.
const MAX_TOKEN_FILE: u64 = 4096;

/// Options of the socket.
#[derive(Clone, Debug, Args)]
pub(super) struct SocketOptions {
    /// Send and receive through this interface alone
    #[arg(long, value_name = "NAME", help_heading = "Socket")]
    interface: Option<String>,

    /// Buffer for datagrams that wait for reading; the run records the granted size
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4MiB",
        help_heading = "Socket"
    )]
    receive_buffer: Size,

    /// Poll continuously instead of waiting for the kernel: no wake-up, but a whole CPU
    #[arg(long, help_heading = "Socket")]
    pub(super) busy_poll: bool,

    /// Let the kernel poll the network card's queue this long before it waits (SO_BUSY_POLL)
    #[arg(long, value_name = "SPAN", help_heading = "Socket")]
    kernel_busy_poll: Option<Span>,

    /// Type of service of the packets, 0 to 255 (DSCP << 2), by which switches may prioritise them
    #[arg(long, value_name = "BYTE", help_heading = "Socket")]
    tos: Option<u8>,
}

/// Layer that stamps packets on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Stamps {
    /// No layer
    Off,
    /// The kernel: a round trip splits into send stack, wire and device, and receive stack
    Software,
    /// The network card, if it can, and the kernel
    Hardware,
}

impl SocketOptions {
    /// Options of the port.
    pub(super) fn port(&self, local: SocketAddr) -> PortOptions {
        let bytes = usize::try_from(self.receive_buffer.0).unwrap_or(usize::MAX);
        PortOptions {
            local,
            interface: self.interface.clone(),
            receive_buffer: Some(bytes),
            busy_poll: self.kernel_busy_poll.map(|span| span.0),
            type_of_service: self.tos,
            ..PortOptions::default()
        }
    }
}

impl From<Stamps> for Stamping {
    fn from(stamps: Stamps) -> Self {
        match stamps {
            Stamps::Off => Self::Off,
            Stamps::Software => Self::Software,
            Stamps::Hardware => Self::Hardware,
        }
    }
}

/// How long discovery waits for devices.
pub(in crate::commands) const DISCOVERY: Duration = Duration::from_millis(900);

/// The token of authorised senders.
#[derive(Clone, Debug, Args)]
pub(super) struct TokenOption {
    /// File whose first line is the token, 8 to 64 bytes, that both sides must know: packets then carry an HMAC, and
    /// senders without the token get no answer
    #[arg(long, value_name = "FILE", env = "KADENZ_TOKEN_FILE")]
    token_file: Option<PathBuf>,
}

impl TokenOption {
    /// The token, if the user named a file.
    pub(super) fn token(&self) -> anyhow::Result<Option<Token>> {
        let Some(file) = &self.token_file else {
            return Ok(None);
        };
        let cannot = || format!("cannot read the token in {}", file.display());
        // The file may be a device, or a pipe of the shell: `--token-file <(pass show robot)`. Its first line suffices.
        let opened = File::open(file).with_context(cannot)?;
        let mut line = Vec::new();
        BufReader::new(opened.take(MAX_TOKEN_FILE))
            .read_until(b'\n', &mut line)
            .with_context(cannot)?;
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let token = Token::new(line);
        let token = token.with_context(|| {
            format!(
                "{} holds no token; make one with `head -c 24 /dev/urandom | base64 > {}`",
                file.display(),
                file.display()
            )
        })?;
        Ok(Some(token))
    }

    /// The file's path for `--token-file`.
    pub(super) fn file(&self) -> Option<String> {
        self.token_file.as_ref().map(|it| it.display().to_string())
    }
}

/// A rate as a limit: at least one a second, because 0 would mean no limit.
pub(super) fn per_second(rate: Rate) -> PerSecond {
    let per_second = 1e9 / rate.interval().as_duration().as_nanos().max(1) as f64;
    let whole = NonZeroU32::new(per_second.round() as u32);
    PerSecond::new(whole.unwrap_or(NonZeroU32::MIN))
}

/// "this one's kernel says that it is true within 120 us".
pub(super) fn wall_clock() -> String {
    match clock::synchronisation() {
        Synchronisation::Kept { within_ns } => format!(
            "this one's kernel says that it is true within {}",
            numbers::span(within_ns as f64)
        ),
        Synchronisation::Free => "this one's kernel reports no synchronisation".to_owned(),
        Synchronisation::Unknown => {
            "this system does not report the accuracy of its own".to_owned()
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Write as _, pipe};
    use std::os::fd::AsRawFd as _;
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn a_limit_below_one_a_second_is_one() {
        let limit = |rate: &str| per_second(rate.parse().unwrap());
        assert_eq!(limit("0.4Hz"), PerSecond::new(NonZeroU32::MIN));
        assert_eq!(
            limit("200kHz"),
            PerSecond::new(NonZeroU32::new(200_000).unwrap())
        );
    }

    #[test]
    fn a_token_comes_from_a_pipe_also_before_its_end() {
        let (reader, mut writer) = pipe().unwrap();
        writer.write_all(b"arm of robot 3\r\n").unwrap();
        // Longer than a token may be.
        writer.write_all(&[b'x'; 100]).unwrap();
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let option = TokenOption {
            token_file: Some(path.into()),
        };
        let (sender, read) = sync_channel(1);
        // A read that waits for the pipe's end waits forever.
        std::thread::spawn(move || sender.send(option.token().is_ok_and(|it| it.is_some())));
        assert_eq!(read.recv_timeout(Duration::from_secs(10)), Ok(true));
        drop(writer);
    }
}
