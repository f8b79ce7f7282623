//! Time and memory of a whole process, and of all that it starts and waits for.
//!
//! The kernel counts what ended children used, all of them together. So each measured program is the only child of a
//! process of its own: the benchmark, started again.

use std::{
    env,
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};

/// The argument that makes a benchmark the parent of what is measured.
const MEASURE: &str = "--measure";

/// What a program used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Seconds from start to end.
    pub wall: f64,
    /// Seconds of processors in the program, and in those it started.
    pub user: f64,
    /// Seconds of processors in the kernel, likewise.
    pub system: f64,
    /// Most memory that one of its processes had at a time, in MB.
    pub peak: f64,
}

impl Usage {
    /// Seconds of processors.
    #[must_use]
    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }

    /// The median of each number by itself.
    fn median(usages: &[Self]) -> Self {
        let median = |number: fn(&Self) -> f64| {
            let mut numbers: Vec<f64> = usages.iter().map(number).collect();
            numbers.sort_by(f64::total_cmp);
            numbers[numbers.len() / 2]
        };
        Self {
            wall: median(|usage| usage.wall),
            user: median(|usage| usage.user),
            system: median(|usage| usage.system),
            peak: median(|usage| usage.peak),
        }
    }
}

/// What this process, or its children that ended, used so far: seconds of user and of system time.
///
/// # Panics
///
/// If the system does not tell.
#[must_use]
pub fn processors(who: UsageWho) -> [f64; 2] {
    let usage = getrusage(who).unwrap();
    [usage.user_time(), usage.system_time()].map(seconds)
}

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

/// Measures if this process was started to do that; says whether it was.
///
/// # Panics
///
/// If the program cannot be run, is killed, or ends as if something had broken.
#[must_use]
pub fn is_measuring() -> bool {
    let arguments: Vec<_> = env::args_os().collect();
    let [_, first, output, program, rest @ ..] = arguments.as_slice() else { return false };
    if first != MEASURE {
        return false;
    }
    let errors = Path::new(output).with_extension("stderr");
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null());
    command.stdout(File::create(output).unwrap()).stderr(File::create(&errors).unwrap());
    let begun = Instant::now();
    let status = command.status().unwrap();
    let wall = begun.elapsed().as_secs_f64();
    // 1 is an agent that failed: an answer like any other.
    assert!(
        status.code().is_some_and(|code| code <= 1),
        "{command:?}: {status}\n{}",
        fs::read_to_string(errors).unwrap_or_default()
    );
    let [user, system] = processors(UsageWho::RUSAGE_CHILDREN);
    // Linux counts in kilobytes.
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss() as f64 * 1024.0 / 1e6;
    println!("{wall} {user} {system} {peak}");
    true
}

/// Runs a command so many times; the medians. What it prints goes to a file, and that of standard error to one beside it.
///
/// # Panics
///
/// If it cannot be run, is killed, or ends as if something had broken.
#[must_use]
pub fn measure(times: usize, output: &Path, command: &Command) -> Usage {
    let usages: Vec<Usage> = (0..times).map(|_| once(output, command)).collect();
    Usage::median(&usages)
}

fn once(output: &Path, command: &Command) -> Usage {
    let mut parent = Command::new(env::current_exe().unwrap());
    parent.arg(MEASURE).arg(output).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        parent.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => parent.env(name, value),
            None => parent.env_remove(name),
        };
    }
    let measured = parent.stderr(Stdio::inherit()).output().unwrap();
    let text = String::from_utf8(measured.stdout).unwrap();
    let numbers: Vec<f64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [wall, user, system, peak] = numbers[..] else { panic!("{command:?} was not measured") };
    Usage { wall, user, system, peak }
}
