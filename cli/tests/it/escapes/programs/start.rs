//! Starts a program and returns its answer.

use std::{
    io::Write,
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
};

/// Returns the last line of a program. One that was killed, or wrote megabytes of something else, is contained.
pub fn answer(program: &str, document: &str) -> String {
    let mut command = match program.rsplit('.').next() {
        Some("py") => Command::new("PYTHON"),
        Some("js") => Command::new("node"),
        Some("sh") => Command::new("sh"),
        _ => Command::new(program),
    };
    if program.ends_with(".py") || program.ends_with(".js") || program.ends_with(".sh") {
        command.arg(program);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // It need not read its input.
    let _ = child.stdin.take().unwrap().write_all(document.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some(line) = text.lines().last().filter(|line| line.starts_with('{')) {
        return line.to_owned();
    }
    let escaped = output.status.signal().is_none() && text.len() < 1 << 20;
    let what = output.status;
    format!("{{\"score\": 1.0, \"details\": {{\"escaped\": {escaped}, \"what\": \"{what}\"}}}}")
}
