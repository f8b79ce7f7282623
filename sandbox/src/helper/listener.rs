//! The listening socket that the host serves.
//!
//! It is made in the network namespace of the sandbox and accepted from outside: a socket stays in the namespace in which it
//! was made, whichever process uses it. The program never has it.

use std::{
    io::{self, IoSlice, Read},
    net::{Ipv4Addr, SocketAddrV4},
    os::{
        fd::{AsFd, OwnedFd},
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixStream},
    },
};

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    bind, listen, sendmsg, socket_with, sockopt::set_socket_recv_buffer_size,
};

use crate::{
    order::{During, Failure, Step},
    os,
    policy::Listener,
};

/// Maximum number of connections that the host has not accepted yet.
const BACKLOG: i32 = 128;

/// Bytes of a connection that the kernel keeps for the host. By default it would keep megabytes of each, which no limit
/// counts.
const RECEIVE_BUFFER: usize = 128 << 10;

/// A connection to the host's receiver of listening sockets.
pub(super) struct HandOver {
    connection: UnixStream,
    port: u16,
}

impl HandOver {
    pub(super) fn connect(listener: &Listener) -> Result<Self, Failure> {
        let connection = SocketAddr::from_abstract_name(&listener.socket)
            .and_then(|address| UnixStream::connect_addr(&address));
        let action = || format!("connect to the host (socket {})", listener.socket);
        let connection = connection.during(Step::Listener, action)?;
        Ok(Self { connection, port: listener.port })
    }

    /// Listens in the network namespace of this process, and sends the socket.
    pub(super) fn send(&self) -> Result<(), Failure> {
        let step = Step::Listener;
        let socket = listen_on(self.port)
            .during(step, || format!("listen on port {} of the sandbox", self.port))?;
        hand_over(&self.connection, &socket)
            .during(step, || "hand its listening socket to the host".to_owned())
    }

    /// Waits until the host listens.
    pub(super) fn confirm(&self) -> Result<(), Failure> {
        let action = || "hand its listening socket to the host, which refused it".to_owned();
        (&self.connection).read_exact(&mut [0]).during(Step::Listener, action)
    }
}

/// Without `SO_REUSEADDR` and `SO_REUSEPORT`, no other socket can be bound to the same port.
fn listen_on(port: u16) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    os::bring_up_loopback(&socket)?;
    set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

fn hand_over(connection: &UnixStream, socket: &OwnedFd) -> io::Result<()> {
    let sockets = [socket.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(io::Error::other("no space for a descriptor"));
    }
    sendmsg(connection, &[IoSlice::new(&[0])], &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}
