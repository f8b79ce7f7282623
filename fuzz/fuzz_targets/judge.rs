//! Replies of judges and templates of prompts: no reply has a score outside of its range, and no text leaves its block.

#![no_main]

use std::hint::black_box;

use evaluator_host::judging::{
    Pieces,
    judge::{
        Code, Template,
        llm_judge::LlmJudge,
        reply::{
            UnknownWord, answer_sentences, match_label, rubric_verdicts, sentence_verdicts,
            user_label,
        },
        scheme::{Choice, Item, Scheme, ScoreRange},
    },
};
use libfuzzer_sys::fuzz_target;

fn schemes() -> [Scheme; 4] {
    let ranges = ScoreRange::from_lower_bounds(vec![(0, "bad".to_owned()), (7, "good".to_owned())]);
    let ranged = Item { ranges, ..Item::new("a", "A") };
    let choice = |name: &str, score| Choice { name: name.to_owned(), score };
    [
        Scheme::Number(0.0, 1.0),
        Scheme::rubrics(vec![Item::new("a", "A"), Item::new("b", "B")]).expect("two rubrics"),
        Scheme::rubrics(vec![ranged]).expect("a rubric"),
        Scheme::choices(vec![choice("good", 1.0), choice("bad", 0.0)]).expect("two choices"),
    ]
}

fn read(reply: &str) {
    // A reply with `~` has the code there.
    let code = Code::of(&[]);
    let reply = reply.replace('~', code.as_str());
    let code = Some(&code);
    for scheme in schemes() {
        if let Ok(grade) = scheme.read(&reply, code) {
            let score = scheme.score(&grade);
            assert!((0.0..=1.0).contains(&score), "{score}");
        }
    }
    black_box(match_label(&reply, code, UnknownWord::Unreadable).is_ok());
    black_box(user_label(&reply, code).is_ok());
    black_box(rubric_verdicts(&reply, code).is_ok());
    black_box(answer_sentences(&reply, &reply).is_ok());
    black_box(sentence_verdicts(&reply, code, &["a".to_owned()]).is_ok());
}

fn render(template: &str, value: &str) {
    let known = ["response", "rubrics"];
    let values = known.map(|name| (name, value.to_owned()));
    if let Ok(template) = Template::parse(template, &known) {
        let used = template.variables().count();
        let messages = template.render(&values).expect("all variables have values");
        let shown = messages.iter().map(|message| message.content.matches(value).count());
        assert!(value.is_empty() || shown.sum::<usize>() >= usize::from(used > 0));
    }
    let lenient = Pieces::parse_known(template, |name| known.iter().find(|it| **it == name.trim()));
    let filled = lenient.fill(|_| Ok::<_, ()>(value.to_owned()));
    assert!(filled.is_ok_and(|text| lenient.values().next().is_some() || text == template));
    let _ = LlmJudge::new("fuzzed", Scheme::Number(0.0, 1.0)).prompt(template, &[]);
}

fuzz_target!(|text: &str| {
    read(text);
    let (template, value) = text.split_once('\0').unwrap_or((text, text));
    render(template, value);
});
