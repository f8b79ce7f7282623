//! Which conversations have spans, which of them are finished, and where their spans are in the trace file.
//!
//! Nothing is read or written here, and the time is an argument.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
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
    pub(crate) length: u32,
}

/// A conversation that is finished.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    /// Its index among all conversations.
    pub(crate) index: u32,
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

/// All conversations. Those that are finished take some 100 bytes each.
#[derive(Debug)]
pub(crate) struct Conversations {
    rules: Rules,
    all: Vec<Conversation>,
    of_trace: HashMap<TraceId, u32>,
    /// What gives traces the names of their sessions.
    names: HashMap<TraceId, SessionName>,
    /// By the name of the session.
    of_session: HashMap<String, u32>,
    /// Open conversations that end with quiet, by the time of their last spans.
    ended: BTreeSet<(Instant, u32)>,
    /// Other open conversations, likewise.
    others: BTreeSet<(Instant, u32)>,
    /// Finished conversations that are not being judged yet.
    finished: VecDeque<u32>,
    /// Number of those that were taken before they became a part of another one.
    split: usize,
}

#[derive(Debug)]
struct Conversation {
    pieces: Vec<Piece>,
    last: Instant,
    /// Number of the pieces that the conversation had when it was taken.
    taken: u32,
    /// Whether it was taken, also before it lost a trace.
    was_taken: bool,
    state: State,
    has_root: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Finished,
    Taken,
    /// It is a part of another one.
    Joined(u32),
}

impl Conversations {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            all: Vec::new(),
            of_trace: HashMap::new(),
            names: HashMap::new(),
            of_session: HashMap::new(),
            ended: BTreeSet::new(),
            others: BTreeSet::new(),
            finished: VecDeque::new(),
            split: 0,
        }
    }

    /// Returns the number of conversations that were not taken since their last spans.
    pub(crate) fn open(&self) -> usize {
        self.ended.len() + self.others.len() + self.finished.len()
    }

    /// Returns the number of conversations that were taken, and then became a part of another one by a name that came late.
    pub(crate) fn split(&self) -> usize {
        self.split
    }

    /// Returns the index of the conversation of a trace.
    pub(crate) fn of(&self, trace: &TraceId) -> Option<u32> {
        self.of_trace.get(trace).map(|index| self.resolved(*index))
    }

    /// Returns the id of a trace of a conversation. Looks at all.
    pub(crate) fn trace_of(&self, index: u32) -> Option<String> {
        let of_it = |trace: &&TraceId| self.of(trace) == Some(index);
        self.of_trace.keys().filter(of_it).min().map(|trace| hex(trace))
    }

    /// Returns the index of the conversation that this one has become a part of.
    fn resolved(&self, mut index: u32) -> u32 {
        while let Some(State::Joined(other)) = self.all.get(index as usize).map(|it| it.state) {
            index = other;
        }
        index
    }

    /// Returns true if there is room for the conversations of these lines. If not, finishes those that are quiet, the one that
    /// has been so for longest first, to make room for a later attempt.
    pub(crate) fn has_room(&mut self, traces: &HashSet<TraceId>, now: Instant) -> bool {
        let is_open = |trace: &&TraceId| {
            let state = self.of(trace).and_then(|index| self.all.get(index as usize));
            state.is_some_and(|it| it.state != State::Taken)
        };
        let opened = traces.len() - traces.iter().filter(is_open).count();
        let wanted = (self.open() + opened).saturating_sub(self.rules.open);
        for _ in self.finished.len()..wanted {
            let oldest = self.others.first().copied();
            match oldest.filter(|(last, _)| now.duration_since(*last) >= self.rules.quiet_for) {
                Some((_, index)) => self.finish(index),
                None => break,
            }
        }
        wanted == 0
    }

    /// Adds a line of the file.
    pub(crate) fn add(&mut self, line: &Line, piece: Piece, now: Instant) {
        let index = match self.of(&line.trace) {
            Some(index) => index,
            None => self.begin(line.trace, now),
        };
        let index = match &line.session {
            Some(session) => self.name(line.trace, index, session, now),
            None => index,
        };
        self.forget(index);
        let Some(conversation) = self.all.get_mut(index as usize) else { return };
        conversation.pieces.push(piece);
        conversation.last = now;
        conversation.has_root |= line.has_root;
        self.reopen(index);
    }

    /// Returns what is to be done at this time. A conversation is returned once, and again after further spans.
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        let due = |set: &BTreeSet<(Instant, u32)>, time| {
            set.first().map(|(last, index)| (last.checked_add(time).unwrap_or(*last), *index))
        };
        let next = [due(&self.ended, self.rules.quiet_for), due(&self.others, self.rules.idle_for)];
        let next = next.into_iter().flatten().min();
        if self.finished.is_empty()
            && let Some((_, index)) = next.filter(|(time, _)| *time <= now)
        {
            self.finish(index);
        }
        match self.finished.pop_front() {
            Some(index) => self.take(index),
            None => Next::Wait(next.map(|(time, _)| time)),
        }
    }

    fn begin(&mut self, trace: TraceId, now: Instant) -> u32 {
        // 4 billion conversations take 400 GB, so this number is not reached.
        let index = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.of_trace.insert(trace, index);
        self.all.push(Conversation {
            pieces: Vec::new(),
            last: now,
            taken: 0,
            was_taken: false,
            state: State::Open,
            has_root: false,
        });
        self.reopen(index);
        index
    }

    /// Gives a trace of a conversation the name of its session. Returns the conversation of that session. The least name of a
    /// trace counts, as in a run: the root may come after a child that names another session.
    fn name(&mut self, trace: TraceId, index: u32, session: &SessionName, now: Instant) -> u32 {
        if self.names.get(&trace).is_some_and(|known| known <= session) {
            return index;
        }
        let earlier = self.names.insert(trace, session.clone());
        let name = session.as_str();
        if earlier.as_ref().is_some_and(|earlier| earlier.as_str() == name) {
            return index;
        }
        let index = if earlier.is_some() { self.without_name(trace, index, now) } else { index };
        let Some(known) = self.of_session.get(name).map(|known| self.resolved(*known)) else {
            self.of_session.insert(name.to_owned(), index);
            return index;
        };
        if known != index {
            self.join(index, known);
        }
        known
    }

    /// Takes a trace out of the conversation of a session. Returns the trace's own conversation, which refers to
    /// the same requests: only spans of the trace are read from them.
    fn without_name(&mut self, trace: TraceId, index: u32, now: Instant) -> u32 {
        let has_others =
            self.of_trace.iter().any(|(other, of)| *other != trace && self.resolved(*of) == index);
        if !has_others {
            let known = mem::take(&mut self.of_session);
            let others = known.into_iter().filter(|(_, of)| self.resolved(*of) != index);
            self.of_session = others.collect();
            return index;
        }
        let own = self.begin(trace, now);
        let pieces = self.all.get(index as usize).map(|it| (it.pieces.clone(), it.has_root));
        if let (Some(own), Some((pieces, has_root))) = (self.all.get_mut(own as usize), pieces) {
            own.pieces = pieces;
            own.has_root = has_root;
        }
        // The other traces are judged without this one.
        self.forget(index);
        if let Some(conversation) = self.all.get_mut(index as usize) {
            conversation.taken = 0;
        }
        self.reopen(index);
        own
    }

    /// Makes a conversation a part of another one.
    fn join(&mut self, index: u32, known: u32) {
        self.forget(index);
        let Some(joined) = self.all.get_mut(index as usize) else { return };
        joined.state = State::Joined(known);
        self.split += usize::from(joined.was_taken);
        let (pieces, has_root) = (mem::take(&mut joined.pieces), joined.has_root);
        if let Some(conversation) = self.all.get_mut(known as usize) {
            let own: HashSet<u64> = conversation.pieces.iter().map(|piece| piece.start).collect();
            let new = pieces.into_iter().filter(|piece| !own.contains(&piece.start));
            conversation.pieces.extend(new);
            conversation.has_root |= has_root;
        }
    }

    fn ends_with_quiet(&self, conversation: &Conversation) -> bool {
        conversation.has_root && !self.rules.by_session
    }

    /// Makes a conversation open.
    fn reopen(&mut self, index: u32) {
        let Some(conversation) = self.all.get(index as usize) else { return };
        let (key, is_ended) = ((conversation.last, index), self.ends_with_quiet(conversation));
        if is_ended { &mut self.ended } else { &mut self.others }.insert(key);
        if let Some(conversation) = self.all.get_mut(index as usize) {
            conversation.state = State::Open;
        }
    }

    /// Removes a conversation from those that are open or finished.
    fn forget(&mut self, index: u32) {
        let Some(conversation) = self.all.get(index as usize) else { return };
        match conversation.state {
            State::Open => {
                let key = (conversation.last, index);
                self.ended.remove(&key);
                self.others.remove(&key);
            }
            State::Finished => self.finished.retain(|other| *other != index),
            State::Taken | State::Joined(_) => {}
        }
    }

    fn finish(&mut self, index: u32) {
        self.forget(index);
        if let Some(conversation) = self.all.get_mut(index as usize) {
            conversation.state = State::Finished;
            self.finished.push_back(index);
        }
    }

    fn take(&mut self, index: u32) -> Next {
        let Some(conversation) = self.all.get_mut(index as usize) else { return Next::Wait(None) };
        conversation.state = State::Taken;
        conversation.was_taken = true;
        let earlier = conversation.taken as usize;
        conversation.pieces.shrink_to_fit();
        let pieces = conversation.pieces.clone();
        conversation.taken = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
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
        assert_eq!(all.finished(1201), [(vec![1, 0, 2], 1)]);
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
        assert_eq!(all.finished(1300), [(vec![2, 3], 0), (vec![0, 1, 2, 3, 4], 2)]);
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
