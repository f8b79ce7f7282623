//! The feature `tokio`.

use std::time::Duration;

use evaluator_sdk::{EvalInput, evaluator, testing};

#[evaluator]
async fn sleeps(input: &EvalInput) -> bool {
    let name = input.metric_name.clone();
    let task = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(1)).await;
        name == "m"
    });
    task.await.unwrap_or(false)
}

#[test]
fn timers_and_tasks_work() {
    testing::assert_score(&testing::run(&sleeps::EVALUATOR, &testing::input("m")).unwrap(), 1.0);
}

#[test]
fn inside_a_runtime_with_threads_of_its_own_they_work_too() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let result = runtime.block_on(async { testing::run(&sleeps::EVALUATOR, &testing::input("m")) });
    testing::assert_score(&result.unwrap(), 1.0);
}

#[test]
fn inside_a_current_thread_runtime_there_is_an_error_and_no_deadlock() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let failure = runtime
        .block_on(async { testing::run(&sleeps::EVALUATOR, &testing::input("m")) })
        .unwrap_err();
    assert!(failure.message().contains("`fn main` that is not async"), "{failure}");
}
