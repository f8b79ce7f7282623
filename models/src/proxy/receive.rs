//! Receives listening sockets from other processes.

use std::{
    io,
    mem::MaybeUninit,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    sync::Arc,
};

use rustix::{
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    process::geteuid,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, Interest},
    net::UnixStream,
    select,
    task::JoinSet,
    time::sleep,
};

use super::{
    accept::{NO_ROOM, accept},
    evaluations::Evaluations,
};

/// Binds an abstract Unix socket.
pub(super) fn bind(name: &str) -> io::Result<UnixListener> {
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Receives and serves listeners until the task is aborted, which ends them.
pub(super) async fn run(socket: UnixListener, registered: Arc<Evaluations>, connections: usize) {
    let Ok(socket) = tokio::net::UnixListener::from_std(socket) else { return };
    let mut sandboxes = JoinSet::new();
    loop {
        while sandboxes.try_join_next().is_some() {}
        match socket.accept().await {
            Ok((stream, _)) => {
                let registered = Arc::clone(&registered);
                sandboxes.spawn(async move {
                    // The sandbox sees the end of the connection, and reports it.
                    let _ = serve(stream, registered, connections).await;
                });
            }
            // The system has no descriptors left.
            Err(_) => sleep(NO_ROOM).await,
        }
    }
}

/// Serves the listener of a sandbox until the sandbox ends.
async fn serve(
    mut stream: UnixStream,
    registered: Arc<Evaluations>,
    connections: usize,
) -> io::Result<()> {
    if stream.peer_cred()?.uid() != geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let listener = loop {
        stream.readable().await?;
        match stream.try_io(Interest::READABLE, || receive(&stream)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => break received?,
        }
    };
    listener.set_nonblocking(true)?;
    stream.write_all(&[0]).await?;
    let mut nothing = [0];
    select! {
        () = accept(listener, registered, connections) => Ok(()),
        // Nothing is sent any more.
        ended = stream.read(&mut nothing) => ended.map(drop),
    }
}

fn receive(stream: &UnixStream) -> io::Result<TcpListener> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let (mut byte, flags) = ([0], RecvFlags::CMSG_CLOEXEC);
    recvmsg(stream, &mut [io::IoSliceMut::new(&mut byte)], &mut message, flags)?;
    let sockets = message.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
        _ => None,
    });
    let socket = sockets.flatten().next();
    socket.map(TcpListener::from).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
