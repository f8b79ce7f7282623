//! A part of a run that is written to a stream, in the order of the input, as soon as a record and all before it are known.

use std::{collections::BTreeMap, io::Write, mem};

use serde::Serialize;

use super::{
    Header,
    format::{self, ConversationRecord, EndRecord, kind},
    part::{InputError, PartCounts},
};
use crate::{ConversationReport, Report};

/// A problem with the file. The run continues.
#[derive(Debug)]
pub enum Event {
    /// The named file cannot be written. Returned once.
    Failed(String),
    /// No temporary file can be written, so the run needs memory. Returned once.
    InMemory(String),
}

/// The records of a part. After an error nothing more is written.
#[derive(derive_more::Debug)]
#[debug("PartStream({next})")]
pub(super) struct PartStream {
    out: Box<dyn Write + Send>,
    /// Lines that are complete and not written.
    ready: Vec<u8>,
    /// Lines that wait for those before them, by the number of their line in the input.
    waiting: BTreeMap<usize, Vec<u8>>,
    /// Bytes that wait.
    bytes: usize,
    next: usize,
    counts: PartCounts,
    failure: Failure,
}

/// Reason why nothing more is written.
#[derive(Debug, Default)]
pub(super) struct Failure {
    pub(super) message: Option<String>,
    is_reported: bool,
}

impl Failure {
    /// Keeps the first error.
    pub(super) fn note<E: ToString>(&mut self, done: Result<(), E>) {
        if let Err(error) = done {
            self.message.get_or_insert(error.to_string());
        }
    }

    /// Returns true when it is asked for the first time since there is an error.
    pub(super) fn is_new(&mut self) -> bool {
        self.message.is_some() && !mem::replace(&mut self.is_reported, true)
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
            counts: PartCounts::default(),
            failure: Failure::default(),
        }
    }

    pub(super) fn header(&mut self, header: &Header) {
        self.failure.note(format::write_line(&mut self.ready, kind::HEADER, header));
    }

    /// Adds the conversation on this line of the input, from 0.
    pub(super) fn conversation(&mut self, number: usize, conversation: &ConversationReport) {
        self.counts.add(conversation, true);
        self.add(number, kind::CONVERSATION, &ConversationRecord { number, conversation });
    }

    /// Adds the error of this line of the input, from 0.
    pub(super) fn input_error(&mut self, number: usize, error: &InputError) {
        self.counts.sum.add(&error.content);
        self.add(number, kind::INPUT_ERROR, error);
    }

    fn add(&mut self, number: usize, kind: &str, record: &impl Serialize) {
        let mut line = Vec::new();
        self.failure.note(format::write_line(&mut line, kind, record));
        if self.failure.message.is_some() {
            return;
        }
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
    pub(super) fn flush(&mut self) -> Option<Event> {
        if self.failure.message.is_none() && !self.ready.is_empty() {
            let written = self.out.write_all(&self.ready).and_then(|()| self.out.flush());
            self.ready.clear();
            self.failure.note(written);
        }
        let is_new = self.failure.is_new();
        let message = self.failure.message.as_deref().filter(|_| is_new)?;
        Some(Event::Failed(format!("Failed to write the records: {message}.")))
    }

    /// Writes the last line, if there is a record of each line of the input and the run is not partial.
    pub(super) fn finish(mut self, report: &mut Report) -> Option<Event> {
        let is_whole = report.partial.is_none() && self.waiting.is_empty();
        if is_whole {
            let PartCounts { conversations, tally, sum } = self.counts;
            let (sum, read) = (Some(sum), Some(self.next as u64));
            let end = EndRecord { conversations, tally, sum, read, report: &*report };
            self.failure.note(format::write_line(&mut self.ready, kind::END, &end));
        }
        let event = self.flush();
        report.unsaved = !is_whole || self.failure.message.is_some();
        event
    }
}
