//! Forks follow the rules for processes that are started: nothing outlives its evaluation.

use std::fs;

use evaluator_test_support::processes::{linked_to, wait_for_line, wait_until};

use super::*;

/// A server for a script, and its working directory.
async fn serving(python: &Path, script: &str) -> (TestDirectory, CommandSpec, ForkServer) {
    let directory = TestDirectory::new();
    let mut command = CommandSpec::new(python).arg(directory.file("check.py", script));
    command.cwd = Some(directory.path().to_owned());
    let server = server(&command).await.unwrap();
    (directory, command, server)
}

/// Processes whose working directory is this one. Linux only.
fn living_in(directory: &TestDirectory) -> Vec<String> {
    linked_to("cwd", |cwd| cwd == directory.path())
}

/// Waits until at most `most` processes are left.
fn assert_left(directory: &TestDirectory, most: usize) {
    wait_until("the end of processes", || living_in(directory).len() <= most);
}

/// Waits for a file with a number in it.
fn number_in(directory: &TestDirectory, name: &str) -> i32 {
    wait_for_line(&directory.join(name)).parse().unwrap()
}

fn kill(process: i32) {
    let process = rustix::process::Pid::from_raw(process).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
}

const IGNORES_TERM: &str = "import signal, subprocess, time\n\
    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
    subprocess.Popen(['sleep', '600'])\n\
    print('began', flush=True)\n\
    time.sleep(600)\n";

#[tokio::test]
async fn a_fork_that_is_late_is_ended_with_its_group() {
    for python in interpreters().await {
        let (directory, _, server) = serving(&python, IGNORES_TERM).await;
        // Long enough for its work before it hangs.
        let limits = Limits::with_timeout(Duration::from_secs(10));
        let outcome = forked(&server, b"", &limits).await;
        assert_eq!(outcome.ending, Ending::TimedOut { limit: limits.timeout });
        assert_eq!(outcome.stdout.head(), b"began\n");
        assert_left(&directory, 1);
        server.end(BOUNDED).await;
        assert_left(&directory, 0);
    }
}

#[tokio::test]
async fn a_fork_that_is_cancelled_or_dropped_is_ended() {
    for python in interpreters().await {
        let (directory, _, server) = serving(&python, IGNORES_TERM).await;
        let cancellation = Cancellation::new();
        let limits = Limits::with_timeout(BOUNDED);
        let cancel = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            cancellation.cancel();
        };
        let (outcome, ()) = tokio::join!(server.run(b"", &[], &limits, &cancellation), cancel);
        assert_eq!(outcome.unwrap().ending, Ending::Cancelled);
        assert_left(&directory, 1);

        let never = Cancellation::new();
        let running = server.run(b"", &[], &limits, &never);
        assert!(tokio::time::timeout(Duration::from_millis(500), running).await.is_err());
        assert_left(&directory, 1);
    }
}

#[tokio::test]
async fn what_keeps_a_pipe_open_is_noticed_and_ended() {
    for python in interpreters().await {
        let script =
            "import subprocess\nsubprocess.Popen(['sleep', '600'])\nprint('{\"score\": 1}')\n";
        let (directory, command, server) = serving(&python, script).await;
        let limits = Limits::default();
        for outcome in [started(&command, b"", &limits).await, forked(&server, b"", &limits).await]
        {
            assert_eq!(outcome.ending, Ending::Exited(0));
            assert!(outcome.leaked_pipe());
        }
        assert_left(&directory, 1);
    }
}

#[tokio::test]
async fn output_and_input_may_be_of_any_size() {
    for python in interpreters().await {
        let script = "import sys\nn = len(sys.stdin.buffer.read())\n\
                      sys.stdout.write('x' * n)\nsys.stderr.write('y' * n)\n";
        let (_directory, _, server) = serving(&python, script).await;
        let limits = Limits { stdout_cap: 1 << 20, ..Limits::default() };
        let outcome = forked(&server, &vec![b' '; 20 << 20], &limits).await;
        assert_eq!(outcome.ending, Ending::Exited(0));
        assert!(outcome.stdout.overflowed() && outcome.stdout.head().len() == 1 << 20);
        assert!(outcome.stderr.omitted() > 19 << 20);
    }
}

#[tokio::test]
async fn many_forks_at_a_time_do_not_mix_up() {
    for python in interpreters().await {
        let script = "import sys, time, os\nn = int(sys.stdin.read())\ntime.sleep(n % 7 / 50)\n\
                      print(n, len(os.listdir('/dev/fd')))\nsys.exit(n % 3)\n";
        let (directory, command, server) = serving(&python, script).await;
        let limits = Limits::with_timeout(BOUNDED);
        let alone = started(&command, b"0", &limits).await;
        let open = String::from_utf8_lossy(alone.stdout.head()).trim().replace("0 ", "");
        let server = std::sync::Arc::new(server);
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..40 {
            let (server, limits) = (std::sync::Arc::clone(&server), limits.clone());
            tasks.spawn(
                async move { (n, forked(&server, n.to_string().as_bytes(), &limits).await) },
            );
        }
        while let Some(done) = tasks.join_next().await {
            let (n, outcome) = done.unwrap();
            assert_eq!(outcome.ending, Ending::Exited(n % 3));
            let said = String::from_utf8_lossy(outcome.stdout.head()).into_owned();
            assert_eq!(said, format!("{n} {open}\n"), "a descriptor too many");
        }
        // Only the server is left, and no zombie of it.
        assert_left(&directory, 1);
    }
}

#[tokio::test]
async fn a_server_that_dies_takes_its_forks_with_it_and_says_so() {
    for python in interpreters().await {
        let script =
            "import os, time\nopen('server', 'w').write('%d\\n' % os.getppid())\ntime.sleep(600)\n";
        let (directory, _, server) = serving(&python, script).await;
        let limits = Limits::with_timeout(BOUNDED);
        let never = Cancellation::new();
        let murder = async {
            let path = directory.path().join("server");
            while fs::read_to_string(&path).unwrap_or_default().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            kill(number_in(&directory, "server"));
        };
        let (outcome, ()) = tokio::join!(server.run(b"", &[], &limits, &never), murder);
        let Ending::Lost { reason } = outcome.unwrap().ending else { panic!("not lost") };
        assert_eq!(reason, "the interpreter that it was forked from has died");
        assert_left(&directory, if cfg!(target_os = "linux") { 0 } else { 2 });
        let error = server.run(b"", &[], &limits, &never).await.unwrap_err();
        assert!(matches!(error, ForkError::Died { .. }), "{error}");
    }
}

#[tokio::test]
async fn forks_end_with_the_one_they_are_forked_for() {
    // The other side of the socket is closed without a word, as when the host is killed.
    for python in interpreters().await {
        let (directory, _, server) = serving(&python, IGNORES_TERM).await;
        let server = std::sync::Arc::new(server);
        let running = std::sync::Arc::clone(&server);
        let task = tokio::spawn(async move {
            running.run(b"", &[], &Limits::with_timeout(BOUNDED), &Cancellation::new()).await
        });
        while living_in(&directory).len() < 3 && cfg!(target_os = "linux") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        task.abort();
        let _ = task.await;
        drop(server);
        assert_left(&directory, 0);
    }
}
