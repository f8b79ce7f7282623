//! Who has sent a line on a socket of a fork server.
//!
//! A server in a sandbox has a process namespace of its own, so it does not know the ids by which this process signals and
//! limits its forks. On Linux the kernel adds the id of the sender to each message (`SCM_CREDENTIALS`), as this process
//! sees it; a program cannot forge it. Elsewhere there are no sandboxes, and ids are those that the server reports.

use std::io;

use rustix::process::Pid;
use tokio::net::UnixStream;

/// Sender of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer(Option<Pid>);

impl Peer {
    /// Returns the id of the sender, which reports that it has the id `reported`.
    pub(super) fn id(self, reported: Pid) -> Pid {
        self.0.unwrap_or(reported)
    }

    /// Returns the id of the sender, if it is a child of the server.
    ///
    /// # Errors
    ///
    /// It is another process, which must not be signalled.
    pub(super) fn child_of(self, server: &Self, reported: Pid) -> Result<Pid, String> {
        match (self.0, server.0) {
            (Some(child), Some(server)) if parent(child) != Some(server) => Err(format!(
                "process {} answers, which is not one of its forks",
                child.as_raw_nonzero()
            )),
            _ => Ok(self.id(reported)),
        }
    }
}

/// Returns the parent of a process; `None` if the process does not exist.
fn parent(process: Pid) -> Option<Pid> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero()));
    let status = status.ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Pid::from_raw(line.trim().parse().ok()?)
}

/// Makes the kernel add the sender to each message that is sent from now on.
pub(super) fn identify_senders(socket: &UnixStream) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_socket_passcred(socket, true)?;
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
    Ok(())
}

/// Reads the next line and its sender; `None` if the other side has closed, or if several processes have written the line.
/// Bytes after it stay in `received`.
pub(super) async fn line(socket: &UnixStream, received: &mut Vec<u8>) -> Option<(String, Peer)> {
    let mut peer = None;
    loop {
        if let (Some(peer), Some(line)) = (peer, take_line(received)) {
            return Some((String::from_utf8_lossy(&line).into_owned(), peer));
        }
        let mut chunk = [0; 512];
        let receive = || receive(socket, &mut chunk);
        let (read, sender) = socket.async_io(tokio::io::Interest::READABLE, receive).await.ok()?;
        if read == 0 || peer.is_some_and(|peer| peer != sender) {
            return None;
        }
        peer = Some(sender);
        received.extend_from_slice(&chunk[..read]);
    }
}

#[cfg(target_os = "linux")]
fn receive(socket: &UnixStream, chunk: &mut [u8]) -> io::Result<(usize, Peer)> {
    use std::{io::IoSliceMut, mem::MaybeUninit};

    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let message = recvmsg(socket, &mut [IoSliceMut::new(chunk)], &mut ancillary, flags)?;
    let sender = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.pid),
        _ => None,
    });
    if message.bytes > 0 && sender.is_none() {
        return Err(io::Error::other("a message without a sender"));
    }
    Ok((message.bytes, Peer(sender)))
}

#[cfg(not(target_os = "linux"))]
fn receive(socket: &UnixStream, chunk: &mut [u8]) -> io::Result<(usize, Peer)> {
    socket.try_read(chunk).map(|read| (read, Peer(None)))
}

/// Takes the first complete line, without its line feed.
pub(super) fn take_line(received: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = received.iter().position(|&byte| byte == b'\n')?;
    let line = received.drain(..=end).take(end).collect();
    Some(line)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn own() -> Pid {
        rustix::process::getpid()
    }

    #[tokio::test]
    async fn a_line_has_its_sender() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        identify_senders(&ours).unwrap();
        theirs.try_write(b"started 1\nmore").unwrap();
        let mut received = Vec::new();
        let (said, sender) = line(&ours, &mut received).await.unwrap();
        assert_eq!((said.as_str(), sender), ("started 1", Peer(Some(own()))));
        assert_eq!(received, b"more");
        drop(theirs);
        received.clear();
        assert_eq!(line(&ours, &mut received).await, None);
    }

    #[test]
    fn only_children_of_the_server_are_accepted() {
        let (this, init) = (Peer(Some(own())), Peer(Pid::from_raw(1)));
        let parent = Peer(rustix::process::getppid());
        assert_eq!(this.child_of(&parent, own()), Ok(own()));
        let error = init.child_of(&this, own()).unwrap_err();
        assert_eq!(error, "process 1 answers, which is not one of its forks");
        let other = Pid::from_raw(77).unwrap();
        assert_eq!(Peer(None).child_of(&Peer(None), other), Ok(other), "nothing is known");
    }

    #[test]
    fn lines_are_taken_one_by_one() {
        let mut received = b"started 1\nexited 0\nrest".to_vec();
        assert_eq!(take_line(&mut received).as_deref(), Some(&b"started 1"[..]));
        assert_eq!(take_line(&mut received).as_deref(), Some(&b"exited 0"[..]));
        assert_eq!((take_line(&mut received), received), (None, b"rest".to_vec()));
    }
}
