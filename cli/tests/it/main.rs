//! Tests of the commands: whole programs, their output and their exit codes.

mod adk_config;
mod answers;
mod bad_input;
mod check;
#[cfg(unix)]
mod check_programs;
mod ci_output;
mod comfort;
mod config_errors;
#[cfg(unix)]
mod config_paths;
mod conform;
mod contracts;
mod discovery;
mod environment_page;
mod events;
mod export;
mod faults;
mod golden;
mod graders;
mod graders_hosted;
mod graders_models;
mod index;
mod injection;
mod inspect;
mod isolation;
mod judge;
mod languages;
mod large_runs;
mod limits;
mod llm_judge;
mod openinference;
mod output;
mod output_files;
mod own_tests;
mod parity;
mod policy;
#[cfg(unix)]
mod producers;
mod progress;
mod python_packages;
mod readme;
mod requirements;
mod run_file;
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
