//! Judges that are prompts, and the templates of their questions.

use std::collections::BTreeMap;

use evaluator_protocol::{
    EvalResult, Score,
    agentv::{CodeJudgeInput, CodeJudgeResult},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    client::{Reply, Request, TargetClient},
    error::TargetError,
};

/// The default template.
const TEMPLATE: &str = "\
You are an expert who grades answers. Say how well the candidate answer brings about the expected outcome for the question.

A reference answer, if there is one, shows the substance of a very good answer. Another wording, order or form is no fault.

Keep what you say short, and about this answer.

[[ ## expected_outcome ## ]]
{{expected_outcome}}

[[ ## question ## ]]
{{question}}

[[ ## reference_answer ## ]]
{{reference_answer}}

[[ ## candidate_answer ## ]]
{{candidate_answer}}
";

/// The form of the answer, which goes before every question.
const FORMAT: &str = "\
Answer with one JSON object and nothing else. Its keys:
- \"score\": a number from 0.0 (nothing is achieved) to 1.0 (all of it is)
- \"hits\": a list of at most 4 short texts, what the answer gets right
- \"misses\": a list of at most 4 short texts, what it gets wrong or leaves out
- \"reasoning\": one or two sentences that explain the score";

/// The most hits, and the most misses, that are kept.
const ROWS: usize = 4;

/// A judge that is a prompt: a template for the question to a model, and the required form of its answer.
///
/// The default template weighs the candidate answer against the expected outcome. It names `expected_outcome`, `question`,
/// `reference_answer` and `candidate_answer`.
///
/// ```
/// use evaluator_sdk::{target::{Judge, TargetError, Variables}, testing};
///
/// let model = testing::target().answer(r#"{"score": 0.5, "hits": ["polite"], "misses": ["wrong city"]}"#);
/// let judge = Judge::new().template("Does this name the capital of {{ country }}?\n\n{{ candidate_answer }}");
/// let variables = Variables::new().text("country", "France").text("candidate_answer", "Lyon, dear sir.");
/// let judgement = judge.judge(&model.client(), &variables)?;
/// assert_eq!(judgement.misses, ["wrong city"]);
/// # Ok::<(), TargetError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Judge {
    template: Template,
    instructions: Option<String>,
    attempts: u32,
    target: Option<String>,
}

impl Default for Judge {
    fn default() -> Self {
        Self { template: Template::new(TEMPLATE), instructions: None, attempts: 3, target: None }
    }
}

impl Judge {
    /// Creates a judge with the default template and three attempts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the template.
    pub fn template(mut self, template: impl Into<Template>) -> Self {
        self.template = template.into();
        self
    }

    /// Sets instructions of the system prompt. The form of the answer is added behind them.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Sets the maximum number of questions until the answer has the required form, at least 1. Each attempt is a call.
    pub fn attempts(mut self, count: u32) -> Self {
        self.attempts = count.max(1);
        self
    }

    /// Names the target, where it is not the host's choice.
    pub fn target(mut self, name: impl Into<String>) -> Self {
        self.target = Some(name.into());
        self
    }

    /// Asks the model.
    ///
    /// The model is asked again if it failed, or if its answer does not have the required form, e.g. has a score outside of 0
    /// to 1. Errors that another attempt would not change are returned at once.
    ///
    /// # Errors
    ///
    /// [`TargetError`] of the last attempt; [`TargetError::InvalidRequest`] if the template names a variable without a
    /// value. Return it from the evaluator: an unreadable answer is not a judgement of the agent, so it must not become a
    /// score of 0.
    pub fn judge(
        &self,
        client: &TargetClient,
        variables: &Variables,
    ) -> Result<Judgement, TargetError> {
        let request = self.request(variables)?;
        let mut attempt = 1;
        loop {
            let reply = client.invoke(request.clone().attempt(attempt));
            match reply.and_then(|reply| Judgement::read(&reply)) {
                Err(TargetError::Unreadable { .. } | TargetError::ProviderFailed { .. })
                    if attempt < self.attempts =>
                {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    fn request(&self, variables: &Variables) -> Result<Request, TargetError> {
        if let [name, ..] = self.template.unknown(variables)[..] {
            // The model would judge braces, and the agent would be blamed for it.
            let message = format!("the template names `{name}`, which has no value");
            return Err(TargetError::InvalidRequest { message });
        }
        let system_prompt = match &self.instructions {
            Some(instructions) => format!("{}\n\n{FORMAT}", instructions.trim_end()),
            None => FORMAT.to_owned(),
        };
        let mut request =
            Request::new(self.template.render(variables)).system_prompt(system_prompt);
        request.target.clone_from(&self.target);
        Ok(request)
    }
}

/// The answer of a [`Judge`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Judgement {
    /// The score.
    pub score: Score,
    /// Positive findings, at most four.
    pub hits: Vec<String>,
    /// Negative findings, at most four.
    pub misses: Vec<String>,
    /// Explanation of the score.
    pub reasoning: Option<String>,
}

impl Judgement {
    fn read(reply: &Reply) -> Result<Self, TargetError> {
        #[derive(Deserialize)]
        struct Sent {
            score: f64,
            hits: Option<Vec<Value>>,
            misses: Option<Vec<Value>>,
            reasoning: Option<String>,
        }
        let sent: Sent = reply.json()?;
        let score = Score::new(sent.score).map_err(|error| reply.unreadable(error.to_string()))?;
        let filled = |text: &String| !text.is_empty();
        Ok(Self {
            score,
            hits: rows(sent.hits),
            misses: rows(sent.misses),
            reasoning: sent.reasoning.map(|text| text.trim().to_owned()).filter(filled),
        })
    }
}

/// Returns the texts among them.
fn rows(values: Option<Vec<Value>>) -> Vec<String> {
    let texts = values.iter().flatten().filter_map(Value::as_str).map(str::trim);
    texts.filter(|text| !text.is_empty()).take(ROWS).map(str::to_owned).collect()
}

/// With `hits`, `misses` and `reasoning` as details.
impl From<Judgement> for EvalResult {
    fn from(judgement: Judgement) -> Self {
        let Judgement { score, hits, misses, reasoning } = judgement;
        let result = Self::new(score).detail("hits", hits).detail("misses", misses);
        match reasoning {
            Some(reasoning) => result.detail("reasoning", reasoning),
            None => result,
        }
    }
}

impl From<Judgement> for CodeJudgeResult {
    fn from(judgement: Judgement) -> Self {
        let Judgement { score, hits, misses, reasoning } = judgement;
        let result = Self::new(score).with_hits(hits).with_misses(misses);
        match reasoning {
            Some(reasoning) => result.reasoning(reasoning),
            None => result,
        }
    }
}

/// A text with names in double braces, such as `{{question}}` or `{{ question }}`.
///
/// ```
/// use evaluator_sdk::target::{Template, Variables};
///
/// let variables = Variables::new().text("question", " Capital of France? ");
/// let template = Template::new("Q: {{ question }}\nHint: {{hint}}");
/// assert_eq!(template.render(&variables), "Q: Capital of France?\nHint: {{hint}}");
/// assert_eq!(template.unknown(&variables), ["hint"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

/// The values of the names in a [`Template`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Variables(BTreeMap<String, String>);

impl Template {
    /// Creates a template.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, with values in place of names. A name that has no value stays as it is written. Values are put in as they are: a
    /// name in braces inside of one stays, too.
    pub fn render(&self, variables: &Variables) -> String {
        let mut text = String::with_capacity(self.0.len());
        self.walk(|part| match part {
            Part::Text(part) => text.push_str(part),
            Part::Name { name, written } => {
                text.push_str(variables.get(name).unwrap_or(written));
            }
        });
        text
    }

    /// Returns the names that have no value, in their order, each once.
    pub fn unknown(&self, variables: &Variables) -> Vec<&str> {
        let mut unknown = Vec::new();
        self.walk(|part| match part {
            Part::Name { name, .. }
                if variables.get(name).is_none() && !unknown.contains(&name) =>
            {
                unknown.push(name);
            }
            _ => {}
        });
        unknown
    }

    fn walk<'a>(&'a self, mut each: impl FnMut(Part<'a>)) {
        let mut rest = self.0.as_str();
        while let Some(start) = rest.find("{{") {
            let (before, braces) = rest.split_at(start);
            each(Part::Text(before));
            // Where braces hold no name, the second of them may begin others that do.
            let length = match name(braces) {
                Some((name, length)) => {
                    each(Part::Name { name, written: &braces[..length] });
                    length
                }
                None => {
                    each(Part::Text(&braces[..1]));
                    1
                }
            };
            rest = &braces[length..];
        }
        each(Part::Text(rest));
    }
}

enum Part<'a> {
    Text(&'a str),
    Name { name: &'a str, written: &'a str },
}

/// Returns the name in the braces at the beginning of the text, and the length of both.
fn name(text: &str) -> Option<(&str, usize)> {
    let inside = text.strip_prefix("{{")?;
    let (inside, _) = inside.split_once("}}")?;
    let name = inside.trim();
    let valid = |character: char| character.is_ascii_alphanumeric() || character == '_';
    (!name.is_empty() && name.chars().all(valid)).then_some((name, inside.len() + 4))
}

impl<T: Into<String>> From<T> for Template {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

impl Variables {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text, without the blanks around it.
    pub fn text(mut self, name: impl Into<String>, value: impl AsRef<str>) -> Self {
        self.0.insert(name.into(), value.as_ref().trim().to_owned());
        self
    }

    /// Adds any value, as indented JSON. A value that JSON cannot represent, such as a map with lists as keys, is not added.
    pub fn json(mut self, name: impl Into<String>, value: &impl Serialize) -> Self {
        if let Ok(text) = serde_json::to_string_pretty(value) {
            self.0.insert(name.into(), text);
        }
        self
    }

    /// Returns the value of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// The variables of AgentV's own judges.
///
/// | name | value |
/// |---|---|
/// | `question`, `candidate_answer` | the text |
/// | `expected_outcome`, `criteria` | the text, one under the names of two versions |
/// | `reference_answer` | the text; empty without one |
/// | `input_messages`, `expected_messages` | the messages as JSON; `[]` for none |
/// | `output_messages` | the transcript as JSON |
///
/// Other names without a value are listed by [`Template::unknown`].
impl From<&CodeJudgeInput> for Variables {
    fn from(input: &CodeJudgeInput) -> Self {
        let texts = [
            ("question", input.question()),
            ("candidate_answer", input.candidate_answer()),
            ("expected_outcome", input.expected_outcome()),
            ("criteria", input.expected_outcome()),
            ("reference_answer", Some(input.reference_answer().unwrap_or_default())),
        ];
        let variables = Self::new()
            .json("input_messages", &input.input_messages())
            .json("expected_messages", &input.expected_messages());
        let variables = match input.output_messages() {
            Some(messages) => variables.json("output_messages", &messages),
            None => variables,
        };
        texts.into_iter().fold(variables, |variables, (name, value)| match value {
            Some(value) => variables.text(name, value),
            None => variables,
        })
    }
}

#[cfg(test)]
mod tests {
    use evaluator_protocol::agentv::Message;

    use super::*;
    use crate::testing;

    const GOOD: &str = "Here you are:\n```json\n{\"score\": 0.75, \"hits\": [\" a \", \"\", 5, \"b\", \"c\", \"d\", \"e\"], \"reasoning\": \" r \"}\n```";

    fn variables() -> Variables {
        Variables::new()
            .text("expected_outcome", "outcome?")
            .text("question", "question?")
            .text("reference_answer", "")
            .text("candidate_answer", "answer?")
    }

    #[test]
    fn the_default_template_has_its_sections_in_order() {
        let model = testing::target().answer(GOOD);
        let judgement = Judge::new().judge(&model.client(), &variables()).unwrap();
        assert_eq!(judgement.score, Score::ratio(3, 4));
        assert_eq!(
            (judgement.hits, judgement.misses),
            (["a", "b", "c", "d"].map(str::to_owned).to_vec(), vec![])
        );
        assert_eq!(judgement.reasoning.as_deref(), Some("r"));
        let request = &model.requests()[0];
        let places: Vec<_> = [
            "[[ ## expected_outcome ## ]]\noutcome?\n",
            "[[ ## question ## ]]\nquestion?\n",
            "[[ ## reference_answer ## ]]\n\n",
            "[[ ## candidate_answer ## ]]\nanswer?\n",
        ]
        .iter()
        .map(|section| request.question.find(section).unwrap())
        .collect();
        assert!(places.is_sorted(), "{}", request.question);
        assert_eq!((request.attempt, request.target.as_deref()), (Some(1), None));
    }

    #[test]
    fn judgements_are_results_of_either_contract() {
        let model = testing::target()
            .answer(r#"{"score": 1, "hits": ["h"], "misses": ["m"], "reasoning": "r"}"#);
        let judgement = Judge::new().judge(&model.client(), &variables()).unwrap();
        let result = CodeJudgeResult::from(judgement.clone());
        assert_eq!((result.hits(), result.misses()), (vec!["h"], vec!["m"]));
        assert_eq!((result.score, result.reasoning.as_deref()), (Score::ONE, Some("r")));
        // AgentV's conversion of the other result is the same.
        let other = CodeJudgeResult::from_eval_result(EvalResult::from(judgement));
        assert_eq!((other.hits(), other.misses()), (vec!["h"], vec!["m"]));
        assert_eq!(other.reasoning, result.reasoning);
    }

    #[test]
    fn the_form_of_the_answer_stands_behind_own_instructions() {
        let model = testing::target().answer(GOOD);
        let judge = Judge::new()
            .template("{{candidate_answer}}")
            .instructions("Be strict.\n")
            .target("big");
        judge.judge(&model.client(), &variables()).unwrap();
        let request = &model.requests()[0];
        assert_eq!(request.question, "answer?");
        let system = request.system_prompt.as_deref().unwrap();
        assert!(system.starts_with("Be strict.\n\nAnswer with one JSON object"), "{system}");
        assert_eq!(request.target.as_deref(), Some("big"));
    }

    #[test]
    fn an_answer_of_the_wrong_form_has_two_more_attempts() {
        let failed = TargetError::ProviderFailed { message: "boom".to_owned() };
        let model = testing::target().answer("no idea").fail(failed.clone()).answer(GOOD);
        Judge::new().judge(&model.client(), &variables()).unwrap();
        let attempts: Vec<_> = model.requests().iter().map(|request| request.attempt).collect();
        assert_eq!(attempts, [Some(1), Some(2), Some(3)]);
        let model = testing::target().fail(failed).answer("x").answer(r#"{"score": 1.2}"#);
        let error = Judge::new().judge(&model.client(), &variables()).unwrap_err();
        assert!(matches!(error, TargetError::Unreadable { .. }), "{error:?}");
        assert_eq!(model.requests().len(), 3);
    }

    #[test]
    fn answers_of_the_wrong_form_are_no_scores() {
        for answer in [
            "",
            "0.5",
            "{}",
            "[0.5]",
            r#"{"score": "0.5"}"#,
            r#"{"score": null}"#,
            r#"{"score": -0.1}"#,
            r#"{"score": 1e999}"#,
            r#"{"score": 1, "hits": "all"}"#,
            r#"{"score": 1} and {"score": 0}"#,
            "}{",
        ] {
            let model = testing::target().answer(answer);
            let error = Judge::new().attempts(0).judge(&model.client(), &variables()).unwrap_err();
            assert!(matches!(error, TargetError::Unreadable { .. }), "{answer}: {error:?}");
        }
    }

    #[test]
    fn a_name_without_a_value_is_not_asked_about() {
        let model = testing::target();
        let judge = Judge::new().template("{{question}} {{ candiate_answer }}");
        let error = judge.judge(&model.client(), &variables()).unwrap_err();
        let expected =
            "the request cannot be used: the template names `candiate_answer`, which has no value";
        assert_eq!((error.to_string().as_str(), model.requests().len()), (expected, 0));
        // Braces that are meant are values.
        let model = testing::target().answer(GOOD);
        let variables = variables().text("candiate_answer", "{{x}}");
        judge.judge(&model.client(), &variables).unwrap();
        assert_eq!(model.requests()[0].question, "question? {{x}}");
    }

    #[test]
    fn what_another_attempt_would_not_change_is_an_error_at_once() {
        let model = testing::target().answer("x").max_calls(1);
        let error = Judge::new().judge(&model.client(), &variables()).unwrap_err();
        assert!(matches!(error, TargetError::BudgetExhausted { .. }), "{error:?}");
        let model = testing::target().fail(TargetError::Unauthorized);
        let error = Judge::new().judge(&model.client(), &variables()).unwrap_err();
        assert_eq!((error, model.requests().len()), (TargetError::Unauthorized, 1));
    }

    fn render(template: &str) -> String {
        let variables = Variables::new().text("a", " A\n").text("b_2", "{{a}}").text("empty", "");
        Template::new(template).render(&variables)
    }

    #[test]
    fn names_are_replaced_with_blanks_around_them_or_without() {
        assert_eq!(render("{{a}} {{ a }} {{\n\ta}}{{empty}}."), "A A A.");
        assert_eq!(render(""), "");
        assert_eq!(render("{{a}}"), "A");
    }

    #[test]
    fn values_are_not_looked_through() {
        assert_eq!(render("{{b_2}}"), "{{a}}");
    }

    #[test]
    fn what_is_no_name_stays() {
        for text in [
            "{{x}}", "{{ x }}", "{{A}}", "{{a b}}", "{{}}", "{{", "{{a", "{{a}", "}}", "{{a.b}}",
            "{{ä}}",
        ] {
            assert_eq!(render(text), text);
        }
        assert_eq!(render("{{{a}}}"), "{A}");
        assert_eq!(render("{{x {{a}}"), "{{x A");
        assert_eq!(render("ä{{{{a}}}}ö"), "ä{{A}}ö");
        let json = r#"{"a":{"b":{}}}"#;
        assert_eq!(render(json), json);
    }

    #[test]
    fn other_values_are_json() {
        let variables = Variables::new().json("list", &[1]);
        assert_eq!(Template::new("{{list}}").render(&variables), "[\n  1\n]");
    }

    #[test]
    fn documents_of_agentv_have_names_for_their_parts() {
        let input = CodeJudgeInput::new("Q", "A")
            .with_expected_outcome(" O ")
            .with_output_message(Message::assistant("A"));
        let template = Template::new(
            "{{question}} {{expected_outcome}}{{criteria}} {{candidate_answer}}{{reference_answer}}",
        );
        assert_eq!(template.render(&Variables::from(&input)), "Q OO A");
        let messages = Template::new("{{expected_messages}} {{output_messages}}");
        let expected = "[] [\n  {\n    \"role\": \"assistant\",\n    \"content\": \"A\"\n  }\n]";
        assert_eq!(messages.render(&Variables::from(&input)), expected);
        let nothing = Variables::from(&CodeJudgeInput::default());
        let unknown = ["question", "expected_outcome", "criteria", "candidate_answer"];
        assert_eq!(template.unknown(&nothing), unknown);
    }
}
