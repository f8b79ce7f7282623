//! The commands of the pages: blocks of `console` are run, and print what the page says.
//!
//! All blocks of a page run in one temporary directory, in their order. A block below `<!-- file: NAME -->` is written to that
//! file first. A command begins with `$ `, its other lines with `> `. The lines below it are
//! everything that it prints, `[..]` for any text in a line, `...` for any lines; without lines, its output does not matter.
//! Durations, and the widths of columns, may differ. A command that fails is followed by `$ echo $?`.
//!
//! `evaluator serve .. &` runs until the page has `kill %1`, or ends. It gets a free port instead of the one on the page; the
//! lines below it are printed until it listens.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "this is what is tested")]

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _},
    iter,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use evaluator_test_support::{TestDirectory, has, run};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use regex_lite::Regex;
use snapbox::Assert;

use crate::{markdown, root};

/// Programs that commands of the pages need.
const PROGRAMS: [&str; 3] = ["python3", "node", "curl"];

/// Address of servers on the pages, without its port.
const HOST: &str = "http://127.0.0.1:";
/// Port of servers on the pages.
const PORT: &str = "8700";

/// A block of code with the text behind its fence, and the name of its file.
struct Block {
    info: String,
    file: Option<String>,
    code: String,
}

/// A command and the lines below it.
#[derive(Default)]
struct Step {
    command: String,
    expected: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut file = None;
    let mut is_inside = false;
    for event in Parser::new(text) {
        match event {
            Event::Html(comment) => {
                let name = comment.strip_prefix("<!-- file: ");
                file =
                    name.and_then(|name| name.trim_end().strip_suffix(" -->")).map(str::to_owned);
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                is_inside = true;
                let (info, file) = (info.into_string(), file.take());
                blocks.push(Block { info, file, code: String::new() });
            }
            Event::End(TagEnd::CodeBlock) => is_inside = false,
            Event::Text(part) if is_inside => blocks.last_mut().unwrap().code.push_str(&part),
            _ => {}
        }
    }
    blocks
}

fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        let last = steps.last_mut();
        match (line.strip_prefix("$ "), last) {
            (Some(command), _) => {
                steps.push(Step { command: command.to_owned(), ..Step::default() });
            }
            (None, Some(step)) => match line.strip_prefix("> ") {
                Some(more) if step.expected.is_empty() => step.command += &format!("\n{more}"),
                _ => step.expected += &format!("{line}\n"),
            },
            (None, None) => panic!("a block of commands begins with `$ `: {line}"),
        }
    }
    steps
}

/// A running `evaluator serve`, killed on drop.
struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    port: String,
}

impl Server {
    /// Starts a server, and returns what it printed until it listens.
    fn start(mut command: Command) -> Result<(Self, String), String> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, output, port: String::new() };
        let mut printed = String::new();
        while server.port.is_empty() {
            let start = printed.len();
            if server.output.read_line(&mut printed).unwrap() == 0 {
                return Err(printed);
            }
            let address = printed[start..].split_once(HOST).map_or("", |(_, rest)| rest);
            server.port = address.chars().take_while(char::is_ascii_digit).collect();
        }
        let printed = server.as_on_page(&printed);
        Ok((server, printed))
    }

    fn as_on_page(&self, text: &str) -> String {
        text.replace(&format!("{HOST}{}", self.port), &format!("{HOST}{PORT}"))
    }

    /// Ends the server as `kill` does. Returns its exit code, and what it printed since it was started.
    fn stop(mut self) -> (i32, String) {
        run(Command::new("kill").arg(self.child.id().to_string())).exits(0);
        let mut printed = String::new();
        self.output.read_to_string(&mut printed).unwrap();
        (self.child.wait().unwrap().code().unwrap(), self.as_on_page(&printed))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the commands of a page in a directory of its own.
struct Session {
    directory: TestDirectory,
    /// Exit code of the last command.
    code: i32,
    server: Option<Server>,
}

impl Session {
    fn new() -> Self {
        let directory = TestDirectory::new();
        symlink(root().join("examples"), directory.join("examples")).unwrap();
        Self { directory, code: 0, server: None }
    }

    /// Runs a command. Returns what it printed, in the order of a terminal.
    fn run(&mut self, command: &str) -> String {
        if let Some(serve) = command.strip_suffix(" &") {
            return self.serve(serve);
        }
        if command == "kill %1" {
            let (code, printed) = self.server.take().expect("a server runs").stop();
            self.code = code;
            return printed;
        }
        let command = match &self.server {
            Some(server) => {
                command.replace(&format!("{HOST}{PORT}"), &format!("{HOST}{}", server.port))
            }
            None => command.to_owned(),
        };
        let ran = run(&mut self.shell(&format!("(exit {})\n{command}", self.code)));
        self.code = ran.code.unwrap();
        self.lock_packages();
        ran.stdout
    }

    /// Starts a server. Returns what it printed until it listens.
    fn serve(&mut self, command: &str) -> String {
        assert!(self.server.is_none(), "the page has to stop its first server: `$ kill %1`");
        let options = command.strip_prefix("evaluator serve").expect("only servers are started");
        let started =
            Server::start(self.shell(&format!("exec evaluator serve --addr 127.0.0.1:0{options}")));
        self.code = i32::from(started.is_err());
        match started {
            Ok((server, printed)) => {
                self.server = Some(server);
                printed
            }
            Err(printed) => printed,
        }
    }

    /// Returns a shell that runs a script in the directory of the page, with one pipe for all output.
    fn shell(&self, script: &str) -> Command {
        let programs = Path::new(env!("CARGO_BIN_EXE_evaluator")).parent().unwrap();
        let path = env::var("PATH").unwrap();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("exec 2>&1\n{script}")])
            .current_dir(self.directory.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .env(
                "CARGO_TARGET_DIR",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("evaluators/target"),
            )
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TERM_QUIET", "true")
            .env_remove("EVALUATOR_PYTHON");
        shell
    }

    /// Gives new packages the versions of this workspace, which are on this machine; others may not be.
    fn lock_packages(&self) {
        for entry in fs::read_dir(self.directory.path()).unwrap() {
            let entry = entry.unwrap();
            let package = entry.path();
            // The link to the examples is not a package of the page.
            let is_own = entry.file_type().unwrap().is_dir();
            if is_own && package.join("Cargo.toml").exists() && !package.join("Cargo.lock").exists()
            {
                fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
            }
        }
    }
}

/// Runs a page. Returns the number of its commands, or the first problem.
fn walk(page: &Path) -> Result<usize, String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let blocks = blocks(&text);
    if !blocks.iter().any(|block| block.info == "console") {
        return Ok(0);
    }
    let mut session = Session::new();
    let mut count = 0;
    for block in blocks {
        if let Some(file) = block.file {
            session.directory.file(&file, &block.code);
        } else if block.info == "console" {
            let steps = steps(&block.code);
            for (index, step) in steps.iter().enumerate() {
                count += 1;
                check(page, &mut session, step, steps.get(index + 1))?;
            }
        }
    }
    Ok(count)
}

/// Returns output in a form that does not depend on the speed and the directories of this machine.
fn normalized(output: &str, directory: &Path) -> String {
    let output = output
        .replace(directory.to_str().unwrap(), "~/project")
        .replace(root().to_str().unwrap(), "~/evaluator");
    let duration = Regex::new(r"\b\d+(\.\d+)?( ms|ms| s|s)\b").unwrap();
    let output = duration.replace_all(&output, "1ms");
    let widths = Regex::new(r"  +|---+").unwrap();
    let lines = output.lines().map(|line| widths.replace_all(line, "  ").trim_end().to_owned());
    lines.map(|line| line + "\n").collect()
}

fn check(
    page: &Path,
    session: &mut Session,
    step: &Step,
    next: Option<&Step>,
) -> Result<(), String> {
    let printed = session.run(&step.command);
    let place = format!("{}: $ {}", page.display(), step.command);
    if session.code != 0 && next.is_none_or(|next| !next.command.contains("$?")) {
        return Err(format!("{place}\nends with {}:\n{printed}", session.code));
    }
    if step.expected.is_empty() {
        return Ok(());
    }
    let directory = session.directory.path();
    let [actual, expected] = [&printed, &step.expected].map(|text| normalized(text, directory));
    let result = Assert::new().try_eq(Some(&place), actual.into(), expected.into());
    result.map_err(|difference| format!("{difference}\nit printed:\n{printed}"))
}

/// Runs pages, and checks that there are at least so many commands.
fn walk_all(pages: &[PathBuf], least: usize) {
    if !PROGRAMS.iter().all(|program| has(program)) {
        return;
    }
    let next = AtomicUsize::new(0);
    let walk_some = || -> Vec<_> {
        let mine = iter::from_fn(|| pages.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(|page| walk(page)).collect()
    };
    let walked: Vec<_> = thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(walk_some)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let (counts, problems): (Vec<_>, Vec<_>) = walked.into_iter().partition(Result::is_ok);
    let problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    let count: usize = counts.into_iter().flatten().sum();
    assert!(count >= least, "only {count} commands were found");
}

#[test]
fn commands_of_the_readme_print_what_it_says() {
    walk_all(&["README.md".into()], 5);
}

#[test]
fn commands_of_the_start_print_what_the_pages_say() {
    walk_all(&markdown("docs/start"), 15);
}

#[test]
fn commands_of_the_guides_print_what_the_pages_say() {
    walk_all(&markdown("docs/guides"), 20);
}

#[test]
fn commands_of_other_pages_print_what_the_pages_say() {
    let covered = ["docs/start", "docs/guides"];
    let is_other = |page: &PathBuf| !covered.iter().any(|directory| page.starts_with(directory));
    walk_all(&markdown("docs").into_iter().filter(is_other).collect::<Vec<_>>(), 0);
}
