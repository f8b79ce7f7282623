//! Contained programs: attacks and honest ones, at both levels, as this user and as one without privileges.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests start processes")]

mod behaviour;
mod host_ends;
mod paths;
mod probes;
mod refusals;
mod world;

use std::{env, os::unix::process::CommandExt, process::Command};

use evaluator_sandbox::{Policy, run_if_helper, wrap};

/// Makes this executable its own helper, and a command that contains others, before the test harness reads the arguments.
#[expect(unsafe_code, reason = "a test harness has its own `main`")]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn before_main() {
        run_if_helper();
        let mut args = env::args_os().skip(1);
        if args.next().is_some_and(|first| first == "contain") {
            let policy: Policy =
                serde_json::from_str(args.next().unwrap().to_str().unwrap()).unwrap();
            let reads = args.by_ref().take_while(|arg| arg != "--").map(Into::into);
            let policy =
                Policy { read: policy.read.iter().cloned().chain(reads).collect(), ..policy };
            let program = args.next().unwrap();
            let args: Vec<_> = args.collect();
            let cwd = env::current_dir().unwrap();
            match wrap(&policy, program.as_ref(), &args, Some(&cwd)) {
                Ok(wrapped) => {
                    panic!("{}", Command::new(wrapped.program).args(wrapped.args).exec())
                }
                Err(refusal) => panic!("{refusal}"),
            }
        }
    }
    before_main
};
