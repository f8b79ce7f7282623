//! Time and memory of a whole process, and of all that it starts and waits for.
//!
//! The kernel counts the usage of exited children in one sum. So each measured program is the only child of a
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

/// Argument that makes a benchmark the parent of the measured program.
const MEASURE: &str = "--measure";

/// Resource usage of a program and its children.
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
    ///
    /// # Panics
    ///
    /// If there are none.
    #[must_use]
    pub fn median(usages: &[Self]) -> Self {
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

/// Seconds of user and of system time that this process, or its exited children, used so far.
///
/// # Panics
///
/// If the system does not report it.
#[must_use]
pub fn processors(who: UsageWho) -> [f64; 2] {
    let usage = getrusage(who).unwrap();
    [usage.user_time(), usage.system_time()].map(seconds)
}

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

/// Measures a program if this process was started to do that. Returns true if so.
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
    let start = Instant::now();
    let status = command.status().unwrap();
    let wall = start.elapsed().as_secs_f64();
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

/// Runs a command `times` times and returns the median usage. Standard output goes to a file, standard error to a file next to
/// it.
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
    if let Some(directory) = command.get_current_dir() {
        parent.current_dir(directory);
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
