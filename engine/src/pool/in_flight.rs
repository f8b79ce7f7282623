//! Documents that a worker was sent and has not answered, and which of them is the cause of a failure.
//!
//! A worker processes one document at a time, in order, so the first unanswered one is the one in progress: the head. A
//! failure that the head certainly caused is its verdict. If the document before or after it may be the cause, none of
//! them gets a verdict: all are sent to a new worker, the head first and alone, where the cause becomes certain.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use evaluator_protocol::Number;

use crate::{
    process::{Ending, Exit, SessionEnd},
    verdict::{self, BadAnswer, Expected, Verdict},
};

use super::job::Job;

/// Time for which a program without numbered lines is observed after an answer. Output in that time was printed for the
/// same document, and would later be taken for the answer to the next one.
const SETTLING: Duration = Duration::from_millis(2);

/// A document that was sent to the worker.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) job: Job,
    /// Its position among all documents of the worker.
    pub(super) number: Number,
    /// True if the worker was idle: anything it does before it answers is caused by this document.
    alone: bool,
    /// Offset in the input of the worker at which the document ends.
    end: u64,
    /// Time at which the worker started to process it.
    pub(super) since: Instant,
}

/// All unanswered documents, in order.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// True if the worker numbers its lines.
    numbered: bool,
    /// Expected content of its lines.
    expected: Expected,
    documents: VecDeque<Sent>,
    bytes: usize,
    sent: u64,
    defect: Option<Defect>,
    /// Verdict on the head, its output, and when it was read, while more output may follow.
    settling: Option<(Verdict, Vec<u8>, Instant)>,
    /// True if an answer was printed while none was due.
    surplus: bool,
}

/// A complete answer.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) sent: Sent,
    pub(super) verdict: Verdict,
    /// Its line; empty for a valid result, whose text is not needed.
    pub(super) printed: Vec<u8>,
    pub(super) took: Duration,
}

/// Reason why the worker is not used any more.
#[derive(Debug)]
enum Defect {
    /// The head caused it.
    Head { verdict: Verdict, printed: Vec<u8> },
    /// The cause is not certain.
    Uncertain,
}

/// Documents of a worker that is not used any more.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// The head with its verdict and output, if it is the cause.
    pub(super) blamed: Option<(Sent, Verdict, Vec<u8>)>,
    /// Documents that need another worker, in order.
    pub(super) again: Vec<Job>,
    /// Index in `again` of the document that the worker was processing, if it marked that document. It may be the cause of the exit,
    /// which its evaluation by another worker will show.
    pub(super) processing: Option<usize>,
}

impl InFlight {
    pub(super) fn new(numbered: bool, expected: Expected) -> Self {
        Self { numbered, expected, ..Self::default() }
    }

    /// The number of the next document.
    pub(super) fn next_number(&self) -> Number {
        Number(self.sent)
    }

    /// Adds a document that was sent; it ends at offset `end` of the input of the worker.
    pub(super) fn push(&mut self, job: Job, end: u64) {
        let number = self.next_number();
        self.sent += 1;
        self.bytes += job.document.size();
        let alone = self.documents.is_empty();
        self.documents.push_back(Sent { job, number, alone, end, since: Instant::now() });
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of documents that the worker was sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn head(&self) -> Option<&Sent> {
        self.documents.front()
    }

    pub(super) fn head_mut(&mut self) -> Option<&mut Sent> {
        self.documents.front_mut()
    }

    /// Returns true if the worker cannot be used any more.
    pub(super) fn is_unusable(&self) -> bool {
        self.defect.is_some()
    }

    /// Returns true if the program has printed more answers than it was sent documents, so that answers may have been
    /// assigned to the wrong ones. Numbered lines rule this out.
    pub(super) fn is_desynchronized(&self) -> bool {
        self.surplus
    }

    /// Registers output that was read outside of a conversation. While a document is unanswered, it may be its answer.
    pub(super) fn note_stray_output(&mut self, text: &[u8]) {
        self.surplus |= self.is_empty() && !self.numbered && holds_answer(text);
    }

    /// Time from which the answer of the head counts, if nothing follows.
    pub(super) fn settles_at(&self) -> Option<Instant> {
        self.settling.as_ref().and_then(|(_, _, heard)| heard.checked_add(SETTLING))
    }

    /// Completes the answer of the head, unless `rest` followed it, which makes the answer invalid.
    pub(super) fn settle(&mut self, rest: &[u8]) -> Option<Answered> {
        let (verdict, printed, heard) = self.settling.take()?;
        if !rest.is_empty() {
            return self.fail(more_than_one_line(), rest, true);
        }
        let sent = self.pop()?;
        let took = heard.saturating_duration_since(sent.since);
        Some(Answered { sent, verdict, printed, took })
    }

    /// Processes a line that was read when `written` bytes of the input had been written; `rest` followed it. Returns
    /// the answer that it is; `None` if it is invalid, or if more output may follow.
    pub(super) fn on_line(&mut self, line: &[u8], rest: &[u8], written: u64) -> Option<Answered> {
        if self.is_unusable() {
            return None;
        }
        let Some(head) = self.documents.front() else {
            self.note_stray_output(line);
            self.defect = Some(Defect::Uncertain);
            return None;
        };
        if self.settling.take().is_some() {
            return self.fail(more_than_one_line(), line, true);
        }
        let text = match Number::split(line) {
            _ if !self.numbered => line,
            Some((number, text)) if number == head.number => text,
            // A second line for a document that has its answer. The head may be no more the cause than the documents
            // after it.
            Some((number, _)) if number < head.number => {
                return self.fail(more_than_one_line(), line, false);
            }
            _ => {
                let (verdict, certain) = (unnumbered(line), head.alone);
                return self.fail(verdict, line, certain);
            }
        };
        if written < head.end {
            let certain = head.alone;
            return self.fail(early(), line, certain);
        }
        if !self.goes_on_with(rest) {
            let certain = head.alone && self.documents.len() == 1;
            return self.fail(more_than_one_line(), line, certain);
        }
        let verdict = self.expected.in_line(text);
        if !self.numbered && matches!(verdict, Verdict::BadAnswer(_)) {
            // Without a number, the meaning of such a line is unknown.
            return self.fail(verdict, line, true);
        }
        let printed = match verdict {
            Verdict::Answer(_) if self.expected != Expected::Anything => Vec::new(),
            _ => line.to_vec(),
        };
        if !self.numbered {
            self.settling = Some((verdict, printed, Instant::now()));
            return None;
        }
        let sent = self.pop()?;
        let took = sent.since.elapsed();
        Some(Answered { sent, verdict, printed, took })
    }

    fn pop(&mut self) -> Option<Sent> {
        let answered = self.documents.pop_front()?;
        self.bytes -= answered.job.document.size();
        if let Some(head) = self.documents.front_mut() {
            head.since = Instant::now();
        }
        Some(answered)
    }

    /// Returns true if `rest`, which followed the answer of the head, may be the start of the next answer.
    fn goes_on_with(&self, rest: &[u8]) -> bool {
        if rest.is_empty() {
            return true;
        }
        match self.documents.get(1) {
            Some(next) if self.numbered => {
                let beginning = format!("{} ", next.number);
                let length = beginning.len().min(rest.len());
                rest[..length] == beginning.as_bytes()[..length]
            }
            _ => false,
        }
    }

    fn fail(&mut self, verdict: Verdict, printed: &[u8], certain: bool) -> Option<Answered> {
        self.defect = Some(if certain {
            Defect::Head { verdict, printed: printed.to_vec() }
        } else {
            Defect::Uncertain
        });
        None
    }

    /// Decides what happens to the documents when the worker is not used any more. `rest` followed the last line;
    /// `started` is the last document that the worker marked as started.
    pub(super) fn finish(mut self, end: &SessionEnd, rest: &[u8], started: Option<Number>) -> Lost {
        let head = self.documents.front();
        let is_own =
            |head: &Sent| Number::split(rest).is_some_and(|(number, _)| number == head.number);
        let defect = match (self.defect.take(), head) {
            (_, None) => return Lost::default(),
            (Some(defect), Some(_)) => defect,
            (None, Some(head)) => {
                let (verdict, certain) = match end {
                    SessionEnd::TimedOut => (Verdict::TimedOut { limit: head.job.timeout }, true),
                    SessionEnd::Cancelled => (Verdict::Cancelled, true),
                    SessionEnd::LineTooLong { limit } => {
                        let verdict = Verdict::BadAnswer(BadAnswer::TooLarge { limit: *limit });
                        (verdict, head.alone || is_own(head))
                    }
                    SessionEnd::Exited(Exit { ending, leaked_pipe }) => {
                        let verdict = match verdict::from_ending(ending) {
                            Some(verdict) => verdict,
                            None if *leaked_pipe => Verdict::LeakedPipe,
                            // The last line need not end with a line feed.
                            None => self.final_answer(rest, head),
                        };
                        let is_quiet_end = *ending == Ending::Exited(0) && rest.is_empty();
                        // If the head is the first document of the process, nothing else can be the cause. Otherwise
                        // the process may have exited before it read the head.
                        let certain = head.number == Number(0)
                            || if self.numbered {
                                started >= Some(head.number)
                            } else {
                                !is_quiet_end
                            };
                        (verdict, certain)
                    }
                    // The answer was not awaited.
                    SessionEnd::Stopped => (Verdict::Cancelled, false),
                };
                if certain {
                    Defect::Head { verdict, printed: rest.to_vec() }
                } else {
                    Defect::Uncertain
                }
            }
        };
        let blamed = match defect {
            Defect::Head { verdict, printed } => {
                self.documents.pop_front().map(|head| (head, verdict, printed))
            }
            Defect::Uncertain => None,
        };
        let again: Vec<Sent> =
            self.documents.into_iter().filter(|sent| !sent.job.is_given_up()).collect();
        let processing = again.iter().position(|sent| Some(sent.number) == started);
        Lost { blamed, again: again.into_iter().map(|sent| sent.job.again()).collect(), processing }
    }

    /// The verdict on the last output of a process that exited with code 0.
    fn final_answer(&self, rest: &[u8], head: &Sent) -> Verdict {
        match Number::split(rest) {
            Some((number, text)) if self.numbered && number == head.number => {
                self.expected.in_line(text)
            }
            _ if self.numbered && !rest.is_empty() => unnumbered(rest),
            _ => self.expected.in_line(rest),
        }
    }
}

/// Returns true if one of these lines, the last of which may be incomplete, is an answer. Other text cannot have been
/// mistaken for one.
pub(super) fn holds_answer(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.any(|line| !matches!(Expected::Result.in_line(line), Verdict::BadAnswer(_)))
}

/// The verdict on a line that lacks the number of its document.
fn unnumbered(line: &[u8]) -> Verdict {
    match verdict::from_text(line) {
        bad @ Verdict::BadAnswer(_) => bad,
        _ => not_an_answer("the answer does not begin with the number of its document"),
    }
}

fn early() -> Verdict {
    not_an_answer("it was printed before the document had been read")
}

fn more_than_one_line() -> Verdict {
    not_an_answer(
        "more than one line was printed for one document; print the result and nothing else, logs belong on standard \
         error",
    )
}

fn not_an_answer(reason: &str) -> Verdict {
    Verdict::BadAnswer(BadAnswer::NotJson { reason: reason.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three numbered documents, the first of which was answered, and answered again.
    fn after_a_repeated_answer(jobs: Vec<Job>) -> InFlight {
        let mut in_flight = InFlight::new(true, Expected::default());
        for (job, end) in jobs.into_iter().zip(1..) {
            in_flight.push(job, end);
        }
        assert!(in_flight.on_line(br#"0 {"score": 1}"#, b"", 3).is_some());
        assert!(in_flight.on_line(br#"0 {"score": 1}"#, b"", 3).is_none());
        assert!(in_flight.is_unusable());
        in_flight
    }

    #[test]
    fn the_document_being_processed_is_known_where_none_is_to_blame() {
        let exited = SessionEnd::Exited(Exit { ending: Ending::Exited(3), leaked_pipe: false });
        for (started, expected) in [(0, None), (1, Some(0)), (2, Some(1))] {
            let (jobs, _waiting): (Vec<_>, Vec<_>) =
                (0..3).map(|_| Job::new(b"{}".into(), Duration::MAX)).unzip();
            let lost = after_a_repeated_answer(jobs).finish(&exited, b"", Some(Number(started)));
            assert!(lost.blamed.is_none());
            assert_eq!((lost.again.len(), lost.processing), (2, expected), "started {started}");
        }
    }
}
