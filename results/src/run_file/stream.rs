//! A part of a run that is written to a stream, in the order of the input, as soon as a record and all before it are known.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Write},
};

use super::{
    Header,
    format::{self, ConversationRecord, EndRecord, kind},
    part::{InputError, add_conversation},
};
use crate::{ConversationReport, Report, Tally, digest::Digest};

/// The records of a part.
pub(super) struct PartStream {
    out: Box<dyn Write + Send>,
    /// Lines that are complete and not written.
    ready: Vec<u8>,
    /// Lines that wait for those before them, by the number of their line in the input.
    waiting: BTreeMap<usize, Vec<u8>>,
    /// Bytes that wait.
    bytes: usize,
    next: usize,
    conversations: usize,
    tally: Tally,
    sum: Digest,
}

impl fmt::Debug for PartStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartStream").field("next", &self.next).finish_non_exhaustive()
    }
}

impl PartStream {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out,
            ready: Vec::new(),
            waiting: BTreeMap::new(),
            bytes: 0,
            next: 0,
            conversations: 0,
            tally: Tally::default(),
            sum: Digest::default(),
        }
    }

    pub(super) fn header(&mut self, header: &Header) -> io::Result<()> {
        format::write_line(&mut self.ready, kind::HEADER, header)
    }

    /// Adds the conversation on this line of the input, from 0.
    pub(super) fn conversation(
        &mut self,
        number: usize,
        conversation: &ConversationReport,
    ) -> io::Result<()> {
        self.conversations += 1;
        conversation.evaluations.iter().for_each(|it| it.count_in(&mut self.tally));
        add_conversation(&mut self.sum, &conversation.trace_id, conversation.content.as_ref());
        let mut line = Vec::new();
        let record = ConversationRecord { number, conversation };
        format::write_line(&mut line, kind::CONVERSATION, &record)?;
        self.add(number, line);
        Ok(())
    }

    /// Adds the error of this line of the input, from 0.
    pub(super) fn input_error(&mut self, number: usize, error: &InputError) -> io::Result<()> {
        self.sum.add(&error.content);
        let mut line = Vec::new();
        format::write_line(&mut line, kind::INPUT_ERROR, error)?;
        self.add(number, line);
        Ok(())
    }

    fn add(&mut self, number: usize, line: Vec<u8>) {
        self.bytes += line.len();
        self.waiting.insert(number, line);
        while let Some(line) = self.waiting.remove(&self.next) {
            self.bytes -= line.len();
            self.ready.extend_from_slice(&line);
            self.next += 1;
        }
    }

    /// Returns the number of records that wait for those before them, and of their bytes.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.waiting.len(), self.bytes)
    }

    /// Writes what is complete.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.ready.is_empty() {
            return Ok(());
        }
        self.out.write_all(&self.ready)?;
        self.ready.clear();
        self.out.flush()
    }

    /// Writes the last line, if there is a record of each line of the input and the run is not partial. Returns whether it is
    /// written.
    pub(super) fn end(&mut self, report: &Report) -> io::Result<bool> {
        if report.partial.is_some() || !self.waiting.is_empty() {
            self.flush()?;
            return Ok(false);
        }
        let end = EndRecord {
            conversations: self.conversations,
            tally: self.tally,
            sum: Some(self.sum),
            read: Some(self.next as u64),
            report,
        };
        format::write_line(&mut self.ready, kind::END, &end)?;
        self.flush()?;
        Ok(true)
    }
}
