//! Which servers a contained program reaches.

use std::{
    env,
    io::Write as _,
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

use evaluator_sandbox::Policy;
use rustix::process::Signal;

use crate::world::{answer, contained, levels, marker, policy, run, shell};

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
