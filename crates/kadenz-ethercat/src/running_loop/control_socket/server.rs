//! The server of the control socket: it accepts clients and answers their questions.

use std::io::{self, ErrorKind};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use kadenz_rt::net::listener::is_exhausted;

use super::axes;
use super::client_slots::{ClientLimits, ClientSlot, ClientSlots};
use super::inside;
use super::lines::{LineEvent, LineStream};
use super::path::{self, NameLock, SocketPathError};
use super::pending::{ClientMessage, Next, Pending};
use super::published_image::{self, PublishedImage};
use super::question::{Answer, Question, Reply};
use crate::control::health::Health;
use crate::control::notice::Notices;
use crate::control::output_requests::OutputRequests;
use crate::control::supervisor::{DeviceStatus, DeviceTable};
use crate::control::timing::Timing;
use crate::main_device::acyclic::AcyclicQueue;
use crate::main_device::states::longest;
use crate::motion::MotionHandle;
use crate::wire::coe::Address;
use crate::wire::{AlStatusCode, State};

/// The longest question: one that writes an object of 64 KiB.
pub(super) const MAX_QUESTION: usize = 512 * 1024;
/// The interval at which a control socket looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The interval at which the server looks for new clients and their questions. It is shorter while the loop is to hear
/// an order, since a client waits for the answer.
const ROUND: Duration = Duration::from_millis(5);
const QUICK_ROUND: Duration = Duration::from_millis(1);
/// The most clients that the server accepts before it reads questions of those connected.
const MAX_ACCEPTED: usize = 64;
/// The most notices that are kept for a client that does not read.
const MAX_UNREAD_NOTICES: usize = 4_096;

/// The reason why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum ControlServerError {
    /// The path is not valid.
    #[error(transparent)]
    Place(#[from] SocketPathError),
    /// The socket failed.
    #[error(
        "cannot listen at {}: {source}; the path may have at most 107 bytes, on a local file system with room: set \
         XDG_RUNTIME_DIR to another folder, or take a shorter name",
        path.display()
    )]
    Listen {
        /// The path of the socket.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
}

/// The sources of a control socket's answers.
#[derive(Debug, Clone, Copy)]
pub struct ServerContext<'c> {
    /// The state of each device.
    pub device_table: &'c DeviceTable,
    /// The events of devices that the loop has noticed.
    pub notices: &'c Notices,
    /// The loop's health.
    pub health: &'c Health,
    /// The loop's statistics, where the program keeps them.
    pub timing: Option<&'c Timing>,
    /// The queue that carries questions to devices.
    pub queue: &'c AcyclicQueue,
    /// The loop's process image, where the loop publishes one.
    pub shown: Option<PublishedImage<'c>>,
    /// The queue that carries outputs to the loop, where clients may set them.
    pub output_requests: Option<&'c OutputRequests>,
    /// The handle that stops axes, where there are any.
    pub handle: Option<&'c MotionHandle>,
}

/// The server of a control socket. Its name is freed when it is dropped.
#[derive(Debug)]
pub struct ControlServer {
    name: String,
    listener: UnixListener,
    path: PathBuf,
    /// The user of this process.
    user: u32,
    pub(super) limits: ClientLimits,
    _claim: NameLock,
}

impl ControlServer {
    /// Opens a control socket of that name in the user's own folder.
    ///
    /// # Errors
    /// [`ControlServerError`]: the name is not valid or is in use, or the folder belongs to another user.
    pub fn open(name: &str) -> Result<Self, ControlServerError> {
        let folder = path::own_folder()?;
        path::remove_stale(&folder);
        Self::open_in(&folder, name)
    }

    /// Opens a control socket in a folder, which must exist.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in(folder: &Path, name: &str) -> Result<Self, ControlServerError> {
        let path = path::socket(folder, name)?;
        let claim = NameLock::take(folder, name)?;
        let failed = |source| ControlServerError::Listen {
            path: path.clone(),
            source,
        };
        // The name is ours, so the process that made the socket is dead.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        // By the process's mask others could connect. The server refuses those that did in between by their
        // credentials.
        path::set_mode(&path, 0o600)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let user = kadenz_rt::own_file::user();
        Ok(Self {
            name: name.to_owned(),
            listener,
            path,
            user,
            limits: ClientLimits::default(),
            _claim: claim,
        })
    }

    /// The name of the loop, by which clients find it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path of its socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Answers clients until `stop` is set. Waits; starts a thread for each client that asks for more than stops of
    /// axes.
    pub fn serve(&self, context: &ServerContext<'_>, stop: &AtomicBool) {
        let slots = &ClientSlots::new(self.limits);
        let mut pending = Pending::new(self.limits);
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let accepted = self.accept(&mut pending);
                pending.poll(
                    |order| order.outcome(context, stop),
                    |received| self.answer_at_once(received, context),
                    |lines, received| {
                        self.spawn_client(scope, (lines, received), slots, context, stop);
                    },
                );
                pause(accepted, &pending);
            }
            // Clients that wait until the loop hears an order read that the loop ends.
            let none = |_: &ClientMessage| Next::Leave;
            pending.poll(|order| order.outcome(context, stop), none, |_, _| ());
        });
    }

    /// Accepts clients that wait at the socket; returns how many.
    pub(super) fn accept(&self, pending: &mut Pending) -> usize {
        for count in 0..MAX_ACCEPTED {
            if !pending.has_room() {
                return count;
            }
            match self.listener.accept() {
                Ok((stream, _)) => self.admit(stream, pending),
                Err(error) if is_exhausted(&error) => {
                    pending.evict();
                    return count;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return count,
                // The client is gone already.
                Err(_) => {}
            }
        }
        MAX_ACCEPTED
    }

    /// Serves a client from now on, if its user is this one or root.
    fn admit(&self, stream: UnixStream, pending: &mut Pending) {
        let peer = kadenz_rt::net::listener::user_of_peer(&stream);
        let refusal = match peer {
            Ok(user) if user == self.user || user == 0 => None,
            Ok(user) => Some(format!(
                "user {} runs this loop, which accepts requests of that user and root, not of user {user}; run the \
                 command as one of them",
                self.user
            )),
            Err(error) => Some(format!(
                "the kernel reports no credentials of the peer (SO_PEERCRED): {error}"
            )),
        };
        // A client whose socket fails is gone.
        let _ = match refusal {
            None => pending.add(stream),
            Some(why) => refuse(stream, why),
        };
    }

    /// Answers what needs no waiting.
    fn answer_at_once(&self, received: &ClientMessage, context: &ServerContext<'_>) -> Next {
        let reply =
            |it: Result<Answer, String>| Next::Answer(it.map_or_else(Reply::Error, Reply::Ok));
        let order = |it: Result<axes::Order, String>| match it {
            Ok(order) => Next::Order(order),
            Err(why) => Next::Answer(Reply::Error(why)),
        };
        match received {
            ClientMessage::Nonsense(why) => Next::Answer(Reply::Error(why.clone())),
            ClientMessage::Asked(Question::Hello {}) => reply(Ok(self.hello(memory(context)))),
            ClientMessage::Asked(Question::Axes {}) => reply(axes::report(context)),
            ClientMessage::Asked(Question::Stop { by }) => {
                order(axes::stop(context, by.as_deref()))
            }
            ClientMessage::Asked(Question::Reset {}) => order(axes::reset(context)),
            ClientMessage::Asked(_) | ClientMessage::Long => Next::Leave,
        }
    }

    pub(super) fn hello(&self, memory: Option<String>) -> Answer {
        Answer::Hello {
            name: self.name.clone(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            memory,
        }
    }

    /// Lets a thread of its own serve a client, where there is a slot and the system provides a thread.
    fn spawn_client<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        (lines, received): (LineStream, ClientMessage),
        slots: &'s ClientSlots,
        context: &'s ServerContext<'_>,
        stop: &'s AtomicBool,
    ) {
        // The closure of a thread that did not start is dropped, with its stream.
        let Ok(spare) = lines.another() else { return };
        let refusal = match slots.take() {
            Ok(slot) => {
                let thread = std::thread::Builder::new()
                    .name("server".to_owned())
                    .stack_size(self.limits.stack);
                let work = move || {
                    // A client whose socket fails is gone.
                    let _ = self.serve_client(lines, received, context, stop, &slot);
                };
                match thread.spawn_scoped(scope, work) {
                    Ok(_) => return,
                    Err(_) => "the system gives the loop no thread for one more client (`ulimit -u` and, where \
                               memory is locked, `ulimit -l`); end one of them"
                        .to_owned(),
                }
            }
            Err(why) => why,
        };
        let _ = refuse(spare, refusal);
    }

    /// Serves one client, until it disconnects or must go.
    fn serve_client(
        &self,
        mut lines: LineStream,
        received: ClientMessage,
        context: &ServerContext<'_>,
        stop: &AtomicBool,
        slot: &ClientSlot<'_>,
    ) -> io::Result<()> {
        let mut next = match received {
            ClientMessage::Asked(question) => Some(question),
            ClientMessage::Nonsense(_) | ClientMessage::Long => None,
        };
        let mut since = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            if let Some(why) = slot.is_over(since.elapsed()) {
                return lines.send(&Reply::Closed(why));
            }
            let question = match next.take() {
                Some(question) => question,
                None => match lines.next_within(POLL_INTERVAL)? {
                    LineEvent::Nothing => continue,
                    LineEvent::Ended => break,
                    LineEvent::TooLong => {
                        let why = format!("a question has at most {MAX_QUESTION} bytes");
                        return lines.send(&Reply::Error(why));
                    }
                    LineEvent::Whole(line) => match serde_json::from_slice::<Question>(&line) {
                        Ok(question) => question,
                        Err(error) => {
                            lines.send(&Reply::Error(format!(
                                "this is not a valid request: {error}"
                            )))?;
                            since = Instant::now();
                            continue;
                        }
                    },
                },
            };
            if matches!(question, Question::Notices {}) {
                return listen(&mut lines, context, stop);
            }
            let answer = self.answer(&question, context, stop);
            lines.send(&answer.map_or_else(Reply::Error, Reply::Ok))?;
            since = Instant::now();
        }
        Ok(())
    }

    fn answer(
        &self,
        question: &Question,
        context: &ServerContext<'_>,
        stop: &AtomicBool,
    ) -> Result<Answer, String> {
        Ok(match question {
            Question::Hello {} => self.hello(memory(context)),
            Question::Layout {} => Answer::Layout(published_image::of(context)?.layout()),
            Question::ProcessImage {} => published_image::of(context)?.last()?,
            Question::Output {
                device,
                index,
                sub,
                value,
            } => published_image::set(context, *device, Address::new(*index, *sub), value)?,
            Question::Stop { by } => axes::stop(context, by.as_deref())?.wait(context, stop)?,
            Question::Reset {} => axes::reset(context)?.wait(context, stop)?,
            Question::Axes {} => axes::report(context)?,
            Question::Stats {} => Answer::Stats(Box::new(timing(context)?.snapshot())),
            Question::StatsText {} => Answer::Text(timing(context)?.snapshot().to_string()),
            Question::Health {} => Answer::Health(context.health.snapshot()),
            Question::Devices {} => Answer::Devices(context.device_table.all()),
            Question::Recent {} => Answer::Notices(context.notices.recent()),
            Question::Notices {} => Answer::Listening,
            Question::State { device, state } => Answer::Device(bring(
                context.device_table,
                *device,
                state.as_deref(),
                stop,
            )?),
            Question::SdoInfo { .. }
            | Question::Unit { .. }
            | Question::SdoRead { .. }
            | Question::SdoWrite { .. }
            | Question::SdoList { .. }
            | Question::SdoObject { .. }
            | Question::Sii { .. }
            | Question::RegisterRead { .. }
            | Question::RegisterWrite { .. } => inside::answer(context, question)?,
        })
    }
}

/// Pauses until the server looks again for new clients and questions.
pub(super) fn pause(accepted: usize, pending: &Pending) {
    match (accepted < MAX_ACCEPTED, pending.is_awaiting()) {
        (false, _) => {}
        (true, true) => std::thread::sleep(QUICK_ROUND),
        (true, false) => std::thread::sleep(ROUND),
    }
}

/// The name of the memory in which the loop publishes.
fn memory(context: &ServerContext<'_>) -> Option<String> {
    context.shown.and_then(|it| it.image.memory())
}

/// Reports to a client why the server refuses it, without waiting for it.
fn refuse(stream: UnixStream, why: String) -> io::Result<()> {
    let mut lines = LineStream::of(stream, MAX_QUESTION)?;
    lines.set_waiting(false)?;
    lines.send(&Reply::Error(why.clone()))?;
    lines.send(&Reply::Closed(why))
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // Where the file is gone already, there is nothing left to do.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn timing<'c>(context: &ServerContext<'c>) -> Result<&'c Timing, String> {
    let missing = || "this loop keeps no statistics".to_owned();
    context.timing.ok_or_else(missing)
}

/// Sends notices until the client disconnects.
fn listen(
    lines: &mut LineStream,
    context: &ServerContext<'_>,
    stop: &AtomicBool,
) -> io::Result<()> {
    let mut subscription = context.notices.subscribe(MAX_UNREAD_NOTICES);
    lines.send(&Reply::Ok(Answer::Listening))?;
    let mut lost = 0;
    while !stop.load(Ordering::Relaxed) {
        if let Some(notice) = subscription.next_within(POLL_INTERVAL) {
            lines.send(&Reply::Notice(notice))?;
        } else if lines.next_within(Duration::ZERO)? != LineEvent::Nothing {
            // The client is gone, or sends while it should only listen.
            break;
        }
        if subscription.lost() > lost {
            lost = subscription.lost();
            lines.send(&Reply::Lost(lost))?;
        }
    }
    Ok(())
}

/// Brings a device to a state, if one is given, and returns its status.
fn bring(
    device_table: &DeviceTable,
    device: usize,
    state: Option<&str>,
    stop: &AtomicBool,
) -> Result<DeviceStatus, String> {
    let status = || device_table.status(device).map_err(|it| it.to_string());
    let Some(name) = state else { return status() };
    let state = state_of(name)?;
    device_table
        .want(device, state)
        .map_err(|it| it.to_string())?;
    let end = Instant::now() + longest(state);
    loop {
        let now = status()?;
        if now.is_well() {
            return Ok(now);
        }
        if Instant::now() >= end || stop.load(Ordering::Relaxed) {
            return Err(format!(
                "device {device} ({}) is not in {state} but in AL status 0x{:02X} ({}); the supervisor goes on trying",
                now.name,
                now.status,
                AlStatusCode(now.code),
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn state_of(name: &str) -> Result<State, String> {
    State::from_name(name)
        .filter(|it| *it != State::Bootstrap)
        .ok_or_else(|| format!("`{name}` is not a valid state; take INIT, PREOP, SAFEOP or OP"))
}
