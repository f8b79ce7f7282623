//! The documents that a worker has been given and has not answered, and who is to blame when something goes wrong.
//!
//! A worker works on one document at a time, in order, so the first of them is the one it is working on: the head. What
//! can be laid at the head's door costs the head and no other. When it cannot be known whether it was the head's fault,
//! because the one before it or the one after it may have done the same, nobody is blamed: all are given to a fresh worker,
//! the head as the first of them and alone, and there it can be known.

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

/// How long a program that does not number its lines is listened to after an answer. What else it prints by then is printed
/// for the same document, and would be taken for the answer to the next one later.
const SETTLING: Duration = Duration::from_millis(2);

/// A document that was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) job: Job,
    /// Its place among all documents of the worker.
    pub(super) number: Number,
    /// The worker was waiting for it: what it does before it has answered is because of this document.
    alone: bool,
    /// The byte of the worker's input at which it ends.
    end: u64,
    /// Since when the worker has had nothing else to do.
    pub(super) since: Instant,
}

/// All of them, in order.
#[derive(Debug)]
pub(super) struct InFlight {
    /// Whether the worker says which document a line belongs to.
    numbered: bool,
    /// What its lines have to be.
    expected: Expected,
    documents: VecDeque<Sent>,
    bytes: usize,
    sent: u64,
    trouble: Option<Trouble>,
    /// The verdict on the head, what was printed, and since when that is known, as long as more may follow.
    settling: Option<(Verdict, Vec<u8>, Instant)>,
    /// An answer came when none was due.
    surplus: bool,
}

/// An answer that counts.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) sent: Sent,
    pub(super) verdict: Verdict,
    /// Its line; empty for what is a result, of which nobody looks at the text any more.
    pub(super) printed: Vec<u8>,
    pub(super) took: Duration,
}

/// The worker cannot be used any more.
#[derive(Debug)]
enum Trouble {
    /// Because of the head.
    Head { verdict: Verdict, printed: Vec<u8> },
    /// Nobody knows because of whom.
    Doubt,
}

/// What becomes of the documents of a worker that is not used any more.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// The head with its verdict and what was printed, if it is to blame.
    pub(super) blamed: Option<(Sent, Verdict, Vec<u8>)>,
    /// Those that need another worker, in order.
    pub(super) again: Vec<Job>,
    /// Index in `again` of the document that the worker was processing, if it said so. It may be the cause of how the
    /// worker exited, which its evaluation by another worker will show.
    pub(super) processing: Option<usize>,
}

impl InFlight {
    pub(super) fn new(numbered: bool, expected: Expected) -> Self {
        let documents = VecDeque::new();
        Self {
            numbered,
            expected,
            documents,
            bytes: 0,
            sent: 0,
            trouble: None,
            settling: None,
            surplus: false,
        }
    }

    /// The number that the next document has.
    pub(super) fn next_number(&self) -> Number {
        Number(self.sent)
    }

    /// A document was sent; it ends at this byte of the worker's input.
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

    /// How many documents the worker has been given.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn head(&self) -> Option<&Sent> {
        self.documents.front()
    }

    pub(super) fn head_mut(&mut self) -> Option<&mut Sent> {
        self.documents.front_mut()
    }

    /// Whether the worker cannot be used any more.
    pub(super) fn is_in_trouble(&self) -> bool {
        self.trouble.is_some()
    }

    /// Whether the program has printed more answers than it was given documents, so that some of them may be answers to
    /// others than they were taken for. Numbers rule that out.
    pub(super) fn is_desynchronized(&self) -> bool {
        self.surplus
    }

    /// What was printed without being heard. Where a document is waiting for its answer, it may be that.
    pub(super) fn overhear(&mut self, text: &[u8]) {
        self.surplus |= self.is_empty() && !self.numbered && holds_answer(text);
    }

    /// Until when more may follow the answer of the head.
    pub(super) fn settles_at(&self) -> Option<Instant> {
        self.settling.as_ref().and_then(|(_, _, heard)| heard.checked_add(SETTLING))
    }

    /// Nothing more is waited for that may follow the answer of the head. The answer, if `rest`, which did, is nothing.
    pub(super) fn settle(&mut self, rest: &[u8]) -> Option<Answered> {
        let (verdict, printed, heard) = self.settling.take()?;
        if !rest.is_empty() {
            return self.trouble(more_than_one_line(), rest, true);
        }
        let sent = self.pop()?;
        let took = heard.saturating_duration_since(sent.since);
        Some(Answered { sent, verdict, printed, took })
    }

    /// A line came when so many bytes of the input had been written, and `rest` behind it. The answer it is; `None` when
    /// something is wrong with it, or more may follow that belongs to it.
    pub(super) fn hear(&mut self, line: &[u8], rest: &[u8], written: u64) -> Option<Answered> {
        if self.is_in_trouble() {
            return None;
        }
        let Some(head) = self.documents.front() else {
            self.overhear(line);
            self.trouble = Some(Trouble::Doubt);
            return None;
        };
        if self.settling.take().is_some() {
            return self.trouble(more_than_one_line(), line, true);
        }
        let text = match Number::split(line) {
            _ if !self.numbered => line,
            Some((number, text)) if number == head.number => text,
            // One line more for a document that has its answer. This one may be no more to blame than those behind it.
            Some((number, _)) if number < head.number => {
                return self.trouble(more_than_one_line(), line, false);
            }
            _ => {
                let (verdict, sure) = (unnumbered(line), head.alone);
                return self.trouble(verdict, line, sure);
            }
        };
        if written < head.end {
            let sure = head.alone;
            return self.trouble(early(), line, sure);
        }
        if !self.goes_on_with(rest) {
            let sure = head.alone && self.documents.len() == 1;
            return self.trouble(more_than_one_line(), line, sure);
        }
        let verdict = self.expected.in_line(text);
        if !self.numbered && matches!(verdict, Verdict::BadAnswer(_)) {
            // Without a number, nobody knows what such a line is meant to be.
            return self.trouble(verdict, line, true);
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

    /// Whether what came behind the answer of the head may be the beginning of the next one's.
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

    fn trouble(&mut self, verdict: Verdict, printed: &[u8], sure: bool) -> Option<Answered> {
        self.trouble = Some(if sure {
            Trouble::Head { verdict, printed: printed.to_vec() }
        } else {
            Trouble::Doubt
        });
        None
    }

    /// What becomes of the documents now that the worker is not used any more. `rest` came behind the last line, `begun` is
    /// the last document that the worker says to have begun.
    pub(super) fn part(mut self, end: &SessionEnd, rest: &[u8], begun: Option<Number>) -> Lost {
        let head = self.documents.front();
        let is_own =
            |head: &Sent| Number::split(rest).is_some_and(|(number, _)| number == head.number);
        let trouble = match (self.trouble.take(), head) {
            (_, None) => return Lost::default(),
            (Some(trouble), Some(_)) => trouble,
            (None, Some(head)) => {
                let (verdict, sure) = match end {
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
                            None => self.last_words(rest, head),
                        };
                        let is_quiet_end = *ending == Ending::Exited(0) && rest.is_empty();
                        // The first document of a process is the only one that it can have ended because of. Otherwise it
                        // may have ended before it has seen this one.
                        let sure = head.number == Number(0)
                            || if self.numbered {
                                begun >= Some(head.number)
                            } else {
                                !is_quiet_end
                            };
                        (verdict, sure)
                    }
                    // It was not waited for.
                    SessionEnd::Stopped => (Verdict::Cancelled, false),
                };
                if sure {
                    Trouble::Head { verdict, printed: rest.to_vec() }
                } else {
                    Trouble::Doubt
                }
            }
        };
        let blamed = match trouble {
            Trouble::Head { verdict, printed } => {
                self.documents.pop_front().map(|head| (head, verdict, printed))
            }
            Trouble::Doubt => None,
        };
        let again: Vec<Sent> =
            self.documents.into_iter().filter(|sent| !sent.job.is_given_up()).collect();
        let processing = again.iter().position(|sent| Some(sent.number) == begun);
        Lost { blamed, again: again.into_iter().map(|sent| sent.job.again()).collect(), processing }
    }

    /// The verdict on what a process printed last that has ended well.
    fn last_words(&self, rest: &[u8], head: &Sent) -> Verdict {
        match Number::split(rest) {
            Some((number, text)) if self.numbered && number == head.number => {
                self.expected.in_line(text)
            }
            _ if self.numbered && !rest.is_empty() => unnumbered(rest),
            _ => self.expected.in_line(rest),
        }
    }
}

/// Whether one of these lines, the last of which need not be whole, is an answer. What is none cannot have been taken for one,
/// and a program may say goodbye.
pub(super) fn holds_answer(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.any(|line| !matches!(Expected::Result.in_line(line), Verdict::BadAnswer(_)))
}

/// The verdict on a line that should have had the number of its document.
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
        assert!(in_flight.hear(br#"0 {"score": 1}"#, b"", 3).is_some());
        assert!(in_flight.hear(br#"0 {"score": 1}"#, b"", 3).is_none());
        assert!(in_flight.is_in_trouble());
        in_flight
    }

    #[test]
    fn the_document_being_processed_is_known_where_none_is_to_blame() {
        let exited = SessionEnd::Exited(Exit { ending: Ending::Exited(3), leaked_pipe: false });
        for (begun, expected) in [(0, None), (1, Some(0)), (2, Some(1))] {
            let (jobs, _waiting): (Vec<_>, Vec<_>) =
                (0..3).map(|_| Job::new(b"{}".into(), Duration::MAX)).unzip();
            let lost = after_a_repeated_answer(jobs).part(&exited, b"", Some(Number(begun)));
            assert!(lost.blamed.is_none());
            assert_eq!((lost.again.len(), lost.processing), (2, expected), "begun {begun}");
        }
    }
}
