//! Standard input.

use std::io::{self, IsTerminal, Read};

use super::say;

/// All of standard input. A person who started the program by hand is told what it waits for.
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
        // What cannot be read need not be drained.
        let _ = io::copy(&mut stdin, &mut io::sink());
    }
}
