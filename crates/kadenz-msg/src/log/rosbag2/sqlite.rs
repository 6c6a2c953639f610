//! rosbag2's SQLite files: the tables `topics`, `messages`, and newer ones' `message_definitions`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use kadenz_rt::clock::WallTime;
use rusqlite::{Connection, OpenFlags, params};

use crate::log::{Damage, Entry, Format, Info, LogError, LogReader, LoggedChannel, Schema};

/// Reads messages by a page at a time, in the order of their times.
pub(super) struct SqliteReader {
    database: Connection,
    channels: HashMap<i64, Arc<LoggedChannel>>,
    /// The time and the row of the last message that was fetched.
    last: (i64, i64),
    page: Vec<Row>,
    bytes: u64,
    read: u64,
    messages: u64,
    damage: Damage,
}

struct Row {
    row: i64,
    topic: i64,
    time: i64,
    data: Vec<u8>,
}

/// How many messages are fetched at once.
const PAGE: i64 = 256;

impl SqliteReader {
    pub(super) fn open(file: &Path) -> Result<Self, LogError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(file, flags).map_err(failed)?;
        let channels = channels(&database).map_err(failed)?;
        let count = database.query_row("SELECT COUNT(*) FROM messages", [], |row| row.get(0));
        let messages: i64 = count.map_err(failed)?;
        let facts = std::fs::metadata(file).map_err(LogError::at(file))?;
        Ok(Self {
            database,
            channels,
            last: (i64::MIN, i64::MIN),
            page: Vec::new(),
            bytes: facts.len(),
            read: 0,
            messages: messages.unsigned_abs(),
            damage: Damage::default(),
        })
    }

    /// Fetches the next page, to be taken from its end.
    fn fetch(&mut self) -> rusqlite::Result<()> {
        let mut statement = self.database.prepare_cached(
            "SELECT rowid, topic_id, timestamp, data FROM messages \
             WHERE (timestamp, rowid) > (?1, ?2) ORDER BY timestamp, rowid LIMIT ?3",
        )?;
        let rows = statement.query_map(params![self.last.0, self.last.1, PAGE], |row| {
            Ok(Row {
                row: row.get(0)?,
                topic: row.get(1)?,
                time: row.get(2)?,
                data: row.get(3)?,
            })
        })?;
        for row in rows {
            self.page.push(row?);
        }
        if let Some(row) = self.page.last() {
            self.last = (row.time, row.row);
        }
        self.page.reverse();
        Ok(())
    }
}

fn failed(error: rusqlite::Error) -> LogError {
    std::io::Error::other(error).into()
}

fn channels(database: &Connection) -> rusqlite::Result<HashMap<i64, Arc<LoggedChannel>>> {
    let definitions = definitions(database).unwrap_or_default();
    let mut statement =
        database.prepare("SELECT id, name, type, serialization_format FROM topics")?;
    let rows = statement.query_map([], |row| {
        let name: String = row.get(2)?;
        let (encoding, text) = definitions.get(&name).cloned().unwrap_or_default();
        let schema = Schema {
            name,
            encoding,
            data: text.into_bytes(),
        };
        let channel = LoggedChannel {
            name: row.get(1)?,
            encoding: row.get(3)?,
            schema: Some(Arc::new(schema)),
            metadata: Vec::new(),
        };
        Ok((row.get(0)?, Arc::new(channel)))
    })?;
    rows.collect()
}

/// The text of each type, which bags before ROS 2 Iron do not have.
fn definitions(database: &Connection) -> rusqlite::Result<HashMap<String, (String, String)>> {
    let mut statement = database.prepare(
        "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    rows.collect()
}

impl LogReader for SqliteReader {
    fn read(&mut self, entry: &mut Entry) -> Result<bool, LogError> {
        loop {
            if self.page.is_empty() {
                self.fetch().map_err(failed)?;
            }
            let Some(row) = self.page.pop() else {
                return Ok(false);
            };
            self.read += 1;
            let Some(channel) = self.channels.get(&row.topic) else {
                self.damage.add(row.data.len() as u64);
                continue;
            };
            entry.channel = Arc::clone(channel);
            entry.log_time = WallTime::from_unix_ns(row.time);
            entry.publish_time = entry.log_time;
            entry.sequence = 0;
            entry.payload = row.data;
            return Ok(true);
        }
    }

    fn seek(&mut self, time: WallTime) -> Result<(), LogError> {
        self.page.clear();
        self.damage = Damage::default();
        self.last = (time.as_unix_ns(), i64::MIN);
        Ok(())
    }

    fn outline(&self) -> Info {
        Info::new(Format::Rosbag2Sqlite, self.bytes)
    }

    fn damage(&self) -> Damage {
        self.damage
    }

    fn progress(&self) -> (u64, u64) {
        (self.read.min(self.messages), self.messages)
    }
}
