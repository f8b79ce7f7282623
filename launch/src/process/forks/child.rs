//! A forked process: the server's child, under our supervision.

use std::io::ErrorKind;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::UnixStream;

use crate::process::{Ending, group::NOT_ENDED, living::Listed, os::Identified};

/// A line of the server is not longer than this.
const LINE: usize = 4096;

/// A process that a server has forked, and the socket on which it says what became of it.
///
/// As long as the socket is open, the server leaves the process unreaped, so its number and that of its group are its own.
#[derive(Debug)]
pub(in super::super) struct Forked {
    leader: Pid,
    /// Names the process even when the server is gone and anybody may have reaped it.
    identified: Option<Identified>,
    /// As long as its number is its own: dropped before the socket is closed, which has it reaped.
    listed: Option<Listed>,
    /// `None` once the process may be reaped.
    status: Option<UnixStream>,
    received: Vec<u8>,
    ending: Option<Ending>,
    /// The server died first.
    orphan: bool,
}

impl Forked {
    /// A process that has been started. `received` is what the server has said after that.
    pub(super) fn new(
        (leader, listed): (Pid, Listed),
        status: UnixStream,
        received: Vec<u8>,
    ) -> Self {
        Self {
            leader,
            identified: Identified::new(leader),
            status: Some(status),
            received,
            ending: None,
            orphan: false,
            listed: Some(listed),
        }
    }

    /// Returns when the process is dead, or nobody is left to say so. Cancel safe.
    pub(in super::super) async fn exited(&mut self) {
        while !self.has_exited() {
            let Some(status) = &self.status else { return };
            if status.readable().await.is_err() {
                self.lose();
            }
        }
    }

    /// Whether the process is dead, or nobody is left to say so.
    pub(in super::super) fn has_exited(&mut self) -> bool {
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

    /// Asks the group to end.
    pub(in super::super) fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Ends the group.
    pub(in super::super) fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    /// Ends the group, has the process reaped and says how it ended.
    pub(in super::super) fn reap(&mut self) -> Ending {
        self.has_exited();
        self.kill();
        self.listed = None;
        self.status = None;
        self.ending.clone().unwrap_or_else(|| Ending::Lost { reason: NOT_ENDED.to_owned() })
    }

    fn lose(&mut self) {
        // Anybody may reap it now.
        self.listed = None;
        self.orphan = true;
        let reason = "the interpreter that it was forked from has died".to_owned();
        self.ending = Some(Ending::Lost { reason });
    }

    fn signal(&mut self, signal: Signal) {
        if self.status.is_none() {
            return;
        }
        // Also finds out whether the server is still there.
        self.has_exited();
        // An orphan's number is its own only as long as it lives; what it has left behind is out of reach then.
        if self.orphan && !self.identified.as_ref().is_some_and(Identified::lives) {
            return;
        }
        // It can fail when no member is left but the zombie of the leader, or when all of them changed their user.
        // Neither can be helped, and the wait that follows is bounded.
        let _ = kill_process_group(self.leader, signal);
    }
}

/// How a process ended, in the words of the server.
fn ending(line: &[u8]) -> Option<Ending> {
    let (how, number) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let number = number.parse().ok()?;
    match how {
        "exited" => Some(Ending::Exited(number)),
        "killed" => Some(Ending::Signalled(number)),
        _ => None,
    }
}

/// The first complete line, without its line feed.
pub(super) fn take_line(received: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = received.iter().position(|&byte| byte == b'\n')?;
    let line = received.drain(..=end).take(end).collect();
    Some(line)
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

    #[test]
    fn lines_are_taken_one_by_one() {
        let mut received = b"started 1\nexited 0\nrest".to_vec();
        assert_eq!(take_line(&mut received).as_deref(), Some(&b"started 1"[..]));
        assert_eq!(take_line(&mut received).as_deref(), Some(&b"exited 0"[..]));
        assert_eq!((take_line(&mut received), received), (None, b"rest".to_vec()));
    }
}
