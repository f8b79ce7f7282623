//! The conversations that are evaluated: undamaged ones, and edits of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use evaluator_host::{
    conversation::Conversation,
    eval_set::EvalCase,
    run::{ConversationSource, Recordings},
    trace::ReadError,
};
use evaluator_mutation::{Mutation, Subject};

/// What is recorded: conversations with their golden cases.
pub(super) trait Originals: ConversationSource {
    /// Returns the golden cases of some conversations: keys for [`golden_case`](Self::golden_case), by their numbers. Blocks.
    ///
    /// # Errors
    ///
    /// A file cannot be read any more, or has changed.
    fn goldens(&self, numbers: &[usize]) -> Result<HashMap<usize, usize>, ReadError>;

    /// Returns the golden case with a key.
    fn golden_case(&self, key: usize) -> Option<&EvalCase>;
}

impl Originals for Recordings {
    fn goldens(&self, numbers: &[usize]) -> Result<HashMap<usize, usize>, ReadError> {
        let (mut golden, cases) = (HashMap::new(), self.cases());
        for number in numbers {
            let conversation = self.load(*number)?;
            let matched = cases.find(&conversation, self.of_run());
            golden.extend(matched.ok().map(|matched| (*number, matched.position)));
        }
        Ok(golden)
    }

    fn golden_case(&self, key: usize) -> Option<&EvalCase> {
        self.case(key)
    }
}

/// Conversations, unchanged.
#[derive(Debug)]
pub(super) struct Undamaged {
    pub(super) originals: Arc<dyn Originals>,
    /// Their numbers.
    pub(super) numbers: Vec<usize>,
}

impl ConversationSource for Undamaged {
    fn len(&self) -> usize {
        self.numbers.len()
    }

    fn trace_id(&self, number: usize) -> Arc<str> {
        self.originals.trace_id(self.numbers[number])
    }

    fn of_run(&self) -> usize {
        self.originals.of_run()
    }

    fn load(&self, number: usize) -> Result<Conversation, ReadError> {
        self.originals.load(self.numbers[number])
    }
}

/// A conversation, and the key of its golden case.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) conversation: Conversation,
    golden: Option<usize>,
}

/// Conversations that are damaged.
#[derive(Debug)]
pub(super) struct Bases {
    originals: Arc<dyn Originals>,
    /// Keys of golden cases, by the number of the conversation.
    golden: HashMap<usize, usize>,
    /// The conversation that was loaded last, with its number: its edits follow one another.
    last: Mutex<Option<(usize, Arc<Base>)>>,
}

/// Maximum number of conversations in which another answer is looked for.
const OTHERS: usize = 8;

impl Bases {
    /// Finds the golden cases of conversations. Blocks.
    ///
    /// # Errors
    ///
    /// A file cannot be read any more, or has changed.
    pub(super) fn new(originals: Arc<dyn Originals>, numbers: &[usize]) -> Result<Self, ReadError> {
        let golden = originals.goldens(numbers)?;
        Ok(Self { originals, golden, last: Mutex::default() })
    }

    /// Loads a conversation, which names its golden case, so that an edited one has the same.
    pub(super) fn load(&self, number: usize) -> Result<Arc<Base>, ReadError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, base)) = &*last
            && *of == number
        {
            return Ok(Arc::clone(base));
        }
        let mut conversation = self.originals.load(number)?;
        let golden = self.golden.get(&number).copied();
        if conversation.case_id.is_none() {
            let case = golden.and_then(|key| self.originals.golden_case(key));
            conversation.case_id = case.map(|case| case.id.clone());
        }
        let base = Arc::new(Base { conversation, golden });
        *last = Some((number, Arc::clone(&base)));
        Ok(base)
    }

    /// Returns the golden case of a conversation.
    pub(super) fn golden(&self, base: &Base) -> Option<&EvalCase> {
        self.originals.golden_case(base.golden?)
    }

    /// Returns the last answer of one of the next conversations that differs from this one's.
    pub(super) fn other_answer(&self, number: usize, base: &Base) -> Option<String> {
        let own = last_answer(&base.conversation);
        let all = self.originals.len();
        (1..=OTHERS.min(all.saturating_sub(1))).find_map(|step| {
            // What cannot be read is an error where it is evaluated.
            let other = self.originals.load((number + step) % all).ok()?;
            last_answer(&other).filter(|answer| own != Some(answer)).map(str::to_owned)
        })
    }

    /// Returns the edited conversation. One that cannot be edited is an unusable recording.
    pub(super) fn edited(
        &self,
        number: usize,
        mutation: &Mutation,
    ) -> Result<Conversation, ReadError> {
        let base = self.load(number)?;
        // Other operators need no other conversation.
        let takes_other = mutation.operator.name == "swap_answers";
        let other = takes_other.then(|| self.other_answer(number, &base)).flatten();
        let subject = Subject {
            conversation: &base.conversation,
            golden: self.golden(&base),
            other_answer: other.as_deref(),
        };
        Ok(mutation.apply(&subject).unwrap_or_else(|| {
            let mut conversation = base.conversation.clone();
            conversation.errors.push(format!("`{mutation}` does not apply to it"));
            conversation
        }))
    }
}

/// Returns the last answer of a conversation.
fn last_answer(conversation: &Conversation) -> Option<&str> {
    conversation.turns.iter().rev().find_map(|turn| turn.final_text.as_deref())
}

/// An edited conversation, and the evaluators that are asked about it.
#[derive(Debug)]
pub(super) struct Mutant {
    pub(super) conversation: usize,
    pub(super) mutation: Mutation,
    pub(super) evaluators: Vec<Arc<str>>,
}

/// Edited conversations.
#[derive(Debug)]
pub(super) struct Mutants {
    pub(super) bases: Arc<Bases>,
    pub(super) mutants: Vec<Mutant>,
}

impl ConversationSource for Mutants {
    fn len(&self) -> usize {
        self.mutants.len()
    }

    fn trace_id(&self, number: usize) -> Arc<str> {
        self.bases.originals.trace_id(self.mutants[number].conversation)
    }

    fn of_run(&self) -> usize {
        self.bases.originals.of_run()
    }

    fn asks(&self, number: usize, evaluator: &str) -> bool {
        self.mutants[number].evaluators.iter().any(|name| **name == *evaluator)
    }

    fn load(&self, number: usize) -> Result<Conversation, ReadError> {
        let Mutant { conversation, mutation, .. } = &self.mutants[number];
        self.bases.edited(*conversation, mutation)
    }
}
