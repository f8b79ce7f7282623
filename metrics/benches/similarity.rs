//! Every measure of similarity over 10,000 pairs of 50 words.
//!
//! `cargo bench -p evaluator-metrics --bench similarity`, then `python3 metrics/benches/similarity.py FILE` with the file that it
//! names: the same pairs by the libraries that the measures are named after (nltk, rapidfuzz and rouge-score have to be
//! installed, and WordNet for `meteor`).

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and may panic")]

use std::{env, fmt::Write as _, fs, hint::black_box, path::Path, time::Instant};

use evaluator_metrics::{Measure, find_wordnet};

const PAIRS: usize = 10_000;
const WORDS: usize = 50;

/// The fastest of these counts: other programs may be running.
const PASSES: usize = 7;

/// Words of different frequency, some of them with synonyms and stems.
const VOCABULARY: &str = "the a of to and in is it that was for on are as with they at be this have from or had by hot \
    but some what there we can out other were all your when up use word how said an each she which do their time if \
    will way about many then them would write like so these her long make thing see him two has look more day could go \
    come did my sound no most number who over know water than call first people may down side been now find any new \
    work part take get place made live where after back little only round man year came show every good me give our \
    under name very through just form great think say help low line before turn cause same mean differ move right boy \
    old too does tell sentence set three want air well also play small end put home read hand port large spell add \
    even land here must big high such follow act why ask men change went light kind off need house picture try us \
    again animal point mother world near build self earth father cars automobile quickly happiness running movement";

fn main() {
    // `cargo test` runs benchmarks, too.
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let pairs = pairs();
    let wordnet = find_wordnet(None).ok().map(|(directory, _)| directory);
    let mut file = String::from("{\"seconds\": {");
    let names = [
        "fuzzy_match",
        "bleu",
        "gleu",
        "meteor",
        "rouge_1",
        "rouge_2",
        "rouge_3",
        "rouge_4",
        "rouge_5",
        "rouge_l",
    ];
    let mut total = 0.0;
    for name in names {
        let Some(measure) = Measure::named(name, wordnet.clone()) else {
            println!("{name:12} is left out: it needs WordNet");
            continue;
        };
        // Reading WordNet is not part of a measurement.
        black_box(measure.score("a", "b").unwrap());
        let (mut sum, mut seconds) = (0.0, f64::INFINITY);
        for _ in 0..PASSES {
            let started = Instant::now();
            sum = pairs.iter().map(|(a, b)| measure.score(a, b).unwrap()).sum::<f64>();
            seconds = seconds.min(started.elapsed().as_secs_f64());
        }
        println!("{name:12} {seconds:8.3} s, mean score {:.3}", sum / PAIRS as f64);
        let comma = if total > 0.0 { ", " } else { "" };
        write!(file, "{comma}\"{name}\": {seconds}").unwrap();
        total += seconds;
    }
    println!("{:12} {total:8.3} s", "all");
    let pairs = pairs.iter().map(|(a, b)| format!("[\"{a}\", \"{b}\"]")).collect::<Vec<_>>();
    write!(file, "}}, \"pairs\": [{}]}}", pairs.join(",\n")).unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("similarity.json");
    fs::write(&path, file).unwrap();
    println!("the pairs are in {}", path.display());
}

/// Returns pairs that share about half of their words. They are the same in every run.
fn pairs() -> Vec<(String, String)> {
    let vocabulary: Vec<&str> = VOCABULARY.split_whitespace().collect();
    let mut state = 1_u64;
    let mut next = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut pairs = Vec::new();
    for _ in 0..PAIRS {
        let a: Vec<&str> = (0..WORDS).map(|_| vocabulary[next(vocabulary.len())]).collect();
        let b: Vec<&str> = a
            .iter()
            .map(|word| if next(2) == 0 { *word } else { vocabulary[next(vocabulary.len())] })
            .collect();
        pairs.push((a.join(" "), b.join(" ")));
    }
    pairs
}
