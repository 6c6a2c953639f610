//! Reports besides states: frames that fail, errors at ports, emergencies.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::{Event, SegmentSupervisor};
use crate::control::health::HealthSnapshot;
use crate::main_device::exchange::{Exchange, ExchangeResult, Registers, Target};
use crate::main_device::mailbox::Mail;
use crate::wire::Configured;
use crate::wire::coe::Emergency;
use crate::wire::register::{LOST_LINKS, RX_ERRORS, SYNC_MANAGER, SYNC_MANAGER_SIZE};
use crate::wire::sync_manager::{self, SyncManagerStatus};

/// An event that goes on is reported once in this time, with its count.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// The interval at which mailboxes are read.
const MAIL_EVERY: Duration = Duration::from_millis(100);
/// Counters stop at 255; from this value on the supervisor resets them.
const NEARLY_FULL: u8 = 200;

/// The counts that were reported last.
#[derive(Debug, Default)]
pub(super) struct LastReported {
    counter: HealthSnapshot,
    counter_again: MonotonicTime,
    frames: HealthSnapshot,
    frames_again: MonotonicTime,
}

/// Bytes from the first error counter to the end of the last.
pub(super) const COUNTERS: usize = 20;
/// The offset of the lost-link counters among them.
const LOST_LINKS_AT: usize = 16;

/// The counters that are reported: three for each port, and its lost links.
fn reported_counters(counters: &mut [u8; COUNTERS]) -> impl Iterator<Item = &mut u8> {
    let (errors, links) = counters.split_at_mut(LOST_LINKS_AT);
    errors[..12].iter_mut().chain(links)
}

impl SegmentSupervisor {
    /// Reports frames that the loop noted as failed.
    pub(super) fn report_frames(&mut self, now: MonotonicTime) {
        let snapshot = self.health.snapshot();
        let reported = &mut self.reported;
        let frames = snapshot.wrong.saturating_sub(reported.counter.wrong);
        if frames > 0 && now >= reported.counter_again {
            reported.counter = snapshot;
            reported.counter_again = now + REPORT_EVERY;
            let (got, expected) = (snapshot.wrong_last, snapshot.wrong_expected);
            let event = Event::WorkingCounter {
                frames,
                got,
                expected,
            };
            self.notices.publish(now, None, event);
        }
        let (before, link) = (reported.frames, snapshot.link);
        // A loop that was restarted counts from zero.
        let risen = |now: u64, before: u64| now.saturating_sub(before);
        let lost = risen(snapshot.lost, before.lost);
        let late = risen(link.late, before.link.late);
        let refused = risen(link.refused, before.link.refused);
        let foreign = risen(link.foreign, before.link.foreign);
        let damaged = risen(link.damaged, before.link.damaged);
        if lost + late + refused + foreign + damaged > 0 && now >= reported.frames_again {
            reported.frames = snapshot;
            reported.frames_again = now + REPORT_EVERY;
            let event = Event::Frames {
                lost,
                refused,
                late,
                foreign,
                damaged,
            };
            self.notices.publish(now, None, event);
        }
    }

    /// Devices that are there.
    fn there(&self) -> Vec<(usize, Configured)> {
        let all = self.watched.iter().enumerate();
        all.filter(|(_, it)| it.position.is_some())
            .map(|(device, it)| (device, Configured(it.label.station)))
            .collect()
    }

    /// Fetches emergencies, where no other thread uses the mailbox just now.
    pub(super) fn fetch_mail(&mut self, exchange: &mut dyn Exchange) -> ExchangeResult {
        let now = exchange.now();
        if now < self.mail {
            return Ok(());
        }
        self.mail = now + MAIL_EVERY;
        let register = SYNC_MANAGER + SYNC_MANAGER_SIZE + sync_manager::STATUS;
        let mut batch = self.batch();
        let mut asked = Vec::new();
        for (device, station) in self.there() {
            let watched = &self.watched[device];
            // In INIT there are no mailboxes.
            if watched.has_coe && watched.status & 0x0F > 1 {
                batch.together();
                asked.push((device, batch.read(Target::Of(station), register, 1)));
            }
        }
        batch.send(exchange)?;
        for (device, number) in asked {
            let full = batch
                .answer(number)
                .is_some_and(|[it]| SyncManagerStatus(it).full());
            let emergencies = self.device_table.try_with(device, |it| {
                if full {
                    let drain = |mut mail: Mail<'_>| mail.drain(&mut Registers::by(exchange));
                    // A failed read is repeated the next time.
                    let _ = it.mail().and_then(drain);
                }
                std::mem::take(&mut it.emergencies)
            });
            self.report_emergencies(device, &emergencies.unwrap_or_default(), now);
        }
        Ok(())
    }

    fn report_emergencies(&self, device: usize, emergencies: &[Emergency], now: MonotonicTime) {
        for emergency in emergencies {
            let Emergency {
                code,
                register,
                data,
            } = *emergency;
            let event = Event::Emergency {
                code,
                register,
                data,
            };
            self.report(device, now, event);
            self.device_table.note(device, |it| it.emergencies += 1);
        }
    }

    /// Reads error counters and reports those that have risen.
    pub(super) fn count_errors(&mut self, exchange: &mut dyn Exchange) -> ExchangeResult {
        let now = exchange.now();
        if now < self.count {
            return Ok(());
        }
        self.count = now + self.settings.count_every;
        let mut batch = self.batch();
        let there = self.there();
        let asked: Vec<_> = there
            .iter()
            .map(|(device, station)| {
                batch.together();
                (
                    *device,
                    *station,
                    batch.read(Target::Of(*station), RX_ERRORS, COUNTERS),
                )
            })
            .collect();
        batch.send(exchange)?;
        let mut reset = self.batch();
        let mut full = Vec::new();
        for (device, station, number) in asked {
            let Some(mut counters) = batch.answer(number) else {
                continue;
            };
            if let Some(before) = self.watched[device].counters.replace(counters) {
                self.report_port_errors(device, before, counters, now);
            }
            // Other counters between them are not reported, and are not reset either.
            if reported_counters(&mut counters).any(|it| *it >= NEARLY_FULL) {
                reset.together();
                let first = reset.next();
                for register in [RX_ERRORS, LOST_LINKS] {
                    reset.write(Target::Of(station), register, &[0; 4]);
                }
                full.push((device, first, reset.next()));
            }
        }
        reset.send(exchange)?;
        for (device, first, behind) in full {
            if let Some(counters) = &mut self.watched[device].counters
                && reset.all_did(first, behind)
            {
                reported_counters(counters).for_each(|it| *it = 0);
            }
        }
        Ok(())
    }

    fn report_port_errors(
        &self,
        device: usize,
        before: [u8; COUNTERS],
        counters: [u8; COUNTERS],
        now: MonotonicTime,
    ) {
        // A counter that is less than before was reset.
        let risen = |at: usize| match counters[at].checked_sub(before[at]) {
            Some(more) => u32::from(more),
            None => u32::from(counters[at]),
        };
        for port in 0..4_u8 {
            let at = usize::from(port);
            let (invalid, physical) = (risen(2 * at), risen(2 * at + 1));
            let (forwarded, lost_links) = (risen(8 + at), risen(LOST_LINKS_AT + at));
            if invalid + physical + forwarded + lost_links == 0 {
                continue;
            }
            let event = Event::PortErrors {
                port,
                invalid,
                physical,
                forwarded,
                lost_links,
            };
            self.report(device, now, event);
        }
    }
}
