//! The filter as a program of the kernel's classic BPF.

use super::{
    AF_INET, AF_INET6, AF_UNIX, NEW_NAMESPACE, NOT_IMPLEMENTED, NOT_PERMITTED, SHARED_ANONYMOUS,
    TERMINAL_INPUT, table,
};

/// What the filter depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Permits IPv4 and IPv6.
    pub(crate) network: bool,
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
    }
    let mut families = Vec::new();
    if rules.network {
        families.extend([AF_INET, AF_INET6]);
    }
    program.family(table::SOCKETPAIR, &[AF_UNIX]);
    if rules.unix {
        families.push(AF_UNIX);
    }
    program.family(table::SOCKET, &families);
    let namespaces = NEW_NAMESPACE.iter().fold(0, |flags, flag| flags | flag);
    program.look_at(table::CLONE, 0, |program| {
        program.refuse_if(IF_ANY_BIT, namespaces, ERRNO | NOT_PERMITTED);
    });
    program.look_at(table::MMAP, 3, |program| {
        program.then(AND, SHARED_ANONYMOUS);
        program.refuse_if(IF_EQUAL, SHARED_ANONYMOUS, ERRNO | NOT_PERMITTED);
    });
    program.look_at(table::IOCTL, 1, |program| {
        let attributes = if rules.partial { &FILE_ATTRIBUTES[..] } else { &[] };
        for request in TERMINAL_INPUT.iter().chain(attributes) {
            program.refuse_if(IF_EQUAL, *request, ERRNO | NOT_PERMITTED);
        }
    });
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

    /// Looks at an argument of a call, which is permitted if `conditions` do not refuse it.
    fn look_at(&mut self, call: table::Call, index: u32, conditions: impl FnOnce(&mut Self)) {
        let Some(number) = call.number() else { return };
        let start = self.0.len();
        self.0.push(Instruction { code: IF_EQUAL, if_true: 0, if_false: 0, value: number });
        self.then(LOAD, argument(index));
        conditions(self);
        self.then(RETURN, ALLOW);
        let length = self.0.len() - start - 1;
        // A few conditions: far below the longest jump.
        self.0[start].if_false = u8::try_from(length).unwrap_or(u8::MAX);
    }

    fn family(&mut self, call: table::Call, permitted: &[u32]) {
        self.look_at(call, 0, |program| {
            for (position, family) in permitted.iter().enumerate() {
                let left = u8::try_from(permitted.len() - position).unwrap_or(u8::MAX);
                program.0.push(Instruction {
                    code: IF_EQUAL,
                    if_true: left,
                    if_false: 0,
                    value: *family,
                });
            }
            program.then(RETURN, ERRNO | NOT_PERMITTED);
        });
    }
}
