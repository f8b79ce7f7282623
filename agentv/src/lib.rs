//! AgentV eval files: reading, running and grading.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! | module | contents |
//! |---|---|
//! | [`read`] | eval files of both generations, with the position of every problem |
//! | [`model`] | what was read: suites, tests, evaluators |
//! | [`targets`] | `targets.yaml`; targets as agents and as judges |
//! | [`output`] | outputs of agents, and recordings of them |
//! | [`grade`] | grading without a model or a program |
//! | [`run`] | planning tests, as a suite of the host, and grading them |
//! | [`report`] | results of evaluators, and the report as JSON |
//!
//! Nothing runs before the whole file is valid, and every test has an output and a judge if it needs one. An evaluator that
//! breaks is an error, and so is its test: there is no score from what is left.
//!
//! ```
//! use evaluator_agentv::{
//!     output::Recordings,
//!     read::{ReadOptions, read},
//!     run::{Options, plan},
//!     targets::{TargetSession, Targets},
//! };
//! use evaluator_host::{config::Config, run::Runner, verdict::Standing};
//! use evaluator_judging::{Environment, JudgeSettings};
//!
//! let directory = tempfile::tempdir()?;
//! let file = directory.path().join("capitals.yaml");
//! let text = "tests: [{id: one, criteria: Names it, input: q, assertions: [{type: contains, value: Paris}]}]";
//! std::fs::write(&file, text)?;
//! std::fs::create_dir(directory.path().join("outputs"))?;
//! std::fs::write(directory.path().join("outputs/one.txt"), "It is Paris.")?;
//!
//! let mut runner = Runner::default();
//! let options = ReadOptions::new(directory.path(), |_| None);
//! let suite = read(&file, &options).expect("the file is valid");
//! let recordings = Recordings::read(&directory.path().join("outputs"), &runner)?;
//! let session = TargetSession::new(
//!     Targets::default(),
//!     JudgeSettings::default(),
//!     Environment::new(|_| None),
//! )?;
//! let plan = plan(suite, session, Options::default(), Some(&recordings))?;
//! runner.session = Some(plan.session());
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! let request = plan.request(Config::default());
//! let report = runtime.block_on(runner.run(&request, &mut |_| {}));
//! assert_eq!((report.standing(), report.tally().passed), (Standing::Passed, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod files;
pub mod grade;
mod json_text;
pub mod model;
pub mod output;
mod pattern;
pub mod read;
mod references;
pub mod report;
pub mod run;
pub mod targets;
mod template;

pub use pattern::Pattern;
pub use template::Template;
