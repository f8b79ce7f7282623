//! Tests of the commands: whole programs, their output and their exit codes.

mod adk_config;
mod answers;
mod bad_input;
mod check;
#[cfg(unix)]
mod check_programs;
mod ci_output;
mod config_errors;
#[cfg(unix)]
mod config_paths;
mod conform;
mod contracts;
mod discovery;
mod events;
mod export;
mod faults;
mod golden;
mod index;
mod inspect;
mod isolation;
mod journal;
mod languages;
mod large_runs;
mod limits;
mod openinference;
mod output;
mod own_tests;
mod parity;
mod policy;
mod progress;
mod python_packages;
mod requirements;
mod running;
mod rust_files;
mod rust_sources;
mod secrets;
mod serve;
mod signals;
mod sources;
mod support;
mod trace_inputs;
mod unusable_parts;
mod validate;
