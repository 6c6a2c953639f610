//! The part behind the last chunk: the end of the data, the summary, and the footer. It is written piece by
//! piece: a long log's index would take too much memory.

use std::io;

use super::encoder::{IndexedRecord, McapEncoder};
use super::records::PutRecord as _;
use super::{MAGIC, op};
use crate::log::file::Appender;

/// Writes all of it at the end of a file.
pub(super) fn put(encoder: &McapEncoder, file: &mut Appender) -> io::Result<()> {
    file.waiting
        .record(op::DATA_END, |content| content.put_u32(0));
    file.put()?;
    let mut summary = Summary {
        start: file.length(),
        crc: crc32fast::Hasher::new(),
        groups: Vec::new(),
        file,
    };
    summary.records(op::SCHEMA, encoder.schemas.iter())?;
    let channels = encoder.channel_records.iter();
    summary.records(op::CHANNEL, channels.map(|(_, it)| it))?;
    let span = summary.chunks(encoder)?;
    let from = summary.file.length();
    statistics(encoder, span, &mut summary.file.waiting);
    summary.end_group(op::STATISTICS, from)?;
    summary.indexed(op::ATTACHMENT_INDEX, &encoder.attachments)?;
    summary.indexed(op::METADATA_INDEX, &encoder.metadata)?;
    summary.end()
}

/// A summary on its way into the file.
struct Summary<'a> {
    file: &'a mut Appender,
    start: u64,
    crc: crc32fast::Hasher,
    /// The kind of record, the offset of the first one, and the length of all of them.
    groups: Vec<(u8, u64, u64)>,
}

impl Summary<'_> {
    fn records<'b>(
        &mut self,
        number: u8,
        records: impl Iterator<Item = &'b Vec<u8>>,
    ) -> io::Result<()> {
        let from = self.file.length();
        for record in records {
            self.file.waiting.extend_from_slice(record);
        }
        self.end_group(number, from)
    }

    fn indexed(&mut self, number: u8, all: &[IndexedRecord]) -> io::Result<()> {
        let from = self.file.length();
        for it in all {
            let content = &it.content;
            self.file
                .waiting
                .record(number, |into| into.extend_from_slice(content));
        }
        self.end_group(number, from)
    }

    /// The chunk indexes; returns the first and last time of all messages.
    fn chunks(&mut self, encoder: &McapEncoder) -> io::Result<Option<(i64, i64)>> {
        let from = self.file.length();
        let crc = &mut self.crc;
        let span = encoder.index.each_block(self.file, |file, records| {
            records.for_each(|it| file.waiting.extend_from_slice(it));
            crc.update(&file.waiting);
            file.put()
        })?;
        self.end_group(op::CHUNK_INDEX, from)?;
        Ok(span)
    }

    fn end_group(&mut self, number: u8, from: u64) -> io::Result<()> {
        self.crc.update(&self.file.waiting);
        self.file.put()?;
        let length = self.file.length() - from;
        if length > 0 {
            self.groups.push((number, from, length));
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        let offsets = self.file.length();
        let into = &mut self.file.waiting;
        for (number, from, length) in self.groups {
            into.record(op::SUMMARY_OFFSET, |content| {
                content.push(number);
                content.put_u64(from);
                content.put_u64(length);
            });
        }
        into.push(op::FOOTER);
        into.put_u64(20);
        into.put_u64(self.start);
        into.put_u64(offsets);
        self.crc.update(into);
        into.put_u32(self.crc.finalize());
        into.extend_from_slice(MAGIC);
        self.file.put()
    }
}

fn statistics(encoder: &McapEncoder, span: Option<(i64, i64)>, into: &mut Vec<u8>) {
    let counts = encoder.index.messages.iter();
    let counts: Vec<(&u16, &u64)> = counts.filter(|(_, messages)| **messages > 0).collect();
    into.record(op::STATISTICS, |content| {
        content.put_u64(counts.iter().map(|(_, messages)| **messages).sum());
        content.put_u16(encoder.schemas.len() as u16);
        content.put_u32(encoder.channel_records.len() as u32);
        content.put_u32(encoder.attachments.len() as u32);
        content.put_u32(encoder.metadata.len() as u32);
        content.put_u32(encoder.index.chunks as u32);
        let (first, last) = span.unwrap_or_default();
        content.put_time(first);
        content.put_time(last);
        content.put_u32((counts.len() * 10) as u32);
        for (channel, messages) in &counts {
            content.put_u16(**channel);
            content.put_u64(**messages);
        }
    });
}
