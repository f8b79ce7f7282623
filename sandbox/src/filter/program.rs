//! The filter as a program of the kernel's classic BPF.

use super::{
    AF_INET, AF_INET6, AF_UNIX, GROWS_DOWN, LEASES, NEW_NAMESPACE, NOT_IMPLEMENTED, NOT_PERMITTED,
    NOT_SUPPORTED, SHARED_ANONYMOUS, SOCK_STREAM, TCP, TERMINAL_INPUT, TYPES, table,
};

/// Which servers a program may connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// No server.
    None,
    /// One on 127.0.0.1, by TCP.
    Listener,
    /// All, by IPv4 and IPv6.
    Full,
}

/// Parameters of the filter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Servers that it permits to connect to.
    pub(crate) network: Network,
    /// Permits Unix sockets; pairs of them are always permitted.
    pub(crate) unix: bool,
    /// Refuses and pretends what Landlock cannot refuse.
    pub(crate) partial: bool,
}

/// An instruction: `struct sock_filter` of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

// Codes of instructions.
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
const IF_GREATER_OR_EQUAL: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

// What is returned.
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const KILL: u32 = 0x8000_0000;

// Where the kernel puts what a call is: `struct seccomp_data`. The architectures are little-endian, so the lower half of
// an argument is first. The upper half of an `int` means nothing and is the caller's choice: it is never looked at.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

const THIS_ARCHITECTURE: u32 =
    if cfg!(target_arch = "aarch64") { 0xc000_00b7 } else { 0xc000_003e };

/// From here on calls have another meaning of the same architecture (x32).
const X32: u32 = 0x4000_0000;

/// Requests of `ioctl` that change attributes of a file that is open for reading: `FS_IOC_SETFLAGS`,
/// `FS_IOC_FSSETXATTR`, `FS_IOC_SETVERSION`.
const FILE_ATTRIBUTES: [u32; 3] = [0x4008_6602, 0x401c_5820, 0x4008_7602];

/// Flags of `open` with which the mode has a meaning: `O_CREAT`, `O_TMPFILE`.
const CREATES: u32 = 0x40_0040;

/// Bits of a mode: set-user-ID, set-group-ID.
const RUNS_AS_OWNER: u32 = 0o6000;

/// Returns the program. Its last instruction permits what none before refuses.
pub(crate) fn program(rules: Rules) -> Vec<Instruction> {
    let mut program = Program(Vec::with_capacity(256));
    program.then(LOAD, ARCHITECTURE);
    program.only_if(IF_EQUAL, THIS_ARCHITECTURE, KILL);
    program.then(LOAD, NUMBER);
    program.refuse_if(IF_GREATER_OR_EQUAL, X32, KILL);
    program.refuse_if(IF_GREATER_OR_EQUAL, table::HIGHEST + 1, ERRNO | NOT_IMPLEMENTED);
    program.answer(table::ABSENT, ERRNO | NOT_IMPLEMENTED);
    program.answer(table::REFUSED, ERRNO | NOT_PERMITTED);
    if rules.partial {
        program.answer(table::PRETENDED, ERRNO);
        program.answer(table::PARTIAL, ERRNO | NOT_PERMITTED);
        program.answer(table::WITHOUT_ATTRIBUTES, ERRNO | NOT_SUPPORTED);
    }
    program.look_at(table::SOCKETPAIR, |program| {
        program.then(LOAD, argument(0));
        program.only_if(IF_EQUAL, AF_UNIX, ERRNO | NOT_PERMITTED);
    });
    program.sockets(rules);
    let namespaces = NEW_NAMESPACE.iter().fold(0, |flags, flag| flags | flag);
    program.look_at(table::CLONE, |program| {
        program.then(LOAD, argument(0));
        program.refuse_if(IF_ANY_BIT, namespaces, ERRNO | NOT_PERMITTED);
    });
    program.look_at(table::MMAP, |program| {
        program.then(LOAD, argument(3));
        program.refuse_if(IF_ANY_BIT, GROWS_DOWN, ERRNO | NOT_PERMITTED);
        program.then(AND, SHARED_ANONYMOUS);
        program.refuse_if(IF_EQUAL, SHARED_ANONYMOUS, ERRNO | NOT_PERMITTED);
    });
    program.commands(rules);
    for (call, flags, mode) in table::WITH_MODE {
        program.look_at(*call, |program| {
            if let Some(flags) = flags {
                program.then(LOAD, argument(*flags));
                program.only_if(IF_ANY_BIT, CREATES, ALLOW);
            }
            program.then(LOAD, argument(*mode));
            program.refuse_if(IF_ANY_BIT, RUNS_AS_OWNER, ERRNO | NOT_PERMITTED);
        });
    }
    for (call, arguments) in table::OF_OTHERS.iter().filter(|_| rules.partial) {
        program.look_at(*call, |program| {
            for index in *arguments {
                program.then(LOAD, argument(*index));
                program.only_if(IF_EQUAL, 0, ERRNO | NOT_PERMITTED);
            }
        });
    }
    program.then(RETURN, ALLOW);
    program.0
}

struct Program(Vec<Instruction>);

impl Program {
    fn then(&mut self, code: u16, value: u32) {
        self.0.push(Instruction { code, if_true: 0, if_false: 0, value });
    }

    /// Returns `result` where the condition holds.
    fn refuse_if(&mut self, condition: u16, value: u32, result: u32) {
        self.0.push(Instruction { code: condition, if_true: 0, if_false: 1, value });
        self.then(RETURN, result);
    }

    /// Returns `result` unless the condition holds.
    fn only_if(&mut self, condition: u16, value: u32, result: u32) {
        self.0.push(Instruction { code: condition, if_true: 1, if_false: 0, value });
        self.then(RETURN, result);
    }

    /// Answers all of these calls: each comparison jumps to the answer behind the last one.
    fn answer(&mut self, calls: &[table::Call], result: u32) {
        let numbers: Vec<u32> = calls.iter().filter_map(|call| call.number()).collect();
        for (position, number) in numbers.iter().enumerate() {
            // One more than the comparisons that are left; for the last one, over the answer if it differs.
            let left = u8::try_from(numbers.len() - position - 1).unwrap_or(u8::MAX);
            let if_false = u8::from(left == 0);
            self.0.push(Instruction { code: IF_EQUAL, if_true: left, if_false, value: *number });
        }
        self.then(RETURN, result);
    }

    /// Looks at the arguments of a call, which is permitted if `conditions` do not refuse it.
    fn look_at(&mut self, call: table::Call, conditions: impl FnOnce(&mut Self)) {
        if let Some(number) = call.number() {
            self.permit(number, conditions);
        }
    }

    /// Permits calls with this value, if `conditions` do not refuse them.
    fn permit(&mut self, value: u32, conditions: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.0.push(Instruction { code: IF_EQUAL, if_true: 0, if_false: 0, value });
        conditions(self);
        self.then(RETURN, ALLOW);
        let length = self.0.len() - start - 1;
        // A few conditions: far below the longest jump.
        self.0[start].if_false = u8::try_from(length).unwrap_or(u8::MAX);
    }

    /// Looks at commands of `fcntl` and requests of `ioctl`.
    fn commands(&mut self, rules: Rules) {
        self.look_at(table::FCNTL, |program| {
            program.then(LOAD, argument(1));
            for command in LEASES {
                program.refuse_if(IF_EQUAL, command, ERRNO | NOT_PERMITTED);
            }
        });
        self.look_at(table::IOCTL, |program| {
            program.then(LOAD, argument(1));
            let attributes = if rules.partial { &FILE_ATTRIBUTES[..] } else { &[] };
            for request in TERMINAL_INPUT.iter().chain(attributes) {
                program.refuse_if(IF_EQUAL, *request, ERRNO | NOT_PERMITTED);
            }
        });
    }

    fn sockets(&mut self, rules: Rules) {
        self.look_at(table::SOCKET, |program| {
            program.then(LOAD, argument(0));
            if rules.unix {
                program.permit(AF_UNIX, |_| {});
            }
            match rules.network {
                Network::None => {}
                Network::Listener => program.permit(AF_INET, |program| {
                    program.then(LOAD, argument(1));
                    program.then(AND, TYPES);
                    program.only_if(IF_EQUAL, SOCK_STREAM, ERRNO | NOT_PERMITTED);
                    program.then(LOAD, argument(2));
                    for protocol in TCP {
                        program.permit(protocol, |_| {});
                    }
                    program.then(RETURN, ERRNO | NOT_PERMITTED);
                }),
                Network::Full => {
                    program.permit(AF_INET, |_| {});
                    program.permit(AF_INET6, |_| {});
                }
            }
            program.then(RETURN, ERRNO | NOT_PERMITTED);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program as the kernel does.
    fn run(program: &[Instruction], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut data = [number, architecture, 0, 0].to_vec();
        data.extend(arguments.iter().flat_map(|it| [*it as u32, (*it >> 32) as u32]));
        let (mut at, mut value) = (0, 0);
        loop {
            let step = program[at];
            let is_true = match step.code {
                RETURN => return step.value,
                IF_EQUAL => value == step.value,
                IF_GREATER_OR_EQUAL => value >= step.value,
                IF_ANY_BIT => value & step.value != 0,
                LOAD => {
                    value = data[step.value as usize / 4];
                    false
                }
                AND => {
                    value &= step.value;
                    false
                }
                code => panic!("{code:#x}"),
            };
            at += 1 + usize::from(if is_true { step.if_true } else { step.if_false });
        }
    }

    fn answer(rules: Rules, call: table::Call, arguments: [u64; 6]) -> u32 {
        run(&program(rules), THIS_ARCHITECTURE, call.number().unwrap(), arguments)
    }

    const CLOSED: Rules = Rules { network: Network::None, unix: true, partial: false };
    const REFUSED: u32 = ERRNO | NOT_PERMITTED;
    const HIGH: u64 = 0xdead_beef << 32;

    #[test]
    fn foreign_calls_end_the_process() {
        let program = program(CLOSED);
        assert_eq!(run(&program, 0x4000_0003, 1, [0; 6]), KILL);
        assert_eq!(run(&program, THIS_ARCHITECTURE, X32 | 1, [0; 6]), KILL);
        assert_eq!(run(&program, THIS_ARCHITECTURE, u32::MAX, [0; 6]), KILL);
        let next = table::HIGHEST + 1;
        assert_eq!(run(&program, THIS_ARCHITECTURE, next, [0; 6]), ERRNO | NOT_IMPLEMENTED);
    }

    #[test]
    fn every_call_gets_the_answer_of_its_list() {
        let partial = Rules { partial: true, ..CLOSED };
        for (list, full, weak) in [
            (table::ABSENT, ERRNO | NOT_IMPLEMENTED, ERRNO | NOT_IMPLEMENTED),
            (table::REFUSED, REFUSED, REFUSED),
            (table::PRETENDED, ALLOW, ERRNO),
            (table::PARTIAL, ALLOW, REFUSED),
            (table::WITHOUT_ATTRIBUTES, ALLOW, ERRNO | NOT_SUPPORTED),
        ] {
            for call in list.iter().filter(|call| call.number().is_some()) {
                assert_eq!(answer(CLOSED, *call, [0; 6]), full, "{}", call.name);
                assert_eq!(answer(partial, *call, [0; 6]), weak, "{}", call.name);
            }
        }
    }

    #[test]
    fn calls_that_are_in_no_list_are_permitted() {
        let lists = [table::ABSENT, table::REFUSED].into_iter().flatten();
        let listed: Vec<u32> = lists.filter_map(|call| call.number()).collect();
        let socket = [table::SOCKET, table::SOCKETPAIR].map(|call| call.number().unwrap());
        let program = program(CLOSED);
        for number in (0..=table::HIGHEST).filter(|it| !listed.contains(it) && !socket.contains(it))
        {
            assert_eq!(run(&program, THIS_ARCHITECTURE, number, [0; 6]), ALLOW, "{number}");
        }
    }

    #[test]
    fn families_depend_on_network_and_upper_halves_mean_nothing() {
        let open = Rules { network: Network::Full, unix: false, ..CLOSED };
        let served = Rules { network: Network::Listener, ..CLOSED };
        for (rules, family, socket, pair) in [
            (CLOSED, AF_UNIX, ALLOW, ALLOW),
            (CLOSED, AF_INET, REFUSED, REFUSED),
            (open, AF_INET, ALLOW, REFUSED),
            (open, AF_INET6, ALLOW, REFUSED),
            (open, AF_UNIX, REFUSED, ALLOW),
            (open, 16, REFUSED, REFUSED),
            (served, AF_INET, ALLOW, REFUSED),
            (served, AF_INET6, REFUSED, REFUSED),
            (served, AF_UNIX, ALLOW, ALLOW),
            (served, 16, REFUSED, REFUSED),
            (CLOSED, 40, REFUSED, REFUSED),
        ] {
            for upper in [0, HIGH] {
                let arguments = [upper | u64::from(family), 1, 0, 0, 0, 0];
                assert_eq!(answer(rules, table::SOCKET, arguments), socket, "{family}");
                assert_eq!(answer(rules, table::SOCKETPAIR, arguments), pair, "{family}");
            }
        }
    }

    #[test]
    fn only_tcp_reaches_a_listener() {
        let served = Rules { network: Network::Listener, ..CLOSED };
        for (kind, protocol, expected) in [
            (1, 0, ALLOW),
            (1, 6, ALLOW),
            (0x8_0801, 6, ALLOW),
            (1, 132, REFUSED),
            (1, 262, REFUSED),
            (2, 0, REFUSED),
            (3, 1, REFUSED),
            (5, 132, REFUSED),
        ] {
            let arguments = [2, HIGH | kind, HIGH | protocol, 0, 0, 0];
            assert_eq!(answer(served, table::SOCKET, arguments), expected, "{kind} {protocol}");
        }
    }

    #[test]
    fn arguments_decide() {
        let all = |call, arguments| answer(CLOSED, call, arguments);
        for flag in NEW_NAMESPACE {
            let flags = HIGH | 17 | u64::from(flag);
            assert_eq!(all(table::CLONE, [flags, 0, 0, 0, 0, 0]), REFUSED);
        }
        // What threads are made with.
        assert_eq!(all(table::CLONE, [0x3d_0f00, 0, 0, 0, 0, 0]), ALLOW);
        for (flags, expected) in
            [(0x21, REFUSED), (0x22, ALLOW), (0x01, ALLOW), (0x122, REFUSED), (0x4021, REFUSED)]
        {
            assert_eq!(all(table::MMAP, [0, 0, 0, HIGH | flags, 0, 0]), expected, "{flags:#x}");
        }
        for (request, expected) in [(0x5412, REFUSED), (0x541c, REFUSED), (0x5401, ALLOW)] {
            assert_eq!(all(table::IOCTL, [0, HIGH | request, 0, 0, 0, 0]), expected);
        }
        for (command, expected) in
            [(1024, REFUSED), (1026, REFUSED), (1040, REFUSED), (6, ALLOW), (1030, ALLOW)]
        {
            assert_eq!(all(table::FCNTL, [3, HIGH | command, 0, 0, 0, 0]), expected, "{command}");
        }
    }

    #[test]
    fn modes_that_run_as_the_owner_are_refused_where_they_count() {
        for (call, flags, mode) in table::WITH_MODE.iter().filter(|row| row.0.number().is_some()) {
            let mut arguments = [0; 6];
            for (bits, is_refused) in
                [(0o4755, true), (0o2755, true), (0o1777, false), (0o100_644, false)]
            {
                arguments[*mode as usize] = HIGH | bits;
                if let Some(flags) = flags {
                    arguments[*flags as usize] = 0x8000;
                    assert_eq!(answer(CLOSED, *call, arguments), ALLOW, "{}", call.name);
                    arguments[*flags as usize] = 0x8041;
                }
                let expected = if is_refused { REFUSED } else { ALLOW };
                assert_eq!(answer(CLOSED, *call, arguments), expected, "{} {bits:o}", call.name);
            }
        }
    }

    #[test]
    fn other_processes_are_left_alone_at_the_partial_level() {
        let partial = Rules { partial: true, ..CLOSED };
        for (call, arguments) in table::OF_OTHERS {
            assert_eq!(answer(partial, *call, [0, 0, 7, 7, 7, 7]), ALLOW, "{}", call.name);
            for index in *arguments {
                let mut given = [0; 6];
                given[*index as usize] = 1;
                assert_eq!(answer(partial, *call, given), REFUSED, "{}", call.name);
                assert_eq!(answer(CLOSED, *call, given), ALLOW, "{}", call.name);
            }
        }
    }
}
