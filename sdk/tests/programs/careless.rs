//! A program whose `main` does not return what `run()` returns: the environment variable `FIXTURE` says what it does with it.

#![deny(unused_must_use)]

use evaluator_sdk::{EvalInput, evaluator, run_any};

/// Fails in the way that `metric_name` says.
#[evaluator]
fn fails(input: &EvalInput) -> Result<f64, String> {
    match input.metric_name.as_str() {
        "panic" => panic!("on purpose"),
        "nan" => Ok(f64::NAN),
        "error" => Err("no rules".to_owned()),
        _ => Ok(1.0),
    }
}

#[evaluator]
async fn fails_async(input: &EvalInput) -> Result<f64, String> {
    fails(input)
}

/// Says that it was dropped.
struct Guard;

impl Drop for Guard {
    #[expect(clippy::print_stderr, reason = "the test looks for it")]
    fn drop(&mut self) {
        eprintln!("guard dropped");
    }
}

fn main() {
    let _guard = Guard;
    match std::env::var("FIXTURE").as_deref() {
        Ok("statement") => {
            fails::run();
        }
        Ok("underscore") => {
            let _ = fails::run();
        }
        Ok("drop") => drop(fails::run()),
        Ok("shown") => {
            if format!("{:?}", fails::run()).is_empty() {
                let _ = fails_async::run();
            }
        }
        Ok("any") => {
            run_any(&[fails::EVALUATOR, fails_async::EVALUATOR]);
        }
        Ok("async main") => {
            let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
            runtime.block_on(async {
                fails_async::run();
            });
        }
        Ok("thread") => {
            let _ = std::thread::spawn(fails::run).join();
        }
        Ok("caught") => {
            let _ = std::panic::catch_unwind(fails::run);
        }
        Ok("twice") => {
            fails::run();
            fails_async::run();
        }
        Ok("exit") => {
            fails::run();
            std::process::exit(0);
        }
        _ => panic!("FIXTURE is not set to a way to drop the value"),
    }
}
