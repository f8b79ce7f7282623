//! Proxies at listeners that other processes hand over.
#![cfg(target_os = "linux")]

use std::{
    io::{self, IoSlice, Read as _},
    mem::MaybeUninit,
    net::TcpListener,
    os::{
        fd::AsFd as _,
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixStream},
    },
    sync::Arc,
    thread,
};

use evaluator_models::{ProxyServer, SharedListener, receiver_name};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::proxy::{head, late, offer, send};

/// A sandbox with a listener.
struct Sandbox {
    connection: UnixStream,
    address: String,
}

impl Sandbox {
    fn start(receiver: &str, listener: TcpListener) -> io::Result<Self> {
        let address = SocketAddr::from_abstract_name(receiver)?;
        let mut connection = UnixStream::connect_addr(&address)?;
        let sockets = [listener.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        assert!(message.push(SendAncillaryMessage::ScmRights(&sockets)));
        sendmsg(&connection, &[IoSlice::new(&[0])], &mut message, SendFlags::NOSIGNAL)?;
        connection.read_exact(&mut [0])?;
        Ok(Self { connection, address: listener.local_addr()?.to_string() })
    }

    fn info(&self, token: &str) -> u16 {
        send(&self.address, head("GET /info", token, 0).as_bytes()).unwrap().0
    }
}

/// A receiver, and two sandboxes. A port of the host stands for the port in both.
fn start(server: &ProxyServer) -> (SharedListener, Sandbox, Sandbox) {
    let [first, second] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let name = receiver_name().unwrap();
    let port = first.local_addr().unwrap().port();
    let receiver = server.receive(&name, port, 1).unwrap();
    let [first, second] = [first, second].map(|it| Sandbox::start(&name, it).unwrap());
    (receiver, first, second)
}

#[test]
fn a_token_opens_its_evaluation_at_every_listener_until_it_ends() {
    let server = ProxyServer::start().unwrap();
    let (receiver, first, second) = start(&server);
    let [one, other] = [(); 2].map(|()| receiver.open(Arc::new(offer(9))).unwrap());
    assert_eq!((one.url(), other.url()), (format!("http://{}", first.address), one.url()));
    let foreign = server.open(Arc::new(offer(9))).unwrap();
    for sandbox in [&first, &second] {
        let statuses = [one.token(), other.token(), foreign.token(), ""].map(|it| sandbox.info(it));
        assert_eq!(statuses, [200, 200, 401, 401]);
    }
    let ended = one.token().to_owned();
    assert_eq!(one.close().calls, 0);
    assert_eq!([&ended, other.token()].map(|it| first.info(it)), [401, 200]);
    let request = head("GET /v1/models", &ended, 0);
    assert_eq!(send(&first.address, request.as_bytes()).unwrap().0, 410);
}

#[test]
fn a_listener_closes_with_its_sandbox() {
    let server = ProxyServer::start().unwrap();
    let (receiver, first, second) = start(&server);
    let proxy = receiver.open(Arc::new(offer(9))).unwrap();
    drop(second.connection);
    // It closes a moment later.
    while send(&second.address, head("GET /info", proxy.token(), 0).as_bytes()).is_ok() {}
    assert_eq!(first.info(proxy.token()), 200);
    drop(receiver);
    while send(&first.address, head("GET /info", proxy.token(), 0).as_bytes()).is_ok() {}
}

#[test]
fn a_request_ends_with_its_evaluation() {
    let (offer, has_started, release) = late();
    let server = ProxyServer::start().unwrap();
    let (receiver, first, _second) = start(&server);
    let proxy = receiver.open(Arc::new(offer)).unwrap();
    let body = r#"{"question": "q"}"#;
    let request = head("POST /invoke", proxy.token(), body.len()) + body;
    let address = first.address.clone();
    let asked = thread::spawn(move || send(&address, request.as_bytes()));
    has_started.recv().unwrap();
    let usage = proxy.close();
    assert_eq!((usage.calls, usage.unfinished), (1, 1));
    assert_eq!(asked.join().unwrap().unwrap().0, 503);
    drop(release);
}

#[test]
fn what_is_no_socket_is_refused() {
    let server = ProxyServer::start().unwrap();
    let name = receiver_name().unwrap();
    let receiver = server.receive(&name, 8127, 1).unwrap();
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let mut connection = UnixStream::connect_addr(&address).unwrap();
    io::Write::write_all(&mut connection, &[0]).unwrap();
    assert_eq!(connection.read(&mut [0]).unwrap(), 0);
    assert!(server.receive(&name, 8127, 1).is_err(), "the name is in use");
    drop(receiver);
}
