//! All operators and relations, and edits with them.

use std::{fmt, str::FromStr};

use evaluator_traces::conversation::Conversation;

use crate::{
    answers, calls, injection,
    kind::{Effect, Effects, Expectations},
    relations,
    subject::{Site, Subject},
};

/// A way to change a conversation.
#[derive(derive_more::Debug)]
#[debug("{name}")]
pub struct Operator {
    /// Name.
    pub name: &'static str,
    /// What it does, as a clause without a subject.
    pub about: &'static str,
    effects: Effects,
    sites: fn(&Subject<'_>) -> Vec<Site>,
    edit: fn(&mut Conversation, &Subject<'_>, Site) -> bool,
}

impl PartialEq for Operator {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Operator {}

const DOWN: Option<Effect> = Some(Effect::Down);
const SAME: Option<Effect> = Some(Effect::Same);
const PASS: Option<Effect> = Some(Effect::Pass);
const ANY: Option<Effect> = Some(Effect::Any);

macro_rules! operators {
    ($(#[$attribute:meta])* $table:ident: $($name:ident [$($effect:ident)*] $sites:path => $edit:path, $about:literal;)*) => {
        $(#[$attribute])*
        pub static $table: &[Operator] = &[$(Operator {
            name: stringify!($name),
            about: $about,
            effects: [$(operators!(@ $effect)),*],
            sites: $sites,
            edit: $edit,
        }),*];
    };
    (@ down) => { DOWN };
    (@ same) => { SAME };
    (@ pass) => { PASS };
    (@ any) => { ANY };
    (@ no) => { None };
}

operators! {
    /// Operators that damage a conversation. The effects are those on evaluators of tool calls, of answers, of answers without
    /// golden ones, of forms, and of budgets.
    OPERATORS:
    drop_call       [down no no no any]      calls::all => calls::drop_call, "removes a tool call and its response";
    swap_calls      [down no no no same]     calls::before_another => calls::swap_calls, "exchanges two neighbouring, different tool calls";
    rename_tool     [down no no no same]     calls::all => calls::rename_tool, "adds `_x` to the name of a tool";
    change_arg      [down no no no same]     calls::leaves_of_arguments => calls::change_arg, "changes a value in the arguments: the next number or day, `x` behind a text, the other truth value";
    drop_arg        [down no no no same]     calls::arguments => calls::drop_arg, "removes an argument";
    add_arg         [down no no no same]     calls::with_room => calls::add_arg, "adds the argument `unexpected`";
    duplicate_call  [down no no no any]      calls::all => calls::duplicate_call, "makes a tool call twice";
    error_result    [any no down no same]    calls::succeeded => calls::error_result, "lets a tool call fail, and keeps the answer";
    claim_success   [any down down no same]  calls::last_of_answered => calls::claim_success, "lets the last tool call fail, and answers that it worked";
    empty_answer    [same down down down same] answers::with_text => answers::empty_answer, "makes an answer empty";
    null_answer     [same down down down same] answers::recorded => answers::null_answer, "removes an answer";
    truncate_answer [same down down no same] answers::long => answers::truncate_answer, "keeps the first third of an answer, and cuts it inside of a word";
    negate_answer   [same any down same same] answers::negatable => answers::negate_answer, "negates a sentence of an English answer, and keeps its numbers";
    change_number   [same any down same same] answers::numbered => answers::change_number, "replaces a number or date in an answer by the next one";
    swap_answers    [same down down same same] answers::exchangeable => answers::swap_answers, "takes the last answer of another conversation";
    echo_question   [same down down same same] answers::asked => answers::echo_question, "answers with the question";
    refuse          [same down down same same] answers::helpful => answers::refuse, "answers `I cannot help with that.`";
    wrong_language  [same down down down same] answers::recorded => answers::wrong_language, "answers with a Finnish sentence about the weather";
    leak_golden     [same pass pass no same] answers::golden => answers::leak_golden, "answers with the golden answer behind `[expected]`";
    inject_judge    [no any down any same] injection::orders => injection::inject_judge, "changes a number of the answer, or empties it, and adds an order to the judge to the answer, the question or a tool result";
    quote_verdict   [no down down no same]   injection::verdicts => injection::quote_verdict, "answers with the reply of a judge that is content";
}

operators! {
    /// Relations: edits that must not change a score.
    RELATIONS:
    key_order       [same same same same same] relations::ordered => relations::key_order, "reverses the order of keys in arguments and results";
    rename_ids      [same same same same same] relations::whole => relations::rename_ids, "renames the ids of traces, spans and tool calls";
    float_arguments [same same same same same] relations::with_integers => relations::float_arguments, "writes integers in arguments as floats, `1.0` for `1`";
    white_space     [same same same same same] relations::whole => relations::white_space, "adds white space at both ends of questions and answers";
    shift_times     [same same same same same] relations::whole => relations::shift_times, "shifts all times by a day";
    unknown_keys    [same same same same same] relations::whole => relations::unknown_keys, "adds keys that no contract has to the document and its turns";
    other_order     [same same same same same] relations::whole => relations::again, "changes nothing: evaluates the conversations in another order";
    same_document   [same same same same same] relations::whole => relations::again, "changes nothing: evaluates the same document once more";
}

/// The relation whose conversation must score at least as much as any damaged one.
pub static GOLDEN: Operator = Operator {
    name: "golden",
    about: "does what the golden case does, which must score at least as much as any damage",
    effects: [ANY, ANY, None, None, None],
    sites: relations::with_golden,
    edit: relations::golden,
};

/// Name of the relation that is about more than one conversation.
pub const OTHER_ORDER: &str = "other_order";

impl Operator {
    /// Returns the operator or relation of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        OPERATORS.iter().chain(RELATIONS).chain([&GOLDEN]).find(|operator| operator.name == name)
    }

    /// Returns the places where it changes something.
    pub fn sites(&self, subject: &Subject<'_>) -> Vec<Site> {
        (self.sites)(subject)
    }

    /// Returns what it has to do to the result of an evaluator; `None` if it does not apply to it.
    pub fn effect(&self, expectations: &Expectations) -> Option<Effect> {
        expectations.effect(self.name, &self.effects)
    }
}

/// One edit of a conversation, or two. As text `operator@site`, and two with a `+` between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The operator.
    pub operator: &'static Operator,
    /// The place.
    pub site: Site,
    /// A further edit of the result.
    pub then: Option<(&'static Operator, Site)>,
}

impl Mutation {
    /// Creates an edit.
    pub fn new(operator: &'static Operator, site: Site) -> Self {
        Self { operator, site, then: None }
    }

    /// Returns the changed conversation; `None` if it has no such place, or the edit changes nothing.
    pub fn apply(&self, subject: &Subject<'_>) -> Option<Conversation> {
        let mut conversation = subject.conversation.clone();
        if !(self.operator.edit)(&mut conversation, subject, self.site) {
            return None;
        }
        let Some((operator, site)) = self.then else { return Some(conversation) };
        let changed = conversation.clone();
        let subject = Subject { conversation: &changed, ..*subject };
        (operator.edit)(&mut conversation, &subject, site).then_some(conversation)
    }

    /// Returns the edit that this one must not score higher than: the same damage without the order to the judge, or the first of
    /// two edits.
    pub fn control(&self, subject: &Subject<'_>) -> Option<Self> {
        if self.then.is_some() {
            return Some(Self { then: None, ..*self });
        }
        if self.operator.name != "inject_judge" {
            return None;
        }
        let (operator, site) = injection::damage(subject, self.site);
        Some(Self::new(Operator::named(operator)?, site))
    }
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.operator.name, self.site)?;
        match self.then {
            Some((operator, site)) => write!(f, "+{}@{site}", operator.name),
            None => Ok(()),
        }
    }
}

impl FromStr for Mutation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |text: &str| {
            let (name, site) = text.split_once('@').ok_or_else(|| {
                format!("`{text}` has no place; write e.g. `drop_call@1.2`, the second call of the first turn")
            })?;
            let operator =
                Operator::named(name).ok_or_else(|| format!("there is no operator `{name}`"))?;
            Ok::<_, String>((operator, site.parse::<Site>()?))
        };
        let (first, then) = match text.split_once('+') {
            Some((first, then)) => (first, Some(one(then)?)),
            None => (text, None),
        };
        let (operator, site) = one(first)?;
        Ok(Self { operator, site, then })
    }
}
