//! What it costs to contain a program: its start, beside those of `bwrap` and of a container engine, and whole runs.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use evaluator_sandbox::{Policy, wrap};
use evaluator_tests::bench::{
    measure::{Usage, processors},
    recording, scores,
};
use nix::{
    errno::Errno,
    sys::{prctl::set_child_subreaper, resource::UsageWho, wait::wait},
};

use crate::{
    bench::{Bench, EVALUATORS, in_python},
    saturation,
    table::{self, Table, verdict},
};

/// Starts of each kind, one of every kind in turn.
const STARTS: usize = 200;

/// Starts of containers: each takes most of a second.
const CONTAINERS: usize = 5;

/// Runs of each kind, one of every kind in turn.
const RUNS: usize = 7;

/// Milliseconds of processors that a start may take more than without a sandbox.
const MORE_CPU: f64 = 5.0;

/// Wall time of a start as a multiple of that of `bwrap`.
const BWRAP: f64 = 1.3;

/// Milliseconds of wall time that one evaluation by a Python process may take longer.
const LONGER: f64 = 10.0;

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    starts(table);
    saturation::measure_contained(table);
    one_shot(bench, table);
    let forks = "200 traces, 5 evaluators with the Python SDK, forked";
    if bench.python().is_none() {
        table.add_text([forks, "-", "", "no SDK", "", ""]);
        return;
    }
    pair(bench, table, forks, 200, &EVALUATORS, &|name| in_python(name), 1.15);
}

/// Wall times and processor times of single starts, in milliseconds.
#[derive(Default)]
struct Starts {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Starts {
    fn once(&mut self, command: &mut Command) {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let total = || processors(UsageWho::RUSAGE_CHILDREN).iter().sum::<f64>();
        let (start, before) = (Instant::now(), total());
        let status = command.status().unwrap();
        assert!(status.success(), "{command:?}: {status}");
        self.wall.push(start.elapsed().as_secs_f64() * 1e3);
        wait_for_orphans();
        self.cpu.push((total() - before) * 1e3);
    }

    fn text(&self) -> String {
        let (wall, least, cpu) = (median(&self.wall), least(&self.wall), median(&self.cpu));
        format!("{wall:.1} ms, at best {least:.1} ms, CPU {cpu:.1} ms")
    }
}

/// Waits for processes whose parents ended before them, such as the first process of a sandbox. The processor time of a process
/// counts only once it was waited for.
fn wait_for_orphans() {
    loop {
        match wait() {
            Ok(_) => {}
            Err(Errno::ECHILD) => return,
            Err(error) => panic!("wait: {error}"),
        }
    }
}

/// Measures the start of `/bin/true`.
fn starts(table: &mut Table) {
    set_child_subreaper(true).unwrap();
    let (mut plain, mut ours, mut bwrap) =
        (Starts::default(), Starts::default(), Starts::default());
    let has_bwrap = Command::new("bwrap").arg("--version").stdout(Stdio::null()).status().is_ok();
    for _ in 0..STARTS {
        plain.once(&mut Command::new("/bin/true"));
        ours.once(&mut contained("/bin/true"));
        if has_bwrap {
            bwrap.once(&mut in_bwrap("/bin/true"));
        }
    }
    table.add_text(["start of /bin/true", "-", "", &plain.text(), "", ""]);
    let more = median(&ours.cpu) - median(&plain.cpu);
    table.add_text([
        "start of /bin/true in a sandbox",
        "-",
        &format!("+{MORE_CPU:.0} ms of CPU"),
        &ours.text(),
        &format!("+{more:.1} ms"),
        &verdict(more <= MORE_CPU),
    ]);
    if has_bwrap {
        let ratio = least(&ours.wall) / least(&bwrap.wall);
        table.add_text([
            "the same by bwrap --unshare-all",
            "-",
            &format!("sandbox at best {BWRAP} x"),
            &bwrap.text(),
            &format!("{ratio:.2} x"),
            &verdict(ratio <= BWRAP),
        ]);
    } else {
        table.add_text(["the same by bwrap", "-", "", "not installed", "", ""]);
    }
    container(table, &ours);
    set_child_subreaper(false).unwrap();
}

/// Name of an image that has nothing but `/bin/true`.
const IMAGE: &str = "evaluator-bench:1";

/// Makes the image.
const MAKE_IMAGE: &str = r#"
directory=$(mktemp -d) && mkdir "$directory/bin" && cp "$(command -v busybox)" "$directory/bin/true" &&
tar -C "$directory" -c . | docker import - "$0"
rm -rf "$directory"
docker image inspect "$0"
"#;

/// Measures the start of a container, if an engine runs.
fn container(table: &mut Table, ours: &Starts) {
    let work = "the same by docker run";
    let made = Command::new("sh").args(["-c", MAKE_IMAGE, IMAGE]).output().unwrap();
    if !made.status.success() {
        table.add_text([work, "-", "", "no engine, or no busybox", "", ""]);
        return;
    }
    let mut starts = Starts::default();
    for _ in 0..CONTAINERS {
        let mut docker = Command::new("docker");
        docker.args(["run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL"]);
        starts.once(docker.args([IMAGE, "/bin/true"]));
    }
    let removed = Command::new("docker").args(["rmi", IMAGE]).stdout(Stdio::null()).status();
    assert!(removed.unwrap().success());
    let ratio = median(&starts.wall) / median(&ours.wall);
    let ours = format!("sandbox {ratio:.0} x faster");
    table.add_text([work, "-", "", &starts.text(), &ours, ""]);
}

/// The command in a sandbox, whose helper is this benchmark.
fn contained(program: &str) -> Command {
    let wrapped = wrap(&Policy::default(), Path::new(program), &[], None).unwrap();
    let mut command = Command::new(wrapped.program);
    command.args(wrapped.args);
    command
}

fn in_bwrap(program: &str) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev"]);
    command.args(["--tmpfs", "/tmp"]);
    for path in ["/usr", "/bin", "/lib", "/lib64"] {
        command.args(["--ro-bind-try", path, path]);
    }
    command.arg(program);
    command
}

/// Measures a run whose programs are contained beside the same run without. Wall time decides: the processor time of contained
/// processes that are killed at the end of the run is counted nowhere.
fn pair(
    bench: &Bench,
    table: &mut Table,
    work: &str,
    traces: usize,
    evaluators: &[&str],
    entry: &dyn Fn(&str) -> String,
    most: f64,
) {
    let [plain, ours] = alternate(bench, traces, evaluators, entry);
    let (wall, cpu) = (ours.wall / plain.wall, ours.cpu() / plain.cpu());
    table.add_text([work, "-", "", &table::usage(plain), "", ""]);
    table.add_text([
        "the same in a sandbox",
        "-",
        &format!("{most:.2} x"),
        &table::usage(ours),
        &format!("{wall:.2} x, CPU {cpu:.2} x"),
        &verdict(wall <= most),
    ]);
}

/// Measures evaluations that each start an interpreter.
fn one_shot(bench: &Bench, table: &mut Table) {
    const EVALUATIONS: usize = 50;
    let entry = |_: &str| {
        let file = bench
            .directory
            .write("one-shot.py", "import sys\nsys.stdin.read()\nprint('{\"score\": 1}')\n");
        format!("type: code, path: {file:?}, isolation: process")
    };
    let [plain, ours] = alternate(bench, EVALUATIONS, &["one_shot"], &entry);
    let each = |usage: Usage| usage.wall * 1e3 / EVALUATIONS as f64;
    let longer = each(ours) - each(plain);
    table.add_text([
        "a Python file, a process for each evaluation, in a sandbox",
        "-",
        &format!("+{LONGER:.0} ms"),
        &format!("{:.1} ms, without sandbox {:.1} ms", each(ours), each(plain)),
        &format!("+{longer:.1} ms"),
        &verdict(longer <= LONGER),
    ]);
}

/// Runs the evaluators over that many traces, by turns without and with a sandbox, and returns the medians.
fn alternate(
    bench: &Bench,
    traces: usize,
    evaluators: &[&str],
    entry: &dyn Fn(&str) -> String,
) -> [Usage; 2] {
    let recording = bench.directory.file(&format!("contained-{traces}.json"));
    recording::write_offers(&recording, traces);
    let commands = ["local", "sandbox"].map(|executor| {
        let entry = |name: &str| format!("{}, executor: {executor}", entry(name));
        let name = format!("contained-{traces}-{executor}.yaml");
        let config: PathBuf = bench.configuration(&name, "", evaluators, entry);
        let mut command = bench.evaluator(&[&recording, Path::new("-c"), &config]);
        if let Some(interpreter) = bench.python() {
            command.env("EVALUATOR_PYTHON", interpreter);
        }
        command
    });
    let reports = ["contained-local.json", "contained-sandbox.json"];
    let mut usages = [Vec::new(), Vec::new()];
    // The first round builds and fills caches.
    for round in 0..=RUNS {
        for (index, command) in commands.iter().enumerate() {
            let usage = bench.measure(reports[index], 1, command);
            if round > 0 {
                usages[index].push(usage);
            }
        }
    }
    let [plain, ours] = reports.map(|report| bench.directory.file(report));
    scores::assert_same(&plain, &ours);
    usages.map(|usages| Usage::median(&usages))
}

fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}
