//! The commands of the pages: blocks of `console` are run, and print what the page says.
//!
//! All blocks of a page run in one temporary directory, in their order. A block of another language with `file=NAME` behind
//! the language is written to that file first. A command begins with `$ `, its other lines with `> `. The lines below it are
//! everything that it prints, `[..]` for any text in a line, `...` for any lines; without lines, its output does not matter.
//! Durations, and the widths of columns, may differ. A command that fails is followed by `$ echo $?`.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "this is what is tested")]

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use evaluator_test_support::{TestDirectory, has, run};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use regex_lite::Regex;
use snapbox::Assert;

use crate::{markdown, root};

/// Programs that commands of the pages need.
const PROGRAMS: [&str; 2] = ["python3", "node"];

/// A block of code with the text behind its fence.
struct Block {
    info: String,
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
    let mut is_inside = false;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                is_inside = true;
                blocks.push(Block { info: info.into_string(), code: String::new() });
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

/// Runs the commands of a page in a directory of its own.
struct Session {
    directory: TestDirectory,
    /// Exit code of the last command.
    code: i32,
}

impl Session {
    fn new() -> Self {
        let directory = TestDirectory::new();
        symlink(root().join("examples"), directory.join("examples")).unwrap();
        Self { directory, code: 0 }
    }

    /// Runs a command. Returns what it printed, in the order of a terminal.
    fn run(&mut self, command: &str) -> String {
        let programs = Path::new(env!("CARGO_BIN_EXE_evaluator")).parent().unwrap();
        let path = env::var("PATH").unwrap();
        let script = format!("exec 2>&1\n(exit {})\n{command}", self.code);
        let ran = run(Command::new("sh")
            .args(["-c", &script])
            .current_dir(self.directory.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("templates"))
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TERM_QUIET", "true")
            .env_remove("EVALUATOR_PYTHON"));
        self.code = ran.code.unwrap();
        self.lock_packages();
        ran.stdout
    }

    /// Gives new packages the versions of this workspace, which are on this machine; others may not be.
    fn lock_packages(&self) {
        for entry in fs::read_dir(self.directory.path()).unwrap() {
            let package = entry.unwrap().path();
            if package.join("Cargo.toml").exists() && !package.join("Cargo.lock").exists() {
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
        let file = block.info.split_whitespace().find_map(|part| part.strip_prefix("file="));
        if let Some(file) = file {
            session.directory.file(file, &block.code);
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

#[test]
fn commands_print_what_the_pages_say() {
    if !PROGRAMS.iter().all(|program| has(program)) {
        return;
    }
    let mut pages: Vec<PathBuf> = markdown("docs");
    pages.push("README.md".into());
    let (counts, problems): (Vec<_>, Vec<_>) =
        pages.iter().map(|page| walk(page)).partition(Result::is_ok);
    let problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    let count: usize = counts.into_iter().flatten().sum();
    assert!(count > 20, "only {count} commands were found");
}
