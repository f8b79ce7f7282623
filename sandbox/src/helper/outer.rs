//! The process that the host started: it stands for the program.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    pipe::{PipeFlags, pipe_with},
    process::{
        DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, getegid, geteuid, getpid,
        pidfd_open, set_dumpable_behavior, set_parent_process_death_signal, wait, waitpid,
    },
    thread::UnshareFlags,
};

use super::{
    listener::HandOver,
    partial,
    report::fail,
    root,
    start::Start,
    supervise::{has_ended, supervise, wait_for_all},
    task::Task,
};
use crate::{
    order::{During, Failure, HELPER_FAILED, Order, Step},
    os,
    policy::Level,
};

/// Does what the arguments after the hidden one say.
pub(super) fn run(args: impl Iterator<Item = OsString>) -> ! {
    let (order, start) = read(args).unwrap_or_else(|failure| fail(&failure, false));
    let (is_check, level) = (order.is_check, order.policy.level);
    let ended = prepare(order, start).and_then(|task| match level {
        Level::Full => full(task),
        Level::Partial => partial::run(task),
    });
    match ended {
        Ok(status) => end_as(status),
        Err(failure) => fail(&failure, is_check),
    }
}

fn read(mut args: impl Iterator<Item = OsString>) -> Result<(Order, Start), Failure> {
    let missing = || io::Error::other("the command line was not made by this version");
    let json = args.next().and_then(|json| json.into_string().ok());
    let order: Order = json
        .ok_or_else(missing)
        .and_then(|json| Ok(serde_json::from_str(&json)?))
        .during(Step::Order, || "read what to do".to_owned())?;
    let program = args.next().filter(|arg| arg == "--").and_then(|_| args.next());
    let program = if order.is_check { Some(OsString::new()) } else { program };
    let program =
        program.ok_or_else(missing).during(Step::Order, || "find the program".to_owned())?;
    Ok((order, Start { program, args: args.collect() }))
}

/// Gives up what is not for the helper, and watches its host.
fn prepare(order: Order, start: Start) -> Result<Task, Failure> {
    let step = Step::Process;
    os::close_inherited().during(step, || "close files of the host (close_range)".to_owned())?;
    let child_ended =
        os::take_signals().during(step, || "notice ended processes (signalfd)".to_owned())?;
    let host = i32::try_from(order.host).ok().and_then(Pid::from_raw);
    let missing = || io::Error::other("the command line was not made by this version");
    let host = host
        .ok_or_else(missing)
        .and_then(|host| Ok(pidfd_open(host, PidfdFlags::empty())?))
        .during(step, || format!("watch the host, process {} (pidfd_open)", order.host))?;
    // Names of abstract sockets mean nothing in another network namespace.
    let hand_over = order.policy.listener.as_ref().map(HandOver::connect).transpose()?;
    Ok(Task { order, start, child_ended, host, hand_over })
}

/// Runs the program below process 1 of new namespaces; returns its status, `None` if it was ended with everything.
fn full(task: Task) -> Result<Option<i32>, Failure> {
    let step = Step::Process;
    let this =
        pidfd_open(getpid(), PidfdFlags::empty()).during(step, || "watch itself".to_owned())?;
    enter_namespaces(task.order.policy.network)?;
    task.hand_over.as_ref().map_or(Ok(()), HandOver::send)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .during(step, || "protect its memory".to_owned())?;
    let (status, report) =
        pipe_with(PipeFlags::CLOEXEC).during(step, || "make a pipe".to_owned())?;
    let Some(init) = os::fork().during(step, || "start a process".to_owned())? else {
        drop(status);
        let is_check = task.order.is_check;
        match init_main(task, &this, report) {
            Ok(()) => os::exit(0),
            Err(failure) => fail(&failure, is_check),
        }
    };
    drop((report, task.host, task.child_ended, task.hand_over, this));
    os::close_standard_streams();
    let mut bytes = [0; size_of::<i32>()];
    if File::from(status).read_exact(&mut bytes).is_ok() {
        return Ok(Some(i32::from_ne_bytes(bytes)));
    }
    let ended = loop {
        match waitpid(Some(init), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            ended => break ended.ok().flatten().map(|(_, status)| status),
        }
    };
    // Init exits with a code if it failed before it could report the status of the program.
    let failed = ended.filter(|ended| ended.exit_status().is_some_and(|code| code != 0));
    Ok(failed.map(|failed| failed.as_raw()))
}

fn enter_namespaces(network: bool) -> Result<(), Failure> {
    let (user, group) = (geteuid(), getegid());
    let mut namespaces = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if !network {
        namespaces |= UnshareFlags::NEWNET;
    }
    os::unshare(namespaces).during(Step::Namespaces, || "make namespaces".to_owned())?;
    // Mapped to themselves, so that owners of files look right and limits stay those of the user.
    let (user, group) = (user.as_raw(), group.as_raw());
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ] {
        let path = format!("/proc/self/{file}");
        std::fs::write(&path, text).during(Step::Identity, || format!("write {path}"))?;
    }
    Ok(())
}

/// Process 1 of the namespaces: makes the root directory, starts the program, and reports how it ended.
fn init_main(task: Task, outer: &OwnedFd, report: OwnedFd) -> Result<(), Failure> {
    let step = Step::Process;
    set_parent_process_death_signal(Some(Signal::KILL))
        .during(step, || "follow its parent".to_owned())?;
    // The parent may have ended before the signal was asked for.
    if has_ended(outer.as_fd()) {
        os::exit(HELPER_FAILED);
    }
    root::enter(&task.order)?;
    // Kept until this process ends: the host stops listening then.
    task.hand_over.as_ref().map_or(Ok(()), HandOver::confirm)?;
    rustix::thread::set_no_new_privs(true)
        .during(Step::Limits, || "give up privileges".to_owned())?;
    os::drop_capabilities().during(Step::Limits, || "drop capabilities".to_owned())?;
    let Some(program) = os::fork().during(step, || "start a process".to_owned())? else {
        task.start.run(&task.order, None)
    };
    os::close_standard_streams();
    let ended = supervise(program, task.child_ended.as_fd(), &[task.host.as_fd(), outer.as_fd()]);
    if let Some(status) = ended {
        // Before the report: then nothing has the outputs open any more when outer ends.
        os::kill_namespace();
        wait_for_all(|| wait(WaitOptions::empty()));
        // If outer has ended, so does this process.
        let _ = File::from(report).write_all(&status.to_ne_bytes());
    }
    Ok(())
}

/// Ends this process as the program ended.
fn end_as(status: Option<i32>) -> ! {
    let Some(status) = status else { os::die_of(os::KILL) };
    if libc::WIFEXITED(status) {
        os::exit(libc::WEXITSTATUS(status));
    }
    os::die_of(libc::WTERMSIG(status))
}
