//! `hallucinations_v1`: whether the context supports what each answer states.

use super::{
    Asked, Case, Content, Judge, JudgedTurn, Question, Reading, Refusal, Scores, Tally,
    TurnJudgement, Vote, Votes,
    answer::{Readings, check_all},
    judgement::mean,
    material::context,
    prompt::{SEGMENT, VALIDATE},
    reply::{answer_sentences, sentence_verdicts, sentences},
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

/// Returns the value of the only variable with that name.
fn variable<'q>(question: &'q Question, name: &str) -> &'q str {
    let found = question.variables.iter().find(|(variable, _)| *variable == name);
    found.map_or("", |(_, value)| value)
}

impl Judge for Hallucinations {
    fn name(&self) -> &str {
        "hallucinations_v1"
    }

    fn can_swap(&self) -> bool {
        false
    }

    fn plan(&self, case: &Case<'_>) -> Result<Vec<Question>, Refusal> {
        case.golden_turns()?;
        let mut planned = Vec::new();
        for (index, turn) in case.actual.iter().enumerate() {
            for (part, (text, _)) in responses(case, turn).into_iter().enumerate() {
                let variables = vec![("response", text)];
                let question = case.criterion.prompts.question(index, SEGMENT, variables)?;
                planned.push(Question { part, ..question });
            }
        }
        Ok(planned)
    }

    fn follow_up(&self, case: &Case<'_>, asked: &Asked) -> Option<Question> {
        let Question { turn, part, .. } = asked.question;
        if asked.question.prompt != SEGMENT {
            return None;
        }
        let judged = case.actual.get(turn)?;
        let (_, event) = *responses(case, judged).get(part)?;
        let Reading::Votes(found) = asked.readings.first()? else { return None };
        let lines = found.iter().map(|vote| format!("<sentence>{}</sentence>", vote.about));
        let lines: Vec<String> = lines.collect();
        let variables = vec![("context", context(judged, event)), ("sentences", lines.join("\n"))];
        let question = case.criterion.prompts.question(turn, VALIDATE, variables).ok()?;
        Some(Question { part, ..question })
    }

    /// Returns the sentences of the text, or the label of each sentence with its score.
    fn read(&self, _: &Case<'_>, question: &Question, reply: &str) -> Result<Vec<Vote>, String> {
        let vote = |about, score| Vote { about, score, ..Vote::default() };
        if question.prompt == SEGMENT {
            let found = answer_sentences(reply, variable(question, "response"))?;
            return Ok(found.into_iter().map(|sentence| vote(sentence, None)).collect());
        }
        let asked = sentences(variable(question, "sentences"));
        let labels = sentence_verdicts(reply, question.code.as_ref(), &asked)?.into_iter();
        Ok(labels.map(|label| vote(label.label.clone(), label.score())).collect())
    }

    fn tally(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        asked: &[Asked],
    ) -> Result<Tally, Refusal> {
        let mut all = Vec::new();
        for question in planned {
            let asked = asked.iter().find(|asked| {
                let Question { turn, part, prompt, .. } = &asked.question;
                (*turn, *part) == (question.turn, question.part) && *prompt == SEGMENT
            });
            all.push(question.clone());
            if asked.is_some_and(|asked| asked.readings.first().is_some_and(Reading::is_readable)) {
                all.push(Question { prompt: VALIDATE.into(), ..question.clone() });
            }
        }
        check_all(&all, asked)?;
        let mut tally = Tally::default();
        for asked in asked {
            let readings = Readings::new(std::slice::from_ref(asked));
            tally.note(&readings, case.criterion);
            let turn = readings.turn;
            if asked.question.prompt == SEGMENT {
                let votes = Votes::new(turn, case.criterion.threshold);
                tally.votes.push(votes.of_part(asked.question.part));
                continue;
            }
            let Some((_, labels)) = readings.votes.first() else { continue };
            for label in labels.iter().filter(|label| label.score.is_none()) {
                tally.incomplete(turn, format!("unknown label {:?}", label.about));
            }
            let score = mean(labels.iter().filter_map(|label| label.score));
            tally.votes.iter_mut().last().into_iter().for_each(|votes| votes.scores.extend(score));
        }
        Ok(tally)
    }

    fn score(&self, case: &Case<'_>, tally: &Tally, values: &[Option<f64>]) -> Scores {
        let turns = (0..case.actual.len()).map(|turn| {
            let votes = tally.votes.iter().zip(values).filter(|(votes, _)| votes.turn == turn);
            let score = mean(votes.filter_map(|(_, score)| *score));
            TurnJudgement { score, rubrics: Some(Vec::new()) }
        });
        let turns: Vec<TurnJudgement> = turns.collect();
        let score = mean(turns.iter().filter_map(|turn| turn.score));
        Scores { score, turns, ..Scores::default() }
    }
}
