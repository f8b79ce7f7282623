//! Processes that a server has forked.

use std::io::ErrorKind;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::UnixStream;

use super::peer::take_line;
use crate::process::{Ending, os::Identified, outcome::NOT_ENDED, spawn::Registered};

/// Maximum length of a line of the server.
pub(super) const LINE: usize = 4096;

/// A forked process, and the socket on which the server reports its end.
///
/// As long as the socket is open, the server does not reap the process, so the ids of the process and of its group are
/// valid.
#[derive(Debug)]
pub(in super::super) struct Forked {
    pub(super) leader: Pid,
    /// Identifies the process even if the server is gone and any process may have reaped it.
    pub(super) identified: Option<Identified>,
    /// Keeps the process registered while its id is valid; dropped before the socket is closed, which has the process
    /// reaped.
    pub(super) listed: Option<Registered>,
    /// `None` once the process may be reaped.
    pub(super) status: Option<UnixStream>,
    /// Bytes that the server has sent after the start.
    pub(super) received: Vec<u8>,
    pub(super) ending: Option<Ending>,
    /// True if the server died first.
    pub(super) orphan: bool,
    /// True if the server runs code that may reap the process at any time.
    pub(super) contained: bool,
}

impl Forked {
    pub(in super::super) fn is_contained(&self) -> bool {
        self.contained
    }

    /// Returns when the process is dead, or when its end cannot be reported any more. Cancel safe.
    pub(in super::super) async fn exited(&mut self) {
        while !self.has_exited() {
            let Some(status) = &self.status else { return };
            if status.readable().await.is_err() {
                self.lose();
            }
        }
    }

    /// Returns true if the process is dead, or if its end cannot be reported any more.
    fn has_exited(&mut self) -> bool {
        while self.ending.is_none() {
            if let Some(line) = take_line(&mut self.received) {
                match ending(&line) {
                    Some(ending) => self.ending = Some(ending),
                    None => self.lose(),
                }
                break;
            }
            let Some(status) = &self.status else { break };
            let mut chunk = [0; 256];
            match status.try_read(&mut chunk) {
                Ok(0) => self.lose(),
                Ok(read) if self.received.len() + read > LINE => self.lose(),
                Ok(read) => self.received.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.lose(),
            }
        }
        true
    }

    /// Sends `SIGTERM` to the group.
    pub(in super::super) fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Kills the group.
    pub(in super::super) fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    /// Kills the group, has the process reaped and returns how it ended.
    pub(in super::super) fn reap(&mut self) -> Ending {
        self.has_exited();
        self.kill();
        self.listed = None;
        self.status = None;
        self.ending.clone().unwrap_or_else(|| Ending::Lost { reason: NOT_ENDED.to_owned() })
    }

    fn lose(&mut self) {
        // Any process may reap it now.
        self.listed = None;
        self.orphan = true;
        let reason = "the interpreter that it was forked from has died".to_owned();
        self.ending = Some(Ending::Lost { reason });
    }

    fn signal(&mut self, signal: Signal) {
        if self.status.is_none() {
            return;
        }
        // This also checks whether the server is still there.
        self.has_exited();
        // The id of an orphan is valid only as long as the orphan lives. What a dead leader leaves in a sandbox is killed by the
        // server.
        if (self.orphan || self.contained)
            && !self.identified.as_ref().is_some_and(Identified::lives)
        {
            return;
        }
        // It fails if only the zombie of the leader is left, or if all members changed their user. The following wait
        // is bounded.
        let _ = kill_process_group(self.leader, signal);
    }
}

/// Parses how the server reports the end of a process.
fn ending(line: &[u8]) -> Option<Ending> {
    let (how, number) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let number = number.parse().ok()?;
    match how {
        "exited" => Some(Ending::Exited(number)),
        "killed" => Some(Ending::Signalled(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_says_how_a_process_ended() {
        assert_eq!(ending(b"exited 3"), Some(Ending::Exited(3)));
        assert_eq!(ending(b"killed 11"), Some(Ending::Signalled(11)));
        for nonsense in [&b"exited"[..], b"exited x", b"started 3", b"", b"\xff 3"] {
            assert_eq!(ending(nonsense), None);
        }
    }
}
