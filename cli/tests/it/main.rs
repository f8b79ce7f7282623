//! Tests of the commands: whole programs, their output and their exit codes.

mod adk_config;
mod bad_input;
mod check;
#[cfg(unix)]
mod check_programs;
mod ci_output;
#[cfg(unix)]
mod config_paths;
mod conform;
mod events;
mod export;
mod faults;
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
mod requirements;
mod running;
mod rust_files;
mod rust_sources;
mod secrets;
mod serve;
mod sources;
mod support;
mod validate;
