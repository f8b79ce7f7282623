//! Time and memory of a whole process.
//!
//! The kernel counts what ended children used, all of them together. So each measured program is the only child of a
//! process of its own: this benchmark, started again.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// The argument that makes this benchmark the parent of what is measured.
const MEASURE: &str = "--measure";

/// What a process used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Seconds of processors in the program.
    pub(crate) user: f64,
    /// Seconds of processors in the kernel.
    pub(crate) system: f64,
    /// Most memory at a time, in MB.
    pub(crate) peak: f64,
}

/// Measures if this process was started to do that; says whether it was.
pub(crate) fn is_measuring() -> bool {
    let arguments: Vec<_> = std::env::args_os().collect();
    let [_, first, output, program, rest @ ..] = arguments.as_slice() else { return false };
    if first != MEASURE {
        return false;
    }
    let output: Stdio = std::fs::File::create(output).unwrap().into();
    let begun = Instant::now();
    let mut command = Command::new(program);
    let status = command.args(rest).stdout(output).stderr(Stdio::null()).status().unwrap();
    let wall = begun.elapsed().as_secs_f64();
    assert!(status.code().is_some(), "{program:?}: {status}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    // Linux counts in kilobytes.
    let peak = usage.max_rss() as f64 * 1024.0 / 1e6;
    println!("{wall} {} {} {peak}", seconds(usage.user_time()), seconds(usage.system_time()));
    true
}

/// Runs a program so many times; the run with the median wall time. Standard output goes to a file.
pub(crate) fn measure(times: usize, output: &Path, program: &Path, arguments: &[&str]) -> Usage {
    let mut usages: Vec<Usage> = (0..times)
        .map(|_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.arg(MEASURE).arg(output).arg(program).args(arguments);
            let measured = command.stderr(Stdio::inherit()).output().unwrap();
            let text = String::from_utf8(measured.stdout).unwrap();
            let numbers: Vec<f64> =
                text.split_whitespace().map(|number| number.parse().unwrap()).collect();
            let [wall, user, system, peak] = numbers[..] else { panic!("{program:?}: {text}") };
            Usage { wall, user, system, peak }
        })
        .collect();
    usages.sort_by(|a, b| a.wall.total_cmp(&b.wall));
    usages[usages.len() / 2]
}
