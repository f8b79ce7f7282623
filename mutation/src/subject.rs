//! A conversation that is damaged, and places in it.

use std::{fmt, str::FromStr};

use evaluator_traces::{
    conversation::{Conversation, Turn},
    eval_set::{EvalCase, ExpectedTurn},
};

/// A conversation with what operators may take from elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The conversation.
    pub conversation: &'a Conversation,
    /// Its golden case.
    pub golden: Option<&'a EvalCase>,
    /// Last answer of another conversation.
    pub other_answer: Option<&'a str>,
}

/// A place in a conversation. As text: the turn, the call after a `.`, and which of several edits of that place after a `#`, each
/// counted from 1, e.g. `2.1#3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// Index of the turn.
    pub turn: u32,
    /// Index of the tool call; `None` for the rest of the turn.
    pub call: Option<u32>,
    /// Index of the edit; `None` if there is only one.
    pub variant: Option<u32>,
}

impl Site {
    /// Returns the place of a turn.
    pub(crate) fn turn(turn: usize) -> Self {
        Self { turn: index(turn), call: None, variant: None }
    }

    /// Returns the place of a tool call.
    pub(crate) fn call(turn: usize, call: usize) -> Self {
        Self { call: Some(index(call)), ..Self::turn(turn) }
    }

    /// Returns one of several edits of the place.
    pub(crate) fn variant(self, variant: usize) -> Self {
        Self { variant: Some(index(variant)), ..self }
    }

    /// Returns the turn of the place.
    pub(crate) fn turn_of<'c>(&self, conversation: &'c Conversation) -> Option<&'c Turn> {
        conversation.turns.get(self.turn as usize)
    }

    /// Returns the turn of the place, to change it.
    pub(crate) fn turn_in<'c>(&self, conversation: &'c mut Conversation) -> Option<&'c mut Turn> {
        conversation.turns.get_mut(self.turn as usize)
    }

    /// Returns the golden turn of the place.
    pub(crate) fn golden<'c>(&self, subject: &Subject<'c>) -> Option<&'c ExpectedTurn> {
        subject.golden?.turns.get(self.turn as usize)
    }

    /// Returns the index of the edit.
    pub(crate) fn edit(&self) -> usize {
        self.variant.unwrap_or_default() as usize
    }

    /// Returns the index of the call in its turn.
    pub(crate) fn call_index(&self) -> Option<usize> {
        self.call.map(|call| call as usize)
    }
}

/// Returns an index of a place. No conversation has more turns or calls than these.
fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", u64::from(self.turn) + 1)?;
        if let Some(call) = self.call {
            write!(f, ".{}", u64::from(call) + 1)?;
        }
        match self.variant {
            Some(variant) => write!(f, "#{}", u64::from(variant) + 1),
            None => Ok(()),
        }
    }
}

impl FromStr for Site {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let number = text.parse::<u32>().ok().and_then(|number| number.checked_sub(1));
            number.ok_or_else(|| format!("`{text}` is not a number from 1 on"))
        };
        let (place, variant) = match text.split_once('#') {
            Some((place, variant)) => (place, Some(number(variant)?)),
            None => (text, None),
        };
        let (turn, call) = match place.split_once('.') {
            Some((turn, call)) => (turn, Some(number(call)?)),
            None => (place, None),
        };
        Ok(Self { turn: number(turn)?, call, variant })
    }
}

/// Returns the places of all turns that fulfil a condition.
pub(crate) fn turns(subject: &Subject<'_>, is_one: impl Fn(usize, &Turn) -> bool) -> Vec<Site> {
    let turns = subject.conversation.turns.iter().enumerate();
    turns.filter(|(index, turn)| is_one(*index, turn)).map(|(index, _)| Site::turn(index)).collect()
}

/// Returns the places of all tool calls that fulfil a condition.
pub(crate) fn calls(subject: &Subject<'_>, is_one: impl Fn(&Turn, usize) -> bool) -> Vec<Site> {
    let mut sites = Vec::new();
    for (index, turn) in subject.conversation.turns.iter().enumerate() {
        let calls = (0..turn.tool_calls.len()).filter(|call| is_one(turn, *call));
        sites.extend(calls.map(|call| Site::call(index, call)));
    }
    sites
}
