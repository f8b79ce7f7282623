//! Every fault we claim to survive, in a program that is started for each document and in one that is kept running: what
//! its verdict is, that the run is not green, and that all other results are there.
//!
//! `cargo test -p evaluator-tests --test it fault_matrix -- --nocapture` prints the matrix.

mod case;
mod faults;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use case::{Fault, Form, Outcome};

/// Cases at a time: the longest of them wait.
const AT_A_TIME: usize = 8;

#[test]
fn no_fault_is_green_and_none_touches_another_result() {
    let faults = faults::all();
    let cases: Vec<_> = faults
        .iter()
        .flat_map(|fault| [Form::OneShot, Form::Warm].map(|form| (fault, form)))
        .collect();
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some((fault, form)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = case::run(fault, *form);
                    outcomes.lock().unwrap().push((fault.name, *form, outcome));
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap();
    println!("{}", table(&faults, &outcomes));
    let wrong: Vec<String> = outcomes
        .iter()
        .flat_map(|(name, form, outcome)| {
            outcome.complaints.iter().map(move |complaint| format!("{name}, {form:?}: {complaint}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A row for each fault, a column for each form.
fn table(faults: &[Fault], outcomes: &[(&str, Form, Outcome)]) -> String {
    let of = |name: &str, form: Form| {
        outcomes
            .iter()
            .find(|(its_name, its_form, _)| *its_name == name && *its_form == form)
            .map_or_else(String::new, |(_, _, outcome)| outcome.to_string())
    };
    let mut lines = vec![format!(
        "{:<26} {:<36} {:<36}",
        "fault", "a process for each document", "a warm worker"
    )];
    lines.extend(faults.iter().map(|fault| {
        let (one_shot, warm) = (of(fault.name, Form::OneShot), of(fault.name, Form::Warm));
        format!("{:<26} {one_shot:<36} {warm:<36}", fault.name)
    }));
    lines.join("\n")
}
