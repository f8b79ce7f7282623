//! An evaluator in the streaming form only: starts the program that the settings name for each document.

use std::{env, io, process::exit};

mod start;

const DESCRIPTION: &str = r#"{"sdk": "none", "sdk_version": "0", "protocol_version": "1.1", "capabilities": ["stream"], "evaluators": []}"#;

fn main() {
    match env::args().nth(1).as_deref() {
        Some("--describe") => println!("{DESCRIPTION}"),
        Some("--stream") => io::stdin().lines().for_each(|line| answer(&line.unwrap())),
        _ => exit(2),
    }
}

fn answer(document: &str) {
    let rest = document.split("\"probe\"").nth(1).unwrap();
    println!("{}", start::answer(rest.split('"').nth(1).unwrap(), document));
}
