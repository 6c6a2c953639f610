//! Two network namespaces joined by a veth pair.
//!
//! They have no name: each lives as long as the process that holds it, and that process as long as the pipe to it. Any
//! end of this program, also by Ctrl-C or SIGKILL, closes the pipe, and nothing stays behind.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::repository::Repository;

/// Addresses for documentation (RFC 5737), in networks that are not routed.
const CONTROLLER: &str = "192.0.2.1";
/// The other end.
pub(crate) const DEVICE: &str = "192.0.2.2";
const CARD: &str = "kadenz0";

/// A network namespace, held by a process.
pub(crate) struct Namespace(Child);

/// Two namespaces and the pair between them.
pub(crate) struct Cable {
    /// Where the clients run.
    pub(crate) controller: Namespace,
    /// Where the servers run.
    pub(crate) device: Namespace,
}

impl Cable {
    /// Makes both namespaces and the pair between them.
    pub(crate) fn lay(repository: &Repository) -> Result<Self> {
        let cable = Self {
            controller: Namespace::make(repository)?,
            device: Namespace::make(repository)?,
        };
        let far = cable.device.0.id().to_string();
        let pair = format!("link add {CARD} type veth peer name {CARD} netns {far}");
        cable.controller.ip(repository, &pair)?;
        for (end, address) in [(&cable.controller, CONTROLLER), (&cable.device, DEVICE)] {
            end.ip(repository, &format!("address add {address}/24 dev {CARD}"))?;
            end.ip(repository, "link set lo up")?;
            end.ip(repository, &format!("link set {CARD} up"))?;
        }
        Ok(cable)
    }
}

impl Namespace {
    fn make(repository: &Repository) -> Result<Self> {
        let mut holder = repository.command("unshare");
        let holder = holder
            .args(["--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        let mut holder = Self(holder.context("unshare is missing: apt-get install util-linux")?);
        let ours = fs::read_link("/proc/self/ns/net").context("this needs Linux's namespaces")?;
        for _ in 0..500 {
            if let Some(status) = holder.0.try_wait()? {
                bail!("`unshare --net` ended with {status}: run the benchmark as root");
            }
            if fs::read_link(holder.path()).is_ok_and(|theirs| theirs != ours) {
                return Ok(holder);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("`unshare --net` made no namespace in 5 s")
    }

    fn path(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }

    fn ip(&self, repository: &Repository, words: &str) -> Result<()> {
        let mut command = self.command(repository, &["ip"]);
        process::output(command.args(words.split(' '))).context("ip is Debian's iproute2")?;
        Ok(())
    }

    /// A command that runs in the namespace, and dies with this program.
    pub(crate) fn command(&self, repository: &Repository, words: &[&str]) -> Command {
        let mut command = repository.command("setpriv");
        command
            .args(["--pdeathsig", "KILL", "nsenter"])
            .arg(format!("--net={}", self.path()))
            .args(words);
        command
    }

    /// Starts a server in the namespace, and gives it time to listen.
    pub(crate) fn serve(&self, repository: &Repository, words: &[&str]) -> Result<Server> {
        let mut command = self.command(repository, words);
        let child = process::silent(&mut command).spawn();
        let spelled = process::spelled(&command);
        let mut server = Server(child.with_context(|| format!("cannot start `{spelled}`"))?);
        std::thread::sleep(Duration::from_millis(400));
        match server.0.try_wait()? {
            None => Ok(server),
            Some(status) => bail!("`{spelled}` ended at once with {status}"),
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// A server that ends when it is dropped.
pub(crate) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

fn end(child: &mut Child) {
    // The server may have ended already.
    let _ = child.kill();
    let _ = child.wait();
}
