//! `hallucinations_v1`: whether the context supports what each answer states.

use super::{
    Asked, Case, Content, Judge, JudgedTurn, Judgement, Order, Question, Refusal, TurnJudgement,
    answer::{Readings, check_all},
    judgement::mean,
    material::context,
    prompt::{SEGMENT, VALIDATE},
    reply::{SentenceLabel, sentence_labels, sentences},
};

/// The metric. It asks for the sentences of each text, then for a label of each sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hallucinations;

/// Returns the texts of a turn that are checked, each with the index of its event; that of the answer is behind the last.
fn responses(case: &Case<'_>, turn: &JudgedTurn) -> Vec<(String, usize)> {
    let events = turn.steps.events();
    let mut responses = Vec::new();
    if case.criterion.check_intermediate {
        for (index, event) in events.iter().enumerate() {
            let texts = event.content.iter().flat_map(Content::texts);
            responses.extend(texts.map(|text| (text.to_owned(), index)));
        }
    }
    let answer = turn.answer_text().filter(|text| !text.is_empty());
    responses.extend(answer.map(|text| (text, events.len())));
    responses
}

/// Returns the sentences that the judge found.
fn segments(case: &Case<'_>, asked: &Asked) -> Readings<Vec<String>> {
    Readings::new(&asked.answers, &case.criterion.rules, true, |text| {
        Some(sentences(text)).filter(|sentences| !sentences.is_empty())
    })
}

fn question(turn: usize, part: usize, prompt: &'static str) -> Question {
    Question { turn, part, prompt, variables: Vec::new(), samples: 1, order: Order::Plain }
}

impl Judge for Hallucinations {
    fn name(&self) -> &'static str {
        "hallucinations_v1"
    }

    fn plan(&self, case: &Case<'_>) -> Result<Vec<Question>, Refusal> {
        case.golden_turns()?;
        let mut planned = Vec::new();
        for (index, turn) in case.actual.iter().enumerate() {
            for (part, (text, _)) in responses(case, turn).into_iter().enumerate() {
                let variables = vec![("response", text)];
                planned.push(Question { variables, ..question(index, part, SEGMENT) });
            }
        }
        Ok(planned)
    }

    fn follow_up(&self, case: &Case<'_>, asked: &Asked) -> Option<Question> {
        let Question { turn, part, prompt: SEGMENT, .. } = asked.question else { return None };
        let judged = case.actual.get(turn)?;
        let (_, event) = *responses(case, judged).get(part)?;
        let (_, found) = segments(case, asked).read.into_iter().next()?;
        let lines: Vec<String> =
            found.iter().map(|sentence| format!("<sentence>{sentence}</sentence>")).collect();
        let variables = vec![("context", context(judged, event)), ("sentences", lines.join("\n"))];
        Some(Question { variables, ..question(turn, part, VALIDATE) })
    }

    fn aggregate(&self, case: &Case<'_>, asked: &[Asked]) -> Result<Judgement, Refusal> {
        let mut planned = Vec::new();
        for question in self.plan(case)? {
            let key = (question.turn, question.part);
            let asked = asked.iter().find(|asked| {
                (asked.question.turn, asked.question.part) == key
                    && asked.question.prompt == SEGMENT
            });
            planned.push(question);
            planned.extend(asked.and_then(|asked| self.follow_up(case, asked)));
        }
        check_all(&planned, asked)?;
        let mut judgement = Judgement::default();
        for turn in 0..case.actual.len() {
            let asked: Vec<&Asked> =
                asked.iter().filter(|asked| asked.question.turn == turn).collect();
            let scores = judge_turn(&mut judgement, case, turn, &asked);
            let rubrics = Some(Vec::new());
            judgement.turns.push(TurnJudgement { score: mean(scores), rubrics });
        }
        judgement.score = mean(judgement.turns.iter().filter_map(|turn| turn.score));
        Ok(judgement)
    }
}

/// Returns the score of each text of a turn that has one.
fn judge_turn(
    judgement: &mut Judgement,
    case: &Case<'_>,
    turn: usize,
    asked: &[&Asked],
) -> Vec<f64> {
    let mut scores = Vec::new();
    let mut expected = 0;
    for asked in asked {
        if asked.question.prompt == SEGMENT {
            let readings = segments(case, asked);
            judgement.note(turn, &readings, case.criterion);
            expected = readings.read.first().map_or(0, |(_, sentences)| sentences.len());
            continue;
        }
        let readings = Readings::new(&asked.answers, &case.criterion.rules, true, |text| {
            Some(sentence_labels(text)).filter(|labels| !labels.is_empty())
        });
        judgement.note(turn, &readings, case.criterion);
        let Some((_, labels)) = readings.read.first() else { continue };
        note_incomplete(judgement, turn, labels, expected);
        scores.extend(mean(labels.iter().filter_map(SentenceLabel::score)));
    }
    scores
}

/// Notes sentences without a label, and labels that are not known.
fn note_incomplete(
    judgement: &mut Judgement,
    turn: usize,
    labels: &[SentenceLabel],
    expected: usize,
) {
    if labels.len() < expected {
        let text = format!("the judge labelled {} of {expected} sentences", labels.len());
        judgement.incomplete(turn, text);
    }
    for label in labels.iter().filter(|label| label.score().is_none()) {
        judgement.incomplete(turn, format!("unknown label {:?}", label.label));
    }
}
