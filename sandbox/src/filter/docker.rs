//! The filter as a file for `docker run --security-opt seccomp=FILE`.

use serde_json::{Value, json};

use super::{
    AF_INET, AF_INET6, AF_UNIX, GROWS_DOWN, LEASES, NEW_NAMESPACE, NOT_IMPLEMENTED, NOT_PERMITTED,
    SHARED_ANONYMOUS, TERMINAL_INPUT, table,
};

/// Flags of `open` with which the mode has a meaning: `O_CREAT`, `O_TMPFILE`.
const CREATES: [u32; 2] = [0x40, 0x40_0000];

/// Bits of a mode: set-user-ID, set-group-ID.
const RUNS_AS_OWNER: [u32; 2] = [0o4000, 0o2000];

/// Address families from which on none is known.
const FAMILIES: u32 = 64;

/// Returns the filter of the full level in the format of Docker and Podman, for the architecture of this machine.
///
/// `network` permits IPv4 and IPv6. Calls of other architectures end the process.
pub fn docker_profile(network: bool) -> Value {
    let architecture =
        if cfg!(target_arch = "aarch64") { "SCMP_ARCH_AARCH64" } else { "SCMP_ARCH_X86_64" };
    let names = |calls: &[table::Call]| calls.iter().map(|call| call.name).collect::<Vec<_>>();
    let mut rules = vec![
        refusal(&names(table::ABSENT), NOT_IMPLEMENTED, json!([])),
        refusal(&names(table::REFUSED), NOT_PERMITTED, json!([])),
    ];
    let families: Vec<Value> = if network {
        let known = (0..FAMILIES).filter(|family| ![AF_UNIX, AF_INET, AF_INET6].contains(family));
        known
            .map(|family| bits(0, u32::MAX, family))
            .chain([json!({"index": 0, "value": FAMILIES, "op": "SCMP_CMP_GE"})])
            .collect()
    } else {
        vec![json!({"index": 0, "value": AF_UNIX, "op": "SCMP_CMP_NE"})]
    };
    let mut refuse = |names: &[&str], condition: Value| {
        rules.push(refusal(names, NOT_PERMITTED, json!([condition])));
    };
    for family in families {
        refuse(&[table::SOCKET.name, table::SOCKETPAIR.name], family);
    }
    for flag in NEW_NAMESPACE {
        refuse(&[table::CLONE.name], bits(0, flag, flag));
    }
    for request in TERMINAL_INPUT {
        refuse(&[table::IOCTL.name], bits(1, u32::MAX, request));
    }
    for lease in LEASES {
        refuse(&[table::FCNTL.name], bits(1, u32::MAX, lease));
    }
    for flags in [SHARED_ANONYMOUS, GROWS_DOWN] {
        refuse(&[table::MMAP.name], bits(3, flags, flags));
    }
    for (call, flags, mode) in table::WITH_MODE {
        for bit in RUNS_AS_OWNER.map(|bit| bits(*mode, bit, bit)) {
            let conditions = match flags {
                None => vec![json!([bit])],
                Some(flags) => CREATES.map(|flag| json!([bits(*flags, flag, flag), bit])).into(),
            };
            rules.extend(conditions.into_iter().map(|it| refusal(&[call.name], NOT_PERMITTED, it)));
        }
    }
    json!({"defaultAction": "SCMP_ACT_ALLOW", "architectures": [architecture], "syscalls": rules})
}

fn refusal(names: &[&str], errno: u32, conditions: Value) -> Value {
    json!({"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": errno, "args": conditions})
}

/// The condition that these bits of an argument have this value.
fn bits(index: u32, mask: u32, value: u32) -> Value {
    json!({"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_leases_that_the_sandbox_refuses_are_refused() {
        let profile = docker_profile(true);
        let rules = profile["syscalls"].as_array().unwrap();
        let answers = |call: &str| {
            let rules = rules
                .iter()
                .filter(|rule| rule["names"].as_array().unwrap().contains(&call.into()));
            rules.map(|rule| (rule["errnoRet"].clone(), rule["args"].clone())).collect::<Vec<_>>()
        };
        for call in ["openat2", "clone3", "landlock_add_rule"] {
            assert_eq!(answers(call), [(json!(NOT_IMPLEMENTED), json!([]))], "{call}");
        }
        let lease = (json!(NOT_PERMITTED), json!([bits(1, u32::MAX, 1024)]));
        assert!(answers("fcntl").contains(&lease), "{:?}", answers("fcntl"));
    }

    #[test]
    fn network_decides_about_addresses_only() {
        let families = |network| {
            let profile = docker_profile(network);
            let rules = profile["syscalls"].as_array().unwrap().clone();
            let (sockets, others): (Vec<_>, Vec<_>) =
                rules.into_iter().partition(|rule| rule["names"][0] == "socket");
            (sockets, others)
        };
        let ((closed, others), (open, same)) = (families(false), families(true));
        assert_eq!(others, same);
        assert_eq!(closed.len(), 1);
        assert_eq!(closed[0]["args"][0]["op"], "SCMP_CMP_NE");
        let refused = |family: u32| {
            open.iter().any(|rule| rule["args"] == json!([bits(0, u32::MAX, family)]))
        };
        assert!(refused(16) && refused(40) && !refused(AF_INET) && !refused(AF_INET6));
    }
}
