//! Which servers a contained program reaches.

use std::{
    env,
    io::{IoSliceMut, Write as _},
    mem::MaybeUninit,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            net::{SocketAddr, UnixListener},
            process::ExitStatusExt,
        },
    },
    thread,
};

use evaluator_sandbox::{HELPER_ERROR, HELPER_FAILED, Level, Listener, Policy};
use rustix::{
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    process::Signal,
};

use crate::world::{answer, contained, has, levels, marker, policy, run, shell, text};

/// Runs this executable as another command.
fn own(policy: &Policy, args: &[&str]) -> std::process::Command {
    contained(policy, env::current_exe().unwrap().to_str().unwrap(), args)
}

#[test]
fn servers_of_this_machine_are_reached_with_network_only() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in server.incoming() {
            // A client that has ended is its own problem.
            let _ = stream.unwrap().write_all(b"reached");
        }
    });
    for level in levels() {
        let closed = answer(&mut own(&policy(level), &["connect", &address]));
        assert_eq!(closed, "PermissionDenied");
        let open = Policy { network: true, ..policy(level) };
        assert_eq!(answer(&mut own(&open, &["connect", &address])), "reached");
    }
}

/// Accepts a listening socket from each sandbox of the policy, and serves it until the sandbox ends. With `confirms: false`
/// the sandboxes are refused.
fn serve(confirms: bool) -> Policy {
    let socket = marker("listener");
    let receiver =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&socket).unwrap()).unwrap();
    thread::spawn(move || {
        for sandbox in receiver.incoming() {
            let mut sandbox = sandbox.unwrap();
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut message = RecvAncillaryBuffer::new(&mut space);
            let (mut byte, flags) = ([0], RecvFlags::CMSG_CLOEXEC);
            recvmsg(&sandbox, &mut [IoSliceMut::new(&mut byte)], &mut message, flags).unwrap();
            let Some(RecvAncillaryMessage::ScmRights(mut sockets)) = message.drain().next() else {
                panic!("no socket was sent");
            };
            let listener = TcpListener::from(sockets.next().unwrap());
            if !confirms {
                continue;
            }
            sandbox.write_all(&[0]).unwrap();
            thread::spawn(move || {
                for stream in listener.incoming() {
                    let _ = stream.unwrap().write_all(b"reached");
                    // Keeps the connection to the sandbox open.
                    let _ = &sandbox;
                }
            });
        }
    });
    let listener = Some(Listener { port: PORT, socket });
    Policy { listener, ..policy(Level::Full) }
}

const PORT: u16 = 8127;

#[test]
fn a_listener_is_the_only_server_that_is_reached() {
    if !has(Level::Full) {
        return;
    }
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let outside = outside.local_addr().unwrap().to_string();
    let served = serve(true);
    let inside = format!("127.0.0.1:{PORT}");
    for _ in 0..3 {
        assert_eq!(answer(&mut own(&served, &["connect", &inside])), "reached");
    }
    for address in [&*outside, "192.0.2.1:80", "[::1]:80"] {
        let said = answer(&mut own(&served, &["connect", address]));
        assert!(["PermissionDenied", "NetworkUnreachable"].contains(&&*said), "{address}: {said}");
    }
    for address in [inside.as_str(), "0.0.0.0:8127", "127.0.0.1:0"] {
        assert_eq!(answer(&mut own(&served, &["bind", address])), "PermissionDenied");
    }
}

#[test]
fn the_port_of_a_listener_cannot_be_bound_without_landlock_either() {
    if !has(Level::Full) {
        return;
    }
    let served = serde_json::to_string(&serve(true)).unwrap();
    let program = env::current_exe().unwrap();
    let without = |args: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.args(["contain-without-landlock", &served, "--"]).arg(&program).args(args);
        answer(&mut command)
    };
    assert_eq!(without(&["connect", "127.0.0.1:8127"]), "reached");
    for address in ["127.0.0.1:8127", "0.0.0.0:8127"] {
        assert_eq!(without(&["bind", address]), "AddrInUse");
    }
    assert_eq!(without(&["bind", "127.0.0.1:0"]), "bound", "Landlock is missing");
}

#[test]
fn no_program_starts_without_its_listener() {
    if !has(Level::Full) {
        return;
    }
    let listener = Some(Listener { port: PORT, socket: marker("absent") });
    let unreachable = Policy { listener, ..policy(Level::Full) };
    for (policy, message) in [
        (unreachable, "cannot connect to the host"),
        (serve(false), "cannot hand its listening socket to the host, which refused it"),
    ] {
        let output = run(&mut shell(&policy, "echo started"));
        assert_eq!(output.status.code(), Some(HELPER_FAILED), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.starts_with(&format!("{HELPER_ERROR}{message}")), "{said}");
        assert_eq!(text(&output.stdout), "");
    }
}

#[test]
fn abstract_unix_sockets_of_this_machine_are_never_reached() {
    let name = marker("abstract");
    let server = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    for level in levels() {
        for network in [false, true] {
            let policy = Policy { network, ..policy(level) };
            let said = answer(&mut own(&policy, &["connect", &format!("@{name}")]));
            assert!(["PermissionDenied", "ConnectionRefused"].contains(&&*said), "{said}");
        }
    }
    drop(server);
}

#[test]
fn names_of_hosts_are_readable_with_network_only() {
    if !std::fs::exists("/etc/hosts").unwrap() {
        return;
    }
    for level in levels() {
        let script =
            "test -r /etc/hosts && cat /etc/hosts > /dev/null && echo readable || echo hidden";
        assert_eq!(answer(&mut shell(&policy(level), script)), "hidden");
        let open = Policy { network: true, ..policy(level) };
        assert_eq!(answer(&mut shell(&open, script)), "readable");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_another_architecture_end_the_process() {
    for level in levels() {
        let output = run(&mut own(&policy(level), &["foreign-call"]));
        assert_eq!(output.status.signal(), Some(Signal::SYS.as_raw()), "{output:?}");
    }
}
