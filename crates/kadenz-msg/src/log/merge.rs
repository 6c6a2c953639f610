//! Several logs read as one, in the order of their times.

use kadenz_rt::clock::WallTime;

use super::{Damage, Entry, Format, Info, Limits, LogError, LogReader};

/// Several logs as one. Holds one message of each in memory, and what each reader holds.
pub struct Merged {
    readers: Vec<(Box<dyn LogReader>, NextMessage)>,
}

/// The next message of one log.
enum NextMessage {
    Unread,
    Read(Box<Entry>),
    Ended,
}

impl Merged {
    /// Merges logs; of messages with equal times the one of the earlier reader comes first.
    #[must_use]
    pub fn new(readers: Vec<Box<dyn LogReader>>) -> Self {
        let readers = readers.into_iter().map(|it| (it, NextMessage::Unread));
        Self {
            readers: readers.collect(),
        }
    }
}

impl LogReader for Merged {
    fn read(&mut self, entry: &mut Entry) -> Result<bool, LogError> {
        let mut earliest: Option<(WallTime, usize)> = None;
        for (at, (reader, head)) in self.readers.iter_mut().enumerate() {
            if let NextMessage::Unread = head {
                let mut next = Box::<Entry>::default();
                let more = reader.read(&mut next)?;
                *head = if more {
                    NextMessage::Read(next)
                } else {
                    NextMessage::Ended
                };
            }
            if let NextMessage::Read(next) = head
                && earliest.is_none_or(|(time, _)| next.log_time < time)
            {
                earliest = Some((next.log_time, at));
            }
        }
        let Some((_, at)) = earliest else {
            return Ok(false);
        };
        let (reader, head) = &mut self.readers[at];
        if let NextMessage::Read(next) = head {
            std::mem::swap(entry, next);
            if !reader.read(next)? {
                *head = NextMessage::Ended;
            }
        }
        Ok(true)
    }

    fn seek(&mut self, time: WallTime) -> Result<(), LogError> {
        for (reader, head) in &mut self.readers {
            reader.seek(time)?;
            *head = NextMessage::Unread;
        }
        Ok(())
    }

    fn set_limits(&mut self, limits: Limits) {
        for (reader, _) in &mut self.readers {
            reader.set_limits(limits);
        }
    }

    fn outline(&self) -> Info {
        let mut parts = self.readers.iter().map(|(reader, _)| reader.outline());
        let Some(mut whole) = parts.next() else {
            return Info::new(Format::Several, 0);
        };
        for part in parts {
            whole.bytes += part.bytes;
            whole.complete = whole
                .complete
                .zip(part.complete)
                .map(|(one, other)| one && other);
            if whole.format != part.format {
                whole.format = Format::Several;
            }
            whole.chunks.extend(part.chunks);
        }
        whole
    }

    fn damage(&self) -> Damage {
        let mut whole = Damage::default();
        for part in self.readers.iter().map(|(reader, _)| reader.damage()) {
            whole.places += part.places;
            whole.skipped_bytes += part.skipped_bytes;
        }
        whole
    }

    fn progress(&self) -> (u64, u64) {
        let parts = self.readers.iter().map(|(reader, _)| reader.progress());
        parts.fold((0, 0), |(done, all), part| (done + part.0, all + part.1))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::log::{LogWriter as _, LoggedChannel, SmallDisk, event};

    fn log(channel: &str, times_us: &[i64]) -> Box<dyn LogReader> {
        let disk = SmallDisk::with_room(u64::MAX);
        let mut writer = Box::new(event::EventWriter::new(Box::new(disk.clone())));
        for time in times_us {
            let entry = Entry {
                channel: LoggedChannel::lcm(channel).into(),
                log_time: WallTime::from_unix_ns(time * 1000),
                ..Entry::default()
            };
            writer.write(&entry).unwrap();
        }
        writer.finish().unwrap();
        Box::new(event::EventReader::open(Cursor::new(disk.contents())).unwrap())
    }

    #[test]
    fn logs_are_read_as_one_in_the_order_of_time() {
        let logs = vec![log("A", &[1, 4, 5]), log("B", &[2, 4]), log("C", &[])];
        let mut merged = Merged::new(logs);
        for _ in 0..2 {
            let mut entry = Entry::default();
            let mut order = String::new();
            while merged.read(&mut entry).unwrap() {
                order += &format!(
                    "{}{} ",
                    entry.channel.name,
                    entry.log_time.as_unix_ns() / 1000
                );
            }
            assert_eq!(order, "A1 B2 A4 B4 A5 ");
            merged.seek(WallTime::from_unix_ns(0)).unwrap();
        }
    }
}
