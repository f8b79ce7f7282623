//! System calls that contained programs must not make, with their numbers.

/// A system call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    x86_64: Option<u32>,
    aarch64: Option<u32>,
}

impl Call {
    /// The number on this machine; `None` if its architecture does not have the call.
    pub(super) fn number(self) -> Option<u32> {
        if cfg!(target_arch = "aarch64") { self.aarch64 } else { self.x86_64 }
    }
}

/// The highest number that this table was written for (Linux 6.18). Calls beyond it do not exist inside.
pub(super) const HIGHEST: u32 = 469;

const fn call(name: &'static str, x86_64: Option<u32>, aarch64: Option<u32>) -> Call {
    Call { name, x86_64, aarch64 }
}

/// Calls that do not exist inside: a filter cannot see the flags of `clone3` and the mode of `openat2`, and no limit
/// counts the memory of `memfd_create` and of rules of Landlock. C libraries and programs use other calls instead, or do
/// without.
pub(super) const ABSENT: &[Call] = &[
    call("clone3", Some(435), Some(435)),
    call("openat2", Some(437), Some(437)),
    call("memfd_create", Some(319), Some(279)),
    call("landlock_create_ruleset", Some(444), Some(444)),
    call("landlock_add_rule", Some(445), Some(445)),
    call("landlock_restrict_self", Some(446), Some(446)),
];

/// Calls that are not permitted.
pub(super) const REFUSED: &[Call] = &[
    call("ptrace", Some(101), Some(117)),
    call("process_vm_readv", Some(310), Some(270)),
    call("process_vm_writev", Some(311), Some(271)),
    call("pidfd_getfd", Some(438), Some(438)),
    call("kcmp", Some(312), Some(272)),
    call("process_madvise", Some(440), Some(440)),
    call("bpf", Some(321), Some(280)),
    call("perf_event_open", Some(298), Some(241)),
    call("userfaultfd", Some(323), Some(282)),
    call("io_uring_setup", Some(425), Some(425)),
    call("io_uring_enter", Some(426), Some(426)),
    call("io_uring_register", Some(427), Some(427)),
    call("add_key", Some(248), Some(217)),
    call("request_key", Some(249), Some(218)),
    call("keyctl", Some(250), Some(219)),
    call("mount", Some(165), Some(40)),
    call("umount2", Some(166), Some(39)),
    call("pivot_root", Some(155), Some(41)),
    call("chroot", Some(161), Some(51)),
    call("move_mount", Some(429), Some(429)),
    call("open_tree", Some(428), Some(428)),
    call("open_tree_attr", Some(467), Some(467)),
    call("fsopen", Some(430), Some(430)),
    call("fsconfig", Some(431), Some(431)),
    call("fsmount", Some(432), Some(432)),
    call("fspick", Some(433), Some(433)),
    call("mount_setattr", Some(442), Some(442)),
    call("statmount", Some(457), Some(457)),
    call("listmount", Some(458), Some(458)),
    call("setns", Some(308), Some(268)),
    call("unshare", Some(272), Some(97)),
    call("open_by_handle_at", Some(304), Some(265)),
    call("name_to_handle_at", Some(303), Some(264)),
    call("init_module", Some(175), Some(105)),
    call("finit_module", Some(313), Some(273)),
    call("delete_module", Some(176), Some(106)),
    call("create_module", Some(174), None),
    call("get_kernel_syms", Some(177), None),
    call("query_module", Some(178), None),
    call("kexec_load", Some(246), Some(104)),
    call("kexec_file_load", Some(320), Some(294)),
    call("reboot", Some(169), Some(142)),
    call("swapon", Some(167), Some(224)),
    call("swapoff", Some(168), Some(225)),
    call("acct", Some(163), Some(89)),
    call("quotactl", Some(179), Some(60)),
    call("quotactl_fd", Some(443), Some(443)),
    call("syslog", Some(103), Some(116)),
    call("iopl", Some(172), None),
    call("ioperm", Some(173), None),
    call("settimeofday", Some(164), Some(170)),
    call("clock_settime", Some(227), Some(112)),
    call("adjtimex", Some(159), Some(171)),
    call("clock_adjtime", Some(305), Some(266)),
    call("sethostname", Some(170), Some(161)),
    call("setdomainname", Some(171), Some(162)),
    call("vhangup", Some(153), Some(58)),
    call("modify_ldt", Some(154), None),
    call("lookup_dcookie", Some(212), Some(18)),
    call("nfsservctl", Some(180), Some(42)),
    call("uselib", Some(134), None),
    call("shmget", Some(29), Some(194)),
    call("shmat", Some(30), Some(196)),
    call("shmctl", Some(31), Some(195)),
    call("shmdt", Some(67), Some(197)),
    call("semget", Some(64), Some(190)),
    call("semop", Some(65), Some(193)),
    call("semctl", Some(66), Some(191)),
    call("semtimedop", Some(220), Some(192)),
    call("msgget", Some(68), Some(186)),
    call("msgsnd", Some(69), Some(189)),
    call("msgrcv", Some(70), Some(188)),
    call("msgctl", Some(71), Some(187)),
    call("mq_open", Some(240), Some(180)),
    call("mq_unlink", Some(241), Some(181)),
    call("mq_timedsend", Some(242), Some(182)),
    call("mq_timedreceive", Some(243), Some(183)),
    call("mq_notify", Some(244), Some(184)),
    call("mq_getsetattr", Some(245), Some(185)),
    call("fanotify_init", Some(300), Some(262)),
    call("fanotify_mark", Some(301), Some(263)),
    call("memfd_secret", Some(447), Some(447)),
    call("vmsplice", Some(278), Some(75)),
    call("migrate_pages", Some(256), Some(238)),
    call("move_pages", Some(279), Some(239)),
    call("mbind", Some(237), Some(235)),
    call("set_mempolicy", Some(238), Some(237)),
    call("set_mempolicy_home_node", Some(450), Some(450)),
];

/// Calls that do nothing and report success at the partial level, where Landlock has no right for them: programs call them
/// for files of their own, and a new session or group would escape from the signals to the group.
pub(super) const PRETENDED: &[Call] = &[
    call("setsid", Some(112), Some(157)),
    call("setpgid", Some(109), Some(154)),
    call("chmod", Some(90), None),
    call("fchmod", Some(91), Some(52)),
    call("fchmodat", Some(268), Some(53)),
    call("fchmodat2", Some(452), Some(452)),
    call("chown", Some(92), None),
    call("fchown", Some(93), Some(55)),
    call("lchown", Some(94), None),
    call("fchownat", Some(260), Some(54)),
    call("utime", Some(132), None),
    call("utimes", Some(235), None),
    call("futimesat", Some(261), None),
    call("utimensat", Some(280), Some(88)),
];

/// Calls that are not permitted at the partial level, where Landlock has no right for them.
pub(super) const PARTIAL: &[Call] = &[
    call("setxattr", Some(188), Some(5)),
    call("lsetxattr", Some(189), Some(6)),
    call("fsetxattr", Some(190), Some(7)),
    call("setxattrat", Some(463), Some(463)),
    call("removexattr", Some(197), Some(14)),
    call("lremovexattr", Some(198), Some(15)),
    call("fremovexattr", Some(199), Some(16)),
    call("removexattrat", Some(466), Some(466)),
    call("ioprio_set", Some(251), Some(30)),
    call("file_setattr", Some(469), Some(469)),
    // They report the names of files in hidden directories that others use.
    call("inotify_init", Some(253), None),
    call("inotify_init1", Some(294), Some(26)),
    call("inotify_add_watch", Some(254), Some(27)),
];

/// Calls that answer as file systems without extended attributes do at the partial level, where Landlock has no right for
/// them: attributes of hidden files have content.
pub(super) const WITHOUT_ATTRIBUTES: &[Call] = &[
    call("getxattr", Some(191), Some(8)),
    call("lgetxattr", Some(192), Some(9)),
    call("fgetxattr", Some(193), Some(10)),
    call("getxattrat", Some(464), Some(464)),
    call("listxattr", Some(194), Some(11)),
    call("llistxattr", Some(195), Some(12)),
    call("flistxattr", Some(196), Some(13)),
    call("listxattrat", Some(465), Some(465)),
];

/// Calls that change another process of the user if an argument names one: these arguments must be 0 at the partial level,
/// where other processes have the same ids inside.
pub(super) const OF_OTHERS: &[(Call, &[u32])] = &[
    (call("prlimit64", Some(302), Some(261)), &[0]),
    (call("setpriority", Some(141), Some(140)), &[0, 1]),
    (call("sched_setaffinity", Some(203), Some(122)), &[0]),
    (call("sched_setscheduler", Some(144), Some(119)), &[0]),
    (call("sched_setparam", Some(142), Some(118)), &[0]),
    (call("sched_setattr", Some(314), Some(274)), &[0]),
];

/// Calls with a mode, which must not make a file run as its owner or group outside. Then: the argument with flags, if the
/// mode has a meaning for some of them only, and the one with the mode.
pub(super) const WITH_MODE: &[(Call, Option<u32>, u32)] = &[
    (call("chmod", Some(90), None), None, 1),
    (call("fchmod", Some(91), Some(52)), None, 1),
    (call("fchmodat", Some(268), Some(53)), None, 2),
    (call("fchmodat2", Some(452), Some(452)), None, 2),
    (call("creat", Some(85), None), None, 1),
    (call("mknod", Some(133), None), None, 1),
    (call("mknodat", Some(259), Some(33)), None, 2),
    (call("open", Some(2), None), Some(1), 2),
    (call("openat", Some(257), Some(56)), Some(2), 3),
];

pub(super) const SOCKET: Call = call("socket", Some(41), Some(198));
pub(super) const SOCKETPAIR: Call = call("socketpair", Some(53), Some(199));
pub(super) const CLONE: Call = call("clone", Some(56), Some(220));
pub(super) const IOCTL: Call = call("ioctl", Some(16), Some(29));
pub(super) const FCNTL: Call = call("fcntl", Some(72), Some(25));
pub(super) const MMAP: Call = call("mmap", Some(9), Some(222));

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Names and numbers of the C library.
    macro_rules! known {
        ($($name:ident)*) => { [$((stringify!($name), libc::$name)),*] };
    }

    #[test]
    fn numbers_are_those_of_the_c_library() {
        let single = [SOCKET, SOCKETPAIR, CLONE, IOCTL, FCNTL, MMAP];
        let others = OF_OTHERS.iter().map(|(call, _)| *call);
        let others = others.chain(WITH_MODE.iter().map(|(call, ..)| *call));
        let lists = [ABSENT, REFUSED, PRETENDED, PARTIAL, WITHOUT_ATTRIBUTES, &single];
        let lists = lists.into_iter().flatten().copied();
        let all: Vec<Call> = lists.chain(others).collect();
        let mut compared = 0;
        let mut compare = |known: &[(&str, libc::c_long)]| {
            for (name, number) in known {
                let same = |call: &&Call| name.strip_prefix("SYS_") == Some(call.name);
                let rows = all.iter().filter(same);
                let numbers: Vec<_> = rows.filter_map(|call| call.number()).collect();
                assert!(!numbers.is_empty(), "{name}");
                assert!(numbers.iter().all(|ours| libc::c_long::from(*ours) == *number), "{name}");
                compared += 1;
            }
        };
        compare(&known![
            SYS_clone3 SYS_openat2 SYS_prlimit64 SYS_setpriority SYS_sched_setaffinity SYS_sched_setscheduler SYS_sched_setparam SYS_sched_setattr SYS_ioprio_set SYS_mknodat SYS_openat SYS_memfd_create SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_pidfd_getfd SYS_kcmp SYS_process_madvise SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register SYS_add_key SYS_request_key SYS_keyctl SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_move_mount SYS_open_tree SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr SYS_setns SYS_unshare SYS_open_by_handle_at SYS_name_to_handle_at SYS_init_module SYS_finit_module SYS_delete_module SYS_kexec_load SYS_kexec_file_load SYS_reboot SYS_swapon SYS_swapoff SYS_acct SYS_quotactl SYS_quotactl_fd SYS_syslog SYS_settimeofday SYS_clock_settime SYS_adjtimex SYS_clock_adjtime SYS_sethostname SYS_setdomainname SYS_vhangup SYS_lookup_dcookie SYS_nfsservctl SYS_shmget SYS_shmat SYS_shmctl SYS_shmdt SYS_semget SYS_semop SYS_semctl SYS_semtimedop SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl SYS_mq_open SYS_mq_unlink SYS_mq_timedsend SYS_mq_timedreceive SYS_mq_notify SYS_mq_getsetattr SYS_fanotify_init SYS_fanotify_mark SYS_memfd_secret SYS_vmsplice SYS_migrate_pages SYS_move_pages SYS_mbind SYS_set_mempolicy SYS_set_mempolicy_home_node SYS_setsid SYS_setpgid SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat SYS_fcntl SYS_landlock_create_ruleset SYS_landlock_add_rule SYS_landlock_restrict_self SYS_inotify_init1 SYS_inotify_add_watch SYS_getxattr SYS_lgetxattr SYS_fgetxattr SYS_listxattr SYS_llistxattr SYS_flistxattr SYS_setxattr SYS_lsetxattr SYS_fsetxattr SYS_removexattr SYS_lremovexattr SYS_fremovexattr SYS_socket SYS_socketpair SYS_clone SYS_ioctl SYS_mmap
        ]);
        #[cfg(target_arch = "x86_64")]
        compare(&known![
             SYS_inotify_init SYS_iopl SYS_ioperm SYS_modify_ldt SYS_uselib SYS_creat SYS_mknod SYS_open SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat
        ]);
        assert!(compared >= 100, "{compared}");
        assert!(all.iter().filter_map(|call| call.number()).all(|number| number <= HIGHEST));
    }
}
