//! Which conversations have spans, which of them are finished, and where their spans are in the trace file.
//!
//! Nothing is read or written here, and the time is an argument.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    mem,
    time::{Duration, Instant},
};

use evaluator_host::conversation::SessionName;

use crate::{
    lines::{Line, TraceId},
    otlp::hex,
};

/// Rules by which conversations are formed and finished.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether traces with the same session are one conversation; if not, each trace is one.
    pub by_session: bool,
    /// Time without spans after which a trace whose root has ended is finished.
    pub quiet_for: Duration,
    /// Time without spans after which any conversation is finished.
    pub idle_for: Duration,
    /// Maximum number of conversations that are not finished.
    pub open: usize,
}

impl Rules {
    /// Returns rules with 10 s of quiet, 10 minutes of idleness, and 10,000 open conversations.
    pub fn new(by_session: bool) -> Self {
        let (quiet_for, idle_for) = (Duration::from_secs(10), Duration::from_secs(600));
        Self { by_session, quiet_for, idle_for, open: 10_000 }
    }
}

/// Bytes of the trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: u64,
    pub(crate) length: usize,
}

/// A conversation that is finished.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    /// Its index among all conversations.
    pub(crate) index: usize,
    /// Lines with its spans, and possibly others.
    pub(crate) pieces: Vec<Piece>,
    /// How many of them it had when it was finished before.
    pub(crate) earlier: usize,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Judge(Finished),
    /// Nothing before this time, or before further spans.
    Wait(Option<Instant>),
}

/// All conversations. Those that are finished take some 300 bytes each.
#[derive(Debug)]
pub(crate) struct Conversations {
    rules: Rules,
    all: Vec<Conversation>,
    traces: HashMap<TraceId, OfTrace>,
    /// By the name of the session.
    of_session: HashMap<String, usize>,
    /// Those that were not taken since their last spans, by the time at which they are finished.
    open: BTreeSet<(Instant, usize)>,
    split: usize,
}

#[derive(Debug, Default)]
struct OfTrace {
    conversation: usize,
    /// What gives it the name of its session.
    name: Option<SessionName>,
    pieces: Vec<Piece>,
    has_root: bool,
}

#[derive(Debug)]
struct Conversation {
    traces: Vec<TraceId>,
    /// Time of its last spans.
    last: Instant,
    /// Time at which it is finished; `None` if it was taken since its last spans.
    due: Option<Instant>,
    /// Number of the pieces that it had when it was taken; 0 if it has other traces now.
    taken: usize,
    was_taken: bool,
}

impl Conversations {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            all: Vec::new(),
            traces: HashMap::new(),
            of_session: HashMap::new(),
            open: BTreeSet::new(),
            split: 0,
        }
    }

    /// Returns the number of conversations that were not taken since their last spans.
    pub(crate) fn open(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of conversations that were taken, and then became a part of another one by a name that came late.
    pub(crate) fn split(&self) -> usize {
        self.split
    }

    /// Returns the index of the conversation of a trace.
    pub(crate) fn of(&self, trace: &TraceId) -> Option<usize> {
        self.traces.get(trace).map(|it| it.conversation)
    }

    /// Returns the id of the least trace of a conversation.
    pub(crate) fn trace_of(&self, index: usize) -> Option<String> {
        self.all[index].traces.iter().min().map(|trace| hex(trace))
    }

    /// Returns true if there is room for the conversations of these lines. If not, finishes those that are quiet, the one that
    /// has been so for longest first, to make room for a later attempt.
    pub(crate) fn has_room(&mut self, traces: &HashSet<TraceId>, now: Instant) -> bool {
        let is_open = |index: usize| self.all[index].due.is_some();
        let opened = traces.iter().filter(|trace| !self.of(trace).is_some_and(is_open)).count();
        let wanted = (self.open() + opened).saturating_sub(self.rules.open);
        let due = self.open.iter().take_while(|(due, _)| *due <= now).count();
        let is_quiet = |(_, index): &&(Instant, usize)| {
            now.duration_since(self.all[*index].last) >= self.rules.quiet_for
        };
        let early = self.open.iter().skip(due).filter(is_quiet).take(wanted.saturating_sub(due));
        for (_, index) in early.copied().collect::<Vec<_>>() {
            self.set_due(index, Some(now));
        }
        wanted == 0
    }

    /// Adds a line of the file.
    pub(crate) fn add(&mut self, line: &Line, piece: Piece, now: Instant) {
        if !self.traces.contains_key(&line.trace) {
            let conversation = self.begin(now);
            self.traces.insert(line.trace, OfTrace { conversation, ..OfTrace::default() });
            self.all[conversation].traces.push(line.trace);
        }
        if let Some(session) = line.session.as_ref().filter(|_| self.rules.by_session) {
            self.name(line.trace, session, now);
        }
        let Some(trace) = self.traces.get_mut(&line.trace) else { return };
        trace.pieces.push(piece);
        trace.has_root |= line.has_root;
        let index = trace.conversation;
        self.all[index].last = now;
        self.reopen(index);
    }

    /// Returns what is to be done at this time. A conversation is returned once, and again after further spans.
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        match self.open.first().copied() {
            Some((due, index)) if due <= now => self.take(index),
            first => Next::Wait(first.map(|(due, _)| due)),
        }
    }

    fn begin(&mut self, last: Instant) -> usize {
        let (traces, due, taken, was_taken) = (Vec::new(), None, 0, false);
        self.all.push(Conversation { traces, last, due, taken, was_taken });
        self.all.len() - 1
    }

    /// Gives a trace the name of its session, and moves it into the conversation of that. The least name of a trace counts, as in a
    /// run: the root may come after a child that names another session.
    fn name(&mut self, trace: TraceId, session: &SessionName, now: Instant) {
        let Some(known) = self.traces.get_mut(&trace) else { return };
        if known.name.as_ref().is_some_and(|known| known <= session) {
            return;
        }
        let (from, earlier) = (known.conversation, known.name.replace(session.clone()));
        let name = session.as_str();
        if earlier.as_ref().is_some_and(|earlier| earlier.as_str() == name) {
            return;
        }
        let has_others = self.all[from].traces.len() > 1;
        if let (false, Some(earlier)) = (has_others, earlier) {
            self.of_session.remove(earlier.as_str());
        }
        let to = match self.of_session.get(name) {
            Some(known) => *known,
            None if has_others => self.begin(now),
            None => from,
        };
        self.of_session.insert(name.to_owned(), to);
        self.move_trace(trace, from, to);
    }

    /// Moves a trace into another conversation. Both are judged as they are then.
    fn move_trace(&mut self, trace: TraceId, from: usize, to: usize) {
        if from == to {
            return;
        }
        if let Some(known) = self.traces.get_mut(&trace) {
            known.conversation = to;
        }
        self.all[to].taken = 0;
        self.all[to].traces.push(trace);
        let left = &mut self.all[from];
        left.taken = 0;
        left.traces.retain(|other| *other != trace);
        if left.traces.is_empty() {
            self.split += usize::from(left.was_taken);
            self.set_due(from, None);
        } else {
            self.reopen(from);
        }
    }

    /// Makes a conversation open.
    fn reopen(&mut self, index: usize) {
        let conversation = &self.all[index];
        let has_root = |trace| self.traces.get(trace).is_some_and(|it| it.has_root);
        let is_ended = !self.rules.by_session && conversation.traces.iter().any(has_root);
        let time = if is_ended { self.rules.quiet_for } else { self.rules.idle_for };
        let due = conversation.last.checked_add(time).unwrap_or(conversation.last);
        self.set_due(index, Some(due));
    }

    fn set_due(&mut self, index: usize, due: Option<Instant>) {
        if let Some(earlier) = mem::replace(&mut self.all[index].due, due) {
            self.open.remove(&(earlier, index));
        }
        self.open.extend(due.map(|due| (due, index)));
    }

    fn take(&mut self, index: usize) -> Next {
        self.set_due(index, None);
        let conversation = &mut self.all[index];
        let traces = conversation.traces.iter().filter_map(|trace| self.traces.get(trace));
        // A line that another program has written may have several traces.
        let pieces: BTreeMap<u64, Piece> =
            traces.flat_map(|it| &it.pieces).map(|piece| (piece.start, *piece)).collect();
        let pieces: Vec<Piece> = pieces.into_values().collect();
        conversation.was_taken = true;
        let earlier = mem::replace(&mut conversation.taken, pieces.len());
        Next::Judge(Finished { index, pieces, earlier })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "times of the test itself")]

    use std::path::Path;

    use evaluator_host::{
        conversation::session_name_of,
        trace::{TraceFormats, load_text},
    };

    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// The name that a span with this start gives.
    fn session_of_span(name: &str, start: u64) -> SessionName {
        let span = format!(
            r#"[{{"traceId": "1", "spanId": "2", "name": "", "startTimeUnixNano": "{start}", "endTimeUnixNano": "9",
                "attributes": [{{"key": "session.id", "value": {{"stringValue": "{name}"}}}}]}}]"#
        );
        let loaded = load_text(&span, Path::new("-"), &TraceFormats::default()).unwrap();
        session_name_of(&loaded.traces[0]).unwrap()
    }

    struct Fixture {
        conversations: Conversations,
        start: Instant,
        position: u64,
    }

    impl Fixture {
        fn new(by_session: bool, open: usize) -> Self {
            let rules = Rules { open, ..Rules::new(by_session) };
            Self { conversations: Conversations::new(rules), start: Instant::now(), position: 0 }
        }

        /// Adds a line of one byte after so many seconds.
        fn add(&mut self, trace: u8, has_root: bool, session: Option<&str>, at: u64) {
            let session = session.map(|name| session_of_span(name, 5 + self.position));
            self.add_named(trace, has_root, session, at);
        }

        fn add_named(&mut self, trace: u8, has_root: bool, session: Option<SessionName>, at: u64) {
            let line = Line { trace: [trace; 16], has_root, text: Vec::new(), session };
            let piece = Piece { start: self.position, length: 1 };
            self.position += 1;
            self.conversations.add(&line, piece, self.start + seconds(at));
        }

        fn has_room(&mut self, traces: &[u8], at: u64) -> bool {
            let traces = traces.iter().map(|trace| [*trace; 16]).collect();
            self.conversations.has_room(&traces, self.start + seconds(at))
        }

        /// The positions of the lines of each conversation that is finished by then, with how many were known before.
        fn finished(&mut self, at: u64) -> Vec<(Vec<u64>, usize)> {
            let mut all = Vec::new();
            while let Next::Judge(it) = self.conversations.next(self.start + seconds(at)) {
                all.push((it.pieces.iter().map(|piece| piece.start).collect(), it.earlier));
            }
            all
        }

        fn waits_until(&mut self, at: u64) -> Option<Duration> {
            match self.conversations.next(self.start + seconds(at)) {
                Next::Wait(time) => time.map(|time| time.duration_since(self.start)),
                Next::Judge(finished) => panic!("{finished:?}"),
            }
        }
    }

    #[test]
    fn a_trace_is_finished_when_its_root_has_ended_and_it_is_quiet() {
        let mut all = Fixture::new(false, 9);
        assert_eq!(all.waits_until(0), None);
        all.add(1, false, None, 0);
        assert_eq!(all.waits_until(11), Some(seconds(600)), "its root has not ended");
        all.add(1, true, None, 20);
        all.add(2, true, None, 25);
        all.add(1, false, None, 28);
        assert_eq!(all.waits_until(34), Some(seconds(35)));
        assert_eq!(all.finished(35), [(vec![2], 0)]);
        assert_eq!(all.finished(37), []);
        assert_eq!(all.finished(38), [(vec![0, 1, 3], 0)]);
        assert_eq!((all.conversations.open(), all.waits_until(1000)), (0, None));
    }

    #[test]
    fn a_trace_without_a_root_is_finished_when_it_is_idle() {
        let mut all = Fixture::new(false, 9);
        all.add(1, false, None, 0);
        assert_eq!(all.finished(599), []);
        assert_eq!(all.finished(600), [(vec![0], 0)]);
    }

    #[test]
    fn a_late_span_opens_a_conversation_again() {
        let mut all = Fixture::new(false, 9);
        all.add(1, true, None, 0);
        assert_eq!(all.finished(10), [(vec![0], 0)]);
        all.add(1, false, None, 11);
        assert_eq!(all.conversations.open(), 1);
        assert_eq!(all.finished(21), [(vec![0, 1], 1)]);
    }

    #[test]
    fn a_span_that_comes_while_its_conversation_waits_is_judged_with_it() {
        let mut all = Fixture::new(false, 2);
        all.add(1, false, None, 0);
        all.add(2, false, None, 1);
        assert!(!all.has_room(&[3], 10), "the first one is finished for the next attempt");
        all.add(1, false, None, 11);
        assert_eq!(all.finished(12), []);
        assert_eq!(all.conversations.open(), 2);
    }

    #[test]
    fn traces_of_a_session_are_one_conversation_that_ends_when_idle() {
        let mut all = Fixture::new(true, 9);
        all.add(1, true, Some("a"), 0);
        all.add(2, false, None, 1);
        all.add(3, true, Some("b"), 2);
        all.add(2, true, Some("a"), 300);
        assert_eq!(all.conversations.of(&[1; 16]), all.conversations.of(&[2; 16]));
        // The first name of a trace decides.
        all.add(3, false, Some("a"), 301);
        assert_eq!(all.conversations.open(), 2);
        assert_eq!(all.finished(899), []);
        assert_eq!(all.finished(901), [(vec![0, 1, 3], 0), (vec![2, 4], 0)]);
    }

    #[test]
    fn a_trace_that_is_named_after_it_was_judged_has_its_session_judged_again() {
        let mut all = Fixture::new(true, 9);
        all.add(1, true, None, 0);
        all.add(2, true, Some("a"), 0);
        assert_eq!(all.finished(600), [(vec![0], 0), (vec![1], 0)]);
        all.add(1, false, Some("a"), 601);
        assert_eq!(all.finished(1201), [(vec![0, 1, 2], 0)]);
        assert_eq!(
            all.conversations.split(),
            1,
            "what was judged of it is no conversation any more"
        );
    }

    #[test]
    fn the_number_of_open_conversations_is_bounded() {
        let mut all = Fixture::new(false, 2);
        all.add(1, false, None, 0);
        all.add(2, true, None, 5);
        assert!(all.has_room(&[1, 2], 6), "they are open already");
        assert!(!all.has_room(&[1, 3], 6));
        assert_eq!(all.finished(9), [], "none is quiet");
        assert!(!all.has_room(&[3], 10));
        assert_eq!(all.finished(10), [(vec![0], 0)], "the one that has been quiet for longest");
        assert!(all.has_room(&[3], 10));
        assert!(!all.has_room(&[1, 3], 10), "the first one would be opened again");
    }

    #[test]
    fn the_name_of_the_root_counts_even_if_it_comes_after_that_of_a_child() {
        let mut all = Fixture::new(true, 9);
        let (child, root) = (session_of_span("a", 7), session_of_span("b", 3));
        // Alone in its session, which nothing has then.
        all.add_named(1, false, Some(child.clone()), 0);
        all.add_named(1, true, Some(root.clone()), 1);
        all.add(2, true, Some("a"), 2);
        // Into the session of another trace, and out of one that goes on.
        all.add_named(3, false, Some(child.clone()), 3);
        assert_eq!(all.finished(603), [(vec![0, 1], 0), (vec![2, 3], 0)]);
        all.add_named(3, true, Some(root.clone()), 700);
        let of = |all: &Fixture, trace: u8| all.conversations.of(&[trace; 16]).unwrap();
        assert_eq!(of(&all, 1), of(&all, 3));
        assert_ne!(of(&all, 1), of(&all, 2));
        // What was read before counts no more for either; spans of other conversations are not read.
        assert_eq!(all.finished(1300), [(vec![2], 0), (vec![0, 1, 3, 4], 0)]);
        // A later span that is no root changes nothing.
        all.add_named(3, false, Some(child.clone()), 1400);
        assert_eq!(of(&all, 1), of(&all, 3));
        assert_eq!((all.conversations.open(), all.conversations.split()), (1, 0));
        // Joined by its root when it was judged already.
        all.add_named(4, false, Some(session_of_span("c", 7)), 1500);
        assert_eq!(all.finished(2200).len(), 2);
        all.add_named(4, true, Some(root), 2300);
        assert_eq!((of(&all, 4), all.conversations.split()), (of(&all, 1), 1));
    }
}
