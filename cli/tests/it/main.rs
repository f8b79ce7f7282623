//! Tests of the commands: whole programs, their output and their exit codes.

mod adk_config;
mod answers;
mod bad_input;
mod check;
mod ci_output;
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
mod isolation;
mod journal;
mod languages;
mod large_runs;
mod limits;
mod openinference;
mod output;
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
mod validate;
