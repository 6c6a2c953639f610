//! The desk itself: who comes, and what is answered.

use std::io::{self, ErrorKind};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use super::axes;
use super::inside;
use super::lines::{Line, Lines};
use super::objects;
use super::place::{self, Claim, PlaceError};
use super::question::{Answer, Question, Reply};
use super::seats::{Limits, Seat, Seats};
use super::shown::{self, Shown};
use crate::control::actuators::Actuators;
use crate::control::health::Health;
use crate::control::notice::Notices;
use crate::control::steward::{DeviceStatus, Roster};
use crate::control::timing::Timing;
use crate::main_device::postbox::Postbox;
use crate::main_device::states::longest;
use crate::motion::Switch;
use crate::wire::coe::Address;
use crate::wire::{AlStatusCode, State};

/// The longest question: what it takes to write an object of 64 KiB.
const LONGEST_QUESTION: usize = 512 * 1024;
/// How soon a desk hears that it is to end.
const LOOK: Duration = Duration::from_millis(50);
/// Notices that wait for a client that does not read.
const KEPT: usize = 4_096;

/// Why there is no desk.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// Its place.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Its socket.
    #[error(
        "cannot listen at {}: {source}; the path may have at most 107 bytes, on a local file system with room: set \
         XDG_RUNTIME_DIR to another folder, or take a shorter name",
        path.display()
    )]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What a desk answers from.
#[derive(Debug, Clone, Copy)]
pub struct Counter<'c> {
    /// The devices.
    pub roster: &'c Roster,
    /// What happens.
    pub notices: &'c Notices,
    /// What the loop notes.
    pub health: &'c Health,
    /// The loop's statistics, where somebody keeps them.
    pub timing: Option<&'c Timing>,
    /// What carries questions to devices.
    pub postbox: &'c Postbox,
    /// What the loop posts, where it does.
    pub shown: Option<Shown<'c>>,
    /// What carries outputs to the loop, where others may set them.
    pub actuators: Option<&'c Actuators>,
    /// What stops axes, where there are any.
    pub switch: Option<&'c Switch>,
}

/// A socket that other processes ask. Its name is given free when it is dropped.
#[derive(Debug)]
pub struct Desk {
    name: String,
    listener: UnixListener,
    path: PathBuf,
    pub(super) limits: Limits,
    _claim: Claim,
}

impl Desk {
    /// Opens a desk of that name in the user's own folder.
    ///
    /// # Errors
    /// [`DeskError`]: the name is none, is in use, or the folder is somebody else's.
    pub fn open(name: &str) -> Result<Self, DeskError> {
        Self::open_in(&place::own_folder()?, name)
    }

    /// Opens a desk in a folder, which must exist.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in(folder: &Path, name: &str) -> Result<Self, DeskError> {
        let path = place::socket(folder, name)?;
        let claim = Claim::take(folder, name)?;
        let failed = |source| DeskError::Listen {
            path: path.clone(),
            source,
        };
        // The name is ours, so whoever made it is dead.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self {
            name: name.to_owned(),
            listener,
            path,
            limits: Limits::default(),
            _claim: claim,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Answers whoever comes until `stop` is set. Waits; starts a thread for each client.
    ///
    /// Where the system gives no thread, this one hears the client, for what stops axes alone.
    pub fn serve(&self, counter: &Counter<'_>, stop: &AtomicBool) {
        let seats = &Seats::new(self.limits);
        std::thread::scope(move |scope| {
            while !stop.load(Ordering::Relaxed) {
                // Where there is no seat, whoever comes waits at the socket until there is.
                let seat = seats.take();
                let seated = seat.and_then(|seat| Some((seat, self.listener.accept().ok()?)));
                match seated {
                    Some((seat, (stream, _))) => {
                        self.welcome(scope, stream, (seat, seats), counter, stop);
                    }
                    // Nobody, or no descriptor is free: later, then.
                    None => std::thread::sleep(LOOK / 5),
                }
            }
        });
    }

    /// Lets a thread of its own hear the client.
    fn welcome<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        stream: UnixStream,
        (seat, seats): (Seat<'s>, &Seats),
        counter: &'s Counter<'_>,
        stop: &'s AtomicBool,
    ) {
        // What the thread was to have is gone when there is none.
        let spare = stream.try_clone();
        let thread = std::thread::Builder::new()
            .name("desk".to_owned())
            .stack_size(self.limits.stack);
        let work = move || {
            // A client whose socket fails is gone.
            let _ = self.attend(stream, counter, stop, &seat);
        };
        if let (Err(_), Ok(stream)) = (thread.spawn_scoped(scope, work), spare) {
            let _ = self.attend(stream, counter, stop, &seats.threadless());
        }
    }

    /// One client, until it goes or has to.
    fn attend(
        &self,
        stream: UnixStream,
        counter: &Counter<'_>,
        stop: &AtomicBool,
        seat: &Seat<'_>,
    ) -> io::Result<()> {
        let mut lines = Lines::of(stream, LONGEST_QUESTION)?;
        let (mut asked, mut since) = (0, Instant::now());
        while !stop.load(Ordering::Relaxed) {
            if let Some(why) = seat.is_over(asked, since.elapsed()) {
                return lines.send(&Reply::Bye(why));
            }
            let line = match lines.next_within(LOOK)? {
                Line::Nothing => continue,
                Line::Ended => break,
                Line::TooLong => {
                    let why = format!("a question has at most {LONGEST_QUESTION} bytes");
                    return lines.send(&Reply::Error(why));
                }
                Line::Whole(line) => line,
            };
            let question = match serde_json::from_slice::<Question>(&line) {
                Ok(question) => question,
                Err(error) => {
                    lines.send(&Reply::Error(format!("this is no question: {error}")))?;
                    (asked, since) = (asked + 1, Instant::now());
                    continue;
                }
            };
            if let Some(why) = seat.refuses(&question) {
                lines.send(&Reply::Error(why.clone()))?;
                return lines.send(&Reply::Bye(why));
            }
            if matches!(question, Question::Notices {}) {
                return listen(&mut lines, counter, stop);
            }
            let answer = self.answer(&question, counter, stop);
            lines.send(&answer.map_or_else(Reply::Error, Reply::Ok))?;
            (asked, since) = (asked + 1, Instant::now());
        }
        Ok(())
    }

    fn answer(
        &self,
        question: &Question,
        counter: &Counter<'_>,
        stop: &AtomicBool,
    ) -> Result<Answer, String> {
        Ok(match question {
            Question::Hello {} => Answer::Hello {
                name: self.name.clone(),
                pid: std::process::id(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                memory: counter.shown.and_then(|it| it.board.memory()),
            },
            Question::Layout {} => Answer::Layout(shown::of(counter)?.layout()),
            Question::Post {} => shown::of(counter)?.post()?,
            Question::Output {
                device,
                index,
                sub,
                value,
            } => shown::set(counter, *device, Address::new(*index, *sub), value)?,
            Question::Stop { by } => axes::stop(counter, by.as_deref(), stop)?,
            Question::Reset {} => axes::reset(counter, stop)?,
            Question::Axes {} => axes::tell(counter)?,
            Question::Stats {} => {
                let snapshot = timing(counter)?.snapshot();
                Answer::Stats(serde_json::to_value(snapshot).map_err(|it| it.to_string())?)
            }
            Question::StatsText {} => Answer::Text(timing(counter)?.snapshot().to_string()),
            Question::Health {} => Answer::Health(counter.health.vitals()),
            Question::Devices {} => Answer::Devices(counter.roster.all()),
            Question::Recent {} => Answer::Notices(counter.notices.recent()),
            Question::Notices {} => Answer::Listening,
            Question::State { device, state } => {
                Answer::Device(bring(counter.roster, *device, state.as_deref(), stop)?)
            }
            Question::SdoInfo { device, index, sub } => {
                objects::describe(counter, *device, Address::new(*index, *sub))?
            }
            Question::Unit { device, index, sub } => {
                objects::unit(counter, *device, Address::new(*index, *sub))?
            }
            Question::SdoRead { device, index, sub } => {
                objects::read(counter, *device, Address::new(*index, *sub))?
            }
            Question::SdoWrite {
                device,
                index,
                sub,
                value,
            } => objects::write(counter, *device, Address::new(*index, *sub), value)?,
            Question::SdoList { .. }
            | Question::SdoObject { .. }
            | Question::Sii { .. }
            | Question::RegisterRead { .. }
            | Question::RegisterWrite { .. } => inside::answer(counter, question)?,
        })
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // Where it is gone already, there is nothing left to do.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn timing<'c>(counter: &Counter<'c>) -> Result<&'c Timing, String> {
    let missing = || "this loop keeps no statistics".to_owned();
    counter.timing.ok_or_else(missing)
}

/// Sends notices until the client goes.
fn listen(lines: &mut Lines, counter: &Counter<'_>, stop: &AtomicBool) -> io::Result<()> {
    let mut subscription = counter.notices.subscribe(KEPT);
    lines.send(&Reply::Ok(Answer::Listening))?;
    let mut lost = 0;
    while !stop.load(Ordering::Relaxed) {
        if let Some(notice) = subscription.next_within(LOOK) {
            lines.send(&Reply::Notice(notice))?;
        } else if lines.next_within(Duration::ZERO)? != Line::Nothing {
            // It is gone, or speaks out of turn.
            break;
        }
        if subscription.lost() > lost {
            lost = subscription.lost();
            lines.send(&Reply::Lost(lost))?;
        }
    }
    Ok(())
}

/// Brings a device to a state, if one is given, and tells how it is.
fn bring(
    roster: &Roster,
    device: usize,
    state: Option<&str>,
    stop: &AtomicBool,
) -> Result<DeviceStatus, String> {
    let status = || roster.status(device).map_err(|it| it.to_string());
    let Some(name) = state else { return status() };
    let state = state_of(name)?;
    roster.want(device, state).map_err(|it| it.to_string())?;
    let end = Instant::now() + longest(state);
    loop {
        let now = status()?;
        if now.is_well() {
            return Ok(now);
        }
        if Instant::now() >= end || stop.load(Ordering::Relaxed) {
            return Err(format!(
                "device {device} ({}) is not in {state} but in AL status 0x{:02X} ({}); the steward goes on trying",
                now.name,
                now.status,
                AlStatusCode(now.code),
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn state_of(name: &str) -> Result<State, String> {
    [State::Init, State::PreOp, State::SafeOp, State::Op]
        .into_iter()
        .find(|it| it.name().eq_ignore_ascii_case(name))
        .ok_or_else(|| format!("`{name}` is no state; take INIT, PREOP, SAFEOP or OP"))
}
