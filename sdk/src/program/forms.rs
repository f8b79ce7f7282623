//! The two forms of evaluation: one document in, one answer out; or with `--stream`, a line for each line.

use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};

use evaluator_protocol::{Answer, ErrorBody, Frame, LinkedEvaluator, Number};
use memchr::memchr;

use super::{
    Choice, answer_document,
    output::{answer_lost, report, say},
};
use crate::{evaluator::Evaluator, exit};

/// Answers one document.
pub(super) fn one_shot(choice: Choice<'_>, out: &mut impl Write) -> u8 {
    let only = choice.only().map(Evaluator::name);
    let document = match read_all() {
        Ok(document) => document,
        Err(error) => {
            report(only, &format!("cannot read standard input: {error}"));
            return exit::INPUT;
        }
    };
    let judged = match answer_document(choice, &document) {
        Ok(judged) => judged,
        Err(failed) => return failed.tell(),
    };
    let line = match judged.to_line() {
        Ok(line) => line,
        Err(error) => {
            report(only, &format!("the result cannot be written as JSON: {error}"));
            return exit::FAILED;
        }
    };
    match out.write_all(&line).and_then(|()| out.flush()) {
        Ok(()) => exit::ANSWERED,
        Err(error) => answer_lost(only, &error),
    }
}

/// Reads all of standard input. At a terminal, prints what the program is waiting for.
pub(super) fn read_all() -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        say("waiting for one JSON document on standard input, ended by Ctrl-D (see --help)\n");
    }
    // Most documents fit, and growing from nothing would take a system call for every doubling.
    let mut document = Vec::with_capacity(16 << 10);
    stdin.read_to_end(&mut document)?;
    Ok(document)
}

/// Reads standard input to its end for nothing: a host that is still writing might die of the broken pipe. There is
/// nothing to be drained from a terminal.
pub(super) fn drain() {
    let mut stdin = io::stdin().lock();
    if !stdin.is_terminal() {
        // Errors are ignored, since nothing is needed from the input.
        let _ = io::copy(&mut stdin, &mut io::sink());
    }
}

/// Answers one document per line, in order. The number of a document precedes its answer.
pub(super) fn stream(choice: Choice<'_>, out: &mut impl Write) -> u8 {
    let stdin = io::stdin().lock();
    if stdin.is_terminal() {
        say(
            "waiting for JSON documents on standard input, one per line, ended by Ctrl-D (see --help)\n",
        );
    }
    let only = choice.only().map(Evaluator::name);
    match serve(choice, stdin, out) {
        Ok(()) => exit::ANSWERED,
        Err(Broken::Input(error)) => {
            report(only, &format!("cannot read standard input: {error}"));
            exit::INPUT
        }
        // The rest of the input is not drained: if the answers are not read, the writer has to stop as well.
        Err(Broken::Answer(error)) => answer_lost(only, &error),
    }
}

/// The end of a stream that failed.
#[derive(Debug)]
enum Broken {
    Input(io::Error),
    Answer(io::Error),
}

fn serve(choice: Choice<'_>, input: impl Read, out: &mut impl Write) -> Result<(), Broken> {
    let mut input = BufReader::with_capacity(128 << 10, input);
    let mut line = Vec::new();
    loop {
        // Answers may wait for company, and documents stay where they are, as long as there is another whole line.
        while let Some(end) = memchr(b'\n', input.buffer()) {
            answer_line(choice, &input.buffer()[..end], out)?;
            input.consume(end + 1);
        }
        // From here on the host may be waiting for the answers before it sends more.
        out.flush().map_err(Broken::Answer)?;
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(Broken::Input)? == 0 {
            return Ok(());
        }
        answer_line(choice, &line, out)?;
    }
}

/// Answers a line. Answers to numbered lines are flushed at once: if the next document ends this program, the host must not
/// blame this one.
fn answer_line(choice: Choice<'_>, line: &[u8], out: &mut impl Write) -> Result<(), Broken> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    #[cfg(feature = "target")]
    if crate::offered::offer(line) {
        return Ok(());
    }
    let Some((number, document)) = Number::split(line) else {
        return out.write_all(&answer_text(choice, line)).map_err(Broken::Answer);
    };
    say(&number.mark());
    #[cfg(feature = "target")]
    let _offered = crate::offered::of_document(number);
    let judged = answer_document(choice, document).map_err(|failed| {
        let mut body = failed.failure.to_body();
        body.exit_code = Some(failed.tell());
        body
    });
    // Output of the evaluator precedes the answer. If it cannot be written, the answer is not affected.
    let _ = io::stdout().flush();
    let mut text = format!("{number} ").into_bytes();
    text.extend(text_of(judged).unwrap_or_else(|mut body| {
        report(choice.only().map(Evaluator::name), &body.message);
        body.exit_code = Some(exit::FAILED);
        unwritable(body)
    }));
    out.write_all(&text).and_then(|()| out.flush()).map_err(Broken::Answer)
}

/// Returns the line that answers a document without a number.
fn answer_text(choice: Choice<'_>, document: &[u8]) -> Vec<u8> {
    let judged = answer_document(choice, document).map_err(|failed| failed.failure.to_body());
    text_of(judged).unwrap_or_else(unwritable)
}

fn text_of(judged: Result<Answer, ErrorBody>) -> Result<Vec<u8>, ErrorBody> {
    let line = match judged {
        Ok(answer) => answer.to_line(),
        Err(body) => Frame::Error(body).to_line(),
    };
    line.map_err(|error| {
        ErrorBody::new("answer", format!("the result cannot be written as JSON: {error}"))
    })
}

fn unwritable(body: ErrorBody) -> Vec<u8> {
    // Two strings and a number can always be written.
    Frame::Error(body).to_line().unwrap_or_default()
}

/// A host that is linked with evaluators runs them without a process of their own.
impl LinkedEvaluator for Evaluator {
    fn name(&self) -> &str {
        (*self).name()
    }

    fn description(&self) -> String {
        self.description()
    }

    fn answer(&self, document: &[u8]) -> Vec<u8> {
        answer_text(Choice::one(self), document)
    }
}
