//! Tests of the commands: whole programs, their output and their exit codes.

mod adk_config;
#[cfg(unix)]
mod agree;
mod answers;
mod bad_input;
#[cfg(unix)]
mod baseline;
#[cfg(target_os = "linux")]
mod bundle;
mod cases;
mod certificate;
mod check;
#[cfg(unix)]
mod check_programs;
mod ci_files;
mod ci_output;
mod comfort;
mod compare;
mod compare_other_tools;
mod config_errors;
#[cfg(unix)]
mod config_extends;
#[cfg(unix)]
mod config_paths;
mod conform;
mod contained_packages;
mod containment;
mod contracts;
mod deciding;
mod discovery;
mod environment_page;
mod escapes;
mod eval_files;
mod evaluator_files;
mod events;
mod export;
mod faults;
#[cfg(unix)]
mod filter_parts;
mod first_use;
mod gates;
mod golden;
mod graders;
mod graders_models;
mod hostile_directory;
mod html;
mod index;
mod injection;
mod inspect;
mod isolation;
mod judge;
mod judge_failures;
mod judge_quotes;
mod judge_server;
mod judge_simulator;
mod judge_vectors;
mod killed;
mod languages;
mod large_runs;
#[cfg(unix)]
mod library_adapters;
#[cfg(unix)]
mod library_faults;
#[cfg(unix)]
mod library_metrics;
mod limits;
mod llm_judge;
#[cfg(unix)]
mod mutate;
mod openinference;
mod output;
mod output_files;
mod overview;
mod own_tests;
mod parity;
mod pipe;
mod policy;
#[cfg(unix)]
mod producers;
mod progress;
mod proxied;
mod proxy;
mod python_packages;
#[cfg(unix)]
mod receive;
mod repeats;
mod repro;
mod requirements;
mod run_file;
mod running;
mod rust_files;
mod rust_sources;
mod same_bytes;
mod sandboxed;
#[cfg(unix)]
mod scale_recipes;
mod sdk_models;
mod secrets;
mod serve;
#[cfg(unix)]
mod shards;
mod shared_builds;
mod signals;
mod sources;
mod special_files;
mod support;
mod trace_inputs;
mod unusable_parts;
mod validate;
