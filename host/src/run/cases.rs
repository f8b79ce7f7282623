//! The cases of a run, counted before anything is evaluated.

use std::{collections::BTreeSet, sync::Arc};

use evaluator_document::did_you_mean;
use evaluator_engine::conversations::Conversations;

use crate::{
    config::Config,
    conversation::Conversation,
    eval_set::{CaseIndex, EvalSet},
    report::{CaseCount, Cases, ConversationReport, Gate},
};

/// Number of conversations whose attributes are named where none has the one that was asked for.
const NAMED_OF: usize = 100;

/// Number of attributes that are named.
const NAMED: usize = 12;

/// Counts the cases of a run before anything is evaluated. The number of cases or clusters is a lower bound if every gate can
/// pass with it: then the rest of the conversations is not read. With clusters all are read, since a later conversation may join two.
///
/// # Errors
///
/// Returns a message if no conversation has an attribute that the run was asked for.
pub(super) fn count(
    conversations: &Conversations,
    eval_set: Option<&EvalSet>,
    config: &Config,
    is_stopped: impl Fn() -> bool,
) -> Result<CaseCount, String> {
    let attributes = conversations.attributes();
    let mut missing: Vec<(&str, &str)> = attributes.asked().collect();
    let wanted = match (missing.is_empty(), eval_set) {
        // Without these, each conversation is a case.
        (true, None) => None,
        _ => config.gates.iter().map(most_units).max(),
    };
    let mut cases = Cases::default();
    let index = CaseIndex::new(eval_set).strict(config.strict_matching);
    for number in 0..conversations.len() {
        let has_enough = |wanted| !attributes.has_clusters() && cases.count().cases >= wanted;
        if missing.is_empty() && wanted.is_none_or(has_enough) || is_stopped() {
            break;
        }
        // The run reports why a conversation cannot be read.
        let Ok(conversation) = conversations.load(number) else { continue };
        missing.retain(|(_, attribute)| !conversation.labels.contains_key(*attribute));
        cases.add(&with_case(conversations, &index, &conversation));
    }
    if let Some((option, attribute)) = missing.first().filter(|_| !is_stopped()) {
        return Err(nobody_has(conversations, option, attribute));
    }
    let mut count = cases.count();
    if wanted.is_none() {
        count.cases = conversations.len() as u64;
        count.are_single = true;
    }
    Ok(count)
}

/// Returns the report of a conversation with its case, without its evaluations.
fn with_case(
    conversations: &Conversations,
    index: &CaseIndex<'_>,
    conversation: &Conversation,
) -> ConversationReport {
    let mut report = ConversationReport::new(Arc::clone(&conversation.trace_id));
    let golden = index.find(conversation, conversations.of_run()).ok();
    report.eval_case_id = golden.map(|it| it.case.id.as_str().into());
    conversations.attributes().add_to(&mut report, conversation);
    report
}

/// Returns the reports of all conversations with their cases, as they are if nothing is evaluated. Blocks.
pub(super) fn unread(
    conversations: &Conversations,
    eval_set: Option<&EvalSet>,
    config: &Config,
) -> Vec<ConversationReport> {
    let index = CaseIndex::new(eval_set).strict(config.strict_matching);
    let report = |number| {
        let loaded = conversations.load(number).ok();
        let known = loaded.map(|loaded| with_case(conversations, &index, &loaded));
        let trace_id = || ConversationReport::new(conversations.trace_id(number));
        let mut report = known.unwrap_or_else(trace_id);
        report.trace_file = conversations.trace_file(number);
        report
    };
    (0..conversations.len()).map(report).collect()
}

/// Returns the reason why a gate of the configuration is decided by no number of evaluations, because every case has too few
/// recordings. Reads conversations until a case has enough.
pub(super) fn too_few(
    conversations: &Conversations,
    eval_set: Option<&EvalSet>,
    config: &Config,
    is_stopped: impl Fn() -> bool,
) -> Option<String> {
    let gate = config.gates.iter().max_by_key(|gate| gate.recordings())?;
    let (wanted, most) = (gate.recordings(), conversations.len());
    if wanted < 2 {
        return None;
    }
    // Without these, each conversation is a case.
    let is_grouped = eval_set.is_some() || conversations.attributes().case_key().is_some();
    if !is_grouped || most < wanted as usize {
        return Some(gate.needs_recordings());
    }
    let index = CaseIndex::new(eval_set).strict(config.strict_matching);
    let (mut cases, mut recordings) = (Cases::default(), vec![0; most]);
    for number in 0..most {
        // The run reports why a conversation cannot be read.
        let conversation = conversations.load(number).ok().filter(|_| !is_stopped())?;
        let case = cases.add(&with_case(conversations, &index, &conversation));
        recordings[case] += 1;
        if recordings[case] >= wanted {
            return None;
        }
    }
    Some(gate.needs_recordings())
}

/// Returns the number of units with which a gate can pass in any case; none if more than a million are needed.
fn most_units(gate: &Gate) -> u64 {
    gate.min_units(false).ok().flatten().unwrap_or_default()
}

/// Returns the message about an attribute that no conversation has, with those that the first ones have.
fn nobody_has(conversations: &Conversations, option: &str, attribute: &str) -> String {
    let mut known = BTreeSet::new();
    for number in 0..conversations.len().min(NAMED_OF) {
        known.extend(conversations.attribute_names(number));
    }
    if known.contains(attribute) {
        return format!(
            "no conversation has a usable value of `{attribute}` ({option}): a text of one line with at most 256 characters, a \
             number or a truth value, or a list of these"
        );
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let hint = did_you_mean(attribute, known.iter().copied()).unwrap_or_else(|| {
        let related = related(attribute, &known);
        let named = if related.is_empty() { &known } else { &related };
        let more = if named.len() > NAMED { ", .." } else { "" };
        let named: Vec<&str> = named.iter().copied().take(NAMED).collect();
        format!("attributes are {}{more}", named.join(", "))
    });
    format!("no conversation has the attribute `{attribute}` ({option}); {hint}")
}

/// Returns the attributes that have a word of the one that was asked for.
fn related<'k>(attribute: &str, known: &[&'k str]) -> Vec<&'k str> {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
        words.map(str::to_lowercase).collect()
    };
    let wanted = words(attribute);
    known.iter().copied().filter(|name| !words(name).is_disjoint(&wanted)).collect()
}
