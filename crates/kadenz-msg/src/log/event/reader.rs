use std::collections::HashMap;
use std::io::{BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use kadenz_rt::clock::WallTime;

use super::{EventHeader, HEADER_BYTES, MAX_NAME, SYNC};
use crate::log::chunks::read_into;
use crate::log::limits::MAX_CHANNELS;
use crate::log::{
    Damage, Entry, Format, Info, LogError, LogReader, LoggedChannel, READ_AHEAD, Source,
};

/// Reads LCM's event log. Over damage it goes byte by byte to the next event, and counts the skipped bytes;
/// an event that is followed by neither another one nor the end is damage, as in liblcm.
pub struct EventReader<S> {
    source: BufReader<S>,
    at: u64,
    length: u64,
    damage: Damage,
    channels: HashMap<String, Arc<LoggedChannel>>,
    /// The name as read; its memory is reused.
    name: Vec<u8>,
}

/// Bisection ends if so few bytes are left.
const NEAR: u64 = 1 << 16;

impl<S: Source> EventReader<S> {
    /// Reads from the beginning of a source.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn open(mut source: S) -> Result<Self, LogError> {
        let length = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(0))?;
        Ok(Self {
            source: BufReader::with_capacity(READ_AHEAD, source),
            at: 0,
            length,
            damage: Damage::default(),
            channels: HashMap::new(),
            name: Vec::new(),
        })
    }

    /// Reads a log that does not begin with an event, if there is one within its first MiB.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub(crate) fn open_damaged(source: S) -> Result<Option<Self>, LogError> {
        const FAR: u64 = 1 << 20;
        let mut reader = Self::open(source)?;
        let whole = reader.length;
        if whole == 0 {
            return Ok(Some(reader));
        }
        let found = reader.find(0, whole.min(FAR))?;
        reader.go_to(0)?;
        reader.damage = Damage::default();
        Ok(found.map(|_| reader))
    }

    fn go_to(&mut self, at: u64) -> Result<(), LogError> {
        let by = i64::try_from(at).unwrap_or(i64::MAX) - i64::try_from(self.at).unwrap_or(0);
        if by != 0 {
            self.source.seek_relative(by)?;
        }
        self.at = at;
        Ok(())
    }

    /// Fills an array from here on; `None` if the file ends before.
    fn take<const N: usize>(&mut self) -> Result<Option<[u8; N]>, LogError> {
        let mut bytes = [0; N];
        if self.length.saturating_sub(self.at) < N as u64 {
            return Ok(None);
        }
        match self.source.read_exact(&mut bytes) {
            Ok(()) => {
                self.at += N as u64;
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                self.length = self.at;
                let at = self.at;
                self.source.seek(SeekFrom::Start(at))?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether an event may begin at a place ahead; the reader's position stays.
    fn sync_at(&mut self, place: u64) -> Result<bool, LogError> {
        let ahead = usize::try_from(place - self.at).unwrap_or(usize::MAX);
        let buffered = self.source.buffer().get(ahead..);
        if let Some(four) = buffered.and_then(|it| it.first_chunk()) {
            return Ok(*four == SYNC);
        }
        // The read-ahead buffer stays: a hostile log causes this every few bytes.
        let source = self.source.get_mut();
        let stands = source.stream_position()?;
        source.seek(SeekFrom::Start(place))?;
        let mut four = [0; 4];
        let read = source.read_exact(&mut four);
        source.seek(SeekFrom::Start(stands))?;
        match read {
            Ok(()) => Ok(four == SYNC),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the header of the event that begins here, if one does and another one or the end follows it.
    /// The reader is then behind the header, and anywhere else otherwise.
    fn event_here(&mut self) -> Result<Option<EventHeader>, LogError> {
        let Some(bytes) = self.take::<HEADER_BYTES>()? else {
            return Ok(None);
        };
        let Some(header) = EventHeader::parse(&bytes) else {
            return Ok(None);
        };
        let end = self.at + header.body_bytes();
        let left = self.length.saturating_sub(end);
        // The begin of an event that was torn at its first bytes follows, too.
        let is_last = end <= self.length && left < SYNC.len() as u64;
        let fits = is_last || (end < self.length && self.sync_at(end)?);
        Ok(fits.then_some(header))
    }

    /// Returns the first event at or after a byte and before a limit, with its offset.
    fn find(&mut self, from: u64, limit: u64) -> Result<Option<(u64, EventHeader)>, LogError> {
        let mut from = from;
        while let Some(sync) = self.next_sync(from, limit)? {
            self.go_to(sync)?;
            if let Some(header) = self.event_here()? {
                return Ok(Some((sync, header)));
            }
            from = sync + 1;
        }
        Ok(None)
    }

    /// Returns the offset of the next sync word.
    fn next_sync(&mut self, from: u64, limit: u64) -> Result<Option<u64>, LogError> {
        self.go_to(from)?;
        let mut window = [0_u8; 4096];
        let mut held = 0;
        loop {
            let begin = self.at - held as u64;
            if begin >= limit {
                return Ok(None);
            }
            let read = self.source.read(&mut window[held..])?;
            self.at += read as u64;
            let filled = held + read;
            let found = window[..filled].windows(4).position(|four| four == SYNC);
            if let Some(place) = found {
                let place = begin + place as u64;
                return Ok((place < limit).then_some(place));
            }
            if read == 0 {
                return Ok(None);
            }
            held = filled.min(3);
            window.copy_within(filled - held..filled, 0);
        }
    }

    /// The next event, over what is damaged.
    fn next_event(&mut self) -> Result<Option<EventHeader>, LogError> {
        let begin = self.at;
        if begin >= self.length {
            return Ok(None);
        }
        if let Some(header) = self.event_here()? {
            return Ok(Some(header));
        }
        let limit = self.length;
        let found = self.find(begin + 1, limit)?;
        let next = found.map_or(self.length, |(place, _)| place);
        self.damage.add(next - begin);
        if found.is_none() {
            self.go_to(next)?;
        }
        Ok(found.map(|(_, header)| header))
    }

    fn channel(&mut self) -> Arc<LoggedChannel> {
        let name = String::from_utf8_lossy(&self.name);
        if let Some(known) = self.channels.get(name.as_ref()) {
            return Arc::clone(known);
        }
        let channel = Arc::new(LoggedChannel::lcm(&name));
        if self.channels.len() < MAX_CHANNELS {
            let name = channel.name.clone();
            self.channels.insert(name, Arc::clone(&channel));
        }
        channel
    }
}

impl<S: Source> LogReader for EventReader<S> {
    fn read(&mut self, entry: &mut Entry) -> Result<bool, LogError> {
        let Some(header) = self.next_event()? else {
            return Ok(false);
        };
        debug_assert!(header.name_bytes as usize <= MAX_NAME);
        let (name, payload) = (&mut self.name, &mut entry.payload);
        let is_whole = read_into(&mut self.source, header.name_bytes.into(), name)?
            && read_into(&mut self.source, header.data_bytes.into(), payload)?;
        if !is_whole {
            return Err(std::io::Error::from(ErrorKind::UnexpectedEof).into());
        }
        self.at += header.body_bytes();
        if entry.channel.name.as_bytes() != self.name {
            entry.channel = self.channel();
        }
        entry.log_time = WallTime::from_unix_ns(header.time_us.saturating_mul(1000));
        entry.publish_time = entry.log_time;
        entry.sequence = header.number as u32;
        Ok(true)
    }

    fn seek(&mut self, time: WallTime) -> Result<(), LogError> {
        let wanted = time.as_unix_ns();
        self.damage = Damage::default();
        if wanted == i64::MIN {
            return self.go_to(0);
        }
        let (mut low, mut high) = (0, self.length);
        while high - low > NEAR {
            let middle = low + (high - low) / 2;
            match self.find(middle, high)? {
                Some((place, header)) if header.time_us.saturating_mul(1000) < wanted => {
                    low = place;
                }
                _ => high = middle,
            }
        }
        self.go_to(low)?;
        while let Some(header) = self.next_event()? {
            let body = self.at;
            if header.time_us.saturating_mul(1000) >= wanted {
                self.go_to(body - HEADER_BYTES as u64)?;
                break;
            }
            self.go_to(body + header.body_bytes())?;
        }
        self.damage = Damage::default();
        Ok(())
    }

    fn outline(&self) -> Info {
        Info::new(Format::EventLog, self.length)
    }

    fn damage(&self) -> Damage {
        self.damage
    }

    fn progress(&self) -> (u64, u64) {
        (self.at, self.length)
    }
}
