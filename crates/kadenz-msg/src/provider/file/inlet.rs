use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::sleep::Sleeper;

use crate::arrival::{Arrival, MessageInfo, Payload, Stamps};
use crate::channel::Pattern;
use crate::log::LogError;
use crate::log::play::Player;
use crate::provider::notifier::Notifier;
use crate::provider::{Inlet, More, ProviderError, ReceiveError, Received, Take, Wait, Wake};

pub(super) struct FileInlet {
    path: PathBuf,
    /// `None` if the log is written and no message is to be received.
    player: Option<Player>,
    wanted: Vec<Pattern>,
    notifier: Arc<Notifier>,
    sleeper: Option<Box<dyn Sleeper>>,
}

show_fields!(FileInlet: path);

/// The maximum number of messages of one batch.
const BATCH: usize = 64;

/// The last stretch before a message is slept by a sleeper, which is more exact than a lock's wait.
const PRECISE_SLEEP: Duration = Duration::from_micros(500);

impl FileInlet {
    pub(super) fn silent(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            player: None,
            wanted: Vec::new(),
            notifier: Arc::default(),
            sleeper: None,
        }
    }

    pub(super) fn playing(path: &Path, player: Player) -> Self {
        use kadenz_rt::sleep::{SleeperKind, SleeperOptions, open};
        let sleeper = open(SleeperKind::recommended(), SleeperOptions::default());
        Self {
            player: Some(player),
            sleeper: sleeper.ok(),
            ..Self::silent(path)
        }
    }

    fn next_due(&mut self, now: MonotonicTime) -> Result<Option<MonotonicTime>, ReceiveError> {
        let Some(player) = &mut self.player else {
            return Ok(None);
        };
        player
            .next_due(now)
            .map_err(|error| ReceiveError::Disconnected {
                peer: self.path.display().to_string(),
                reason: match error {
                    LogError::Io(error) | LogError::File { source: error, .. } => error.kind(),
                    _ => std::io::ErrorKind::InvalidData,
                },
            })
    }

    /// Hands over the due messages; returns the last message's answer, if one was handed over.
    fn deliver(&mut self, now: MonotonicTime, take: Take<'_>) -> Option<More> {
        let entry = self.player.as_mut().and_then(Player::take)?;
        let channel = Arc::clone(&entry.channel);
        if !self.wanted.iter().any(|it| it.matches(&channel.name)) {
            return None;
        }
        Some(take(Arrival {
            channel: &channel.name,
            info: MessageInfo {
                stamps: Stamps {
                    published: Some(entry.publish_time),
                    kernel: None,
                    taken: now,
                },
                ..MessageInfo::default()
            },
            payload: Payload::Owned(&mut entry.payload),
        }))
    }

    /// Returns the end of the wait, if it is over or was ended by a waker.
    fn ended(&self, wait: Wait, now: MonotonicTime) -> Option<Received> {
        let looked = (wait != Wait::Poll).then(|| self.notifier.wait(Wait::Until(now)));
        if looked.flatten() == Some(Received::Woken) {
            return Some(Received::Woken);
        }
        (end_of(wait, now) <= now).then_some(Received::Nothing)
    }

    /// Sleeps until that message is due; returns the end of the wait, if it came first.
    fn sleep(&mut self, wait: Wait, now: MonotonicTime, due: MonotonicTime) -> Option<Received> {
        let until = end_of(wait, now);
        let nearly = Wait::Until(due.min(until) - PRECISE_SLEEP);
        if self.notifier.wait(nearly) == Some(Received::Woken) {
            return Some(Received::Woken);
        }
        if let Some(sleeper) = self.sleeper.as_mut().filter(|_| until > now) {
            sleeper.sleep_until(due.min(until));
        }
        (until < due && clock::now() >= until).then_some(Received::Nothing)
    }
}

fn end_of(wait: Wait, now: MonotonicTime) -> MonotonicTime {
    match wait {
        Wait::Poll => now,
        Wait::Until(deadline) => deadline,
        Wait::Forever => MonotonicTime::from_ns(u64::MAX),
    }
}

impl Inlet for FileInlet {
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError> {
        self.wanted = patterns.to_vec();
        Ok(())
    }

    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        let (mut count, mut unwanted) = (0, 0);
        loop {
            let now = clock::now();
            let due = match self.next_due(now)? {
                Some(due) => due,
                None if count > 0 => return Ok(Received::Messages(count)),
                None if self.player.is_some() => return Ok(Received::Ended),
                None => MonotonicTime::from_ns(u64::MAX),
            };
            let is_due = due <= now;
            if is_due {
                let more = self.deliver(now, take);
                count += usize::from(more.is_some());
                unwanted += usize::from(more.is_none());
                if more == Some(More::Enough) || count == BATCH {
                    return Ok(Received::Messages(count));
                }
                if more.is_some() || !unwanted.is_multiple_of(BATCH) {
                    continue;
                }
            }
            if count > 0 {
                return Ok(Received::Messages(count));
            }
            let ended = match is_due {
                true => self.ended(wait, now),
                false => self.sleep(wait, now, due),
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::clone(&self.notifier) as Arc<dyn Wake>
    }
}
