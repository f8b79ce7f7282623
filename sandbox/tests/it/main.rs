//! Contained programs: attacks and honest ones, at both levels, as this user and as one without privileges.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests start processes")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::exit, clippy::print_stdout, reason = "this executable is other commands, too")]

mod behaviour;
mod builds;
mod host_ends;
mod network;
mod paths;
mod probes;
mod refusals;
mod world;

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Read as _},
    net::{SocketAddrV4, TcpStream},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            net::{SocketAddr, UnixStream},
            process::CommandExt,
        },
    },
    path::PathBuf,
    process::{self, Command},
};

use evaluator_sandbox::{Level, Policy, run_if_helper, support, wrap};
use rustix::net::{
    AddressFamily, SocketType, listen, socket,
    sockopt::{set_socket_reuseaddr, set_socket_reuseport},
};

/// Makes this executable its own helper and other commands, before the test harness reads the arguments.
#[expect(unsafe_code, reason = "a test harness has its own `main`")]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn before_main() {
        run_if_helper();
        let mut args = env::args_os().skip(1);
        match args.next().as_deref().and_then(OsStr::to_str) {
            Some("contain") => panic!("{}", contain(args).exec()),
            Some("host") => host(contain(args)),
            Some("support") => print_support(args),
            Some("contain-without-landlock") => {
                let call = libc::SYS_landlock_create_ruleset;
                refuse(call.try_into().unwrap(), libc::ENOSYS.unsigned_abs());
                panic!("{}", contain(args).exec())
            }
            Some("connect") => connect(&args.next().unwrap()),
            Some("bind") => bind(&args.next().unwrap()),
            Some("foreign-call") => foreign_call(),
            _ => {}
        }
    }
    before_main
};

/// The command `POLICY [READ..] -- PROGRAM ARGS..` in a sandbox.
fn contain(mut args: impl Iterator<Item = OsString>) -> Command {
    let mut policy: Policy = serde_json::from_str(args.next().unwrap().to_str().unwrap()).unwrap();
    policy.read.extend(args.by_ref().take_while(|arg| arg != "--").map(PathBuf::from));
    let program = args.next().unwrap();
    let args: Vec<_> = args.collect();
    let cwd = env::current_dir().unwrap();
    let wrapped = wrap(&policy, program.as_ref(), &args, Some(&cwd)).unwrap();
    let mut command = Command::new(wrapped.program);
    command.args(wrapped.args);
    command
}

/// A host that waits for its program.
fn host(mut command: Command) -> ! {
    let code = command.process_group(0).status().unwrap().code();
    process::exit(code.unwrap_or(1))
}

/// Prints what a server says: `@NAME` is an abstract Unix socket, anything else an address.
fn connect(address: &OsStr) -> ! {
    let address = address.to_str().unwrap();
    let mut said = String::new();
    let result = match address.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)
            .and_then(|name| UnixStream::connect_addr(&name))
            .and_then(|mut stream| stream.read_to_string(&mut said)),
        None => TcpStream::connect(address).and_then(|mut stream| stream.read_to_string(&mut said)),
    };
    match result {
        Ok(_) => println!("{said}"),
        Err(error) => println!("{:?}", error.kind()),
    }
    process::exit(0)
}

/// Listens at an address, sharing it with other sockets where they permit it.
fn bind(address: &OsStr) -> ! {
    let address: SocketAddrV4 = address.to_str().unwrap().parse().unwrap();
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    set_socket_reuseport(&socket, true).unwrap();
    set_socket_reuseaddr(&socket, true).unwrap();
    let bound = rustix::net::bind(&socket, &address).and_then(|()| listen(&socket, 1));
    match bound.map_err(io::Error::from) {
        Ok(()) => println!("bound"),
        Err(error) => println!("{:?}", error.kind()),
    }
    process::exit(0)
}

/// Asks for the id of this process as a 32-bit program does.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "there is no other way to make such a call")]
fn foreign_call() -> ! {
    let mut result: i32 = 20;
    // SAFETY: the call takes no arguments and changes nothing.
    unsafe { std::arch::asm!("int 0x80", inout("eax") result) };
    println!("{result}");
    process::exit(0)
}

#[cfg(not(target_arch = "x86_64"))]
fn foreign_call() -> ! {
    process::exit(1)
}

/// Prints the support of a level, if given without a system call: `LEVEL [CALL ERRNO]`.
fn print_support(args: impl Iterator<Item = OsString>) -> ! {
    let args: Vec<String> = args.map(|arg| arg.into_string().unwrap()).collect();
    let level = if args[0] == "full" { Level::Full } else { Level::Partial };
    if let [_, call, errno] = &args[..] {
        refuse(call.parse().unwrap(), errno.parse().unwrap());
    }
    match support(level) {
        Ok(support) if support.landlock_abi.is_none() => println!("supported without Landlock"),
        Ok(_) => println!("supported"),
        Err(refusal) => println!("{:?}: {refusal}", refusal.kind()),
    }
    process::exit(0)
}

/// Makes a system call fail in this process and in those that it starts.
#[expect(unsafe_code, reason = "there is no safe interface for filters")]
fn refuse(call: u32, errno: u32) {
    let step =
        |code: u32, jt, jf, k| libc::sock_filter { code: code.try_into().unwrap(), jt, jf, k };
    let program = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: 4, filter: program.as_ptr().cast_mut() };
    rustix::thread::set_no_new_privs(true).unwrap();
    // Not by the call `seccomp`, which a filter may refuse.
    // SAFETY: the kernel reads the program of four instructions.
    let result = unsafe { libc::prctl(libc::PR_SET_SECCOMP, 2, &raw const program) };
    assert_eq!(result, 0);
}
