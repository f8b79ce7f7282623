//! The executor `sandbox`: programs run without the files, the network and the processes of this machine.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use evaluator_sandbox::{HELPER_ERROR, HELPER_FAILED, Level, Limits, Policy, support};

use super::{CONTAINED_MEMORY, Contained, Containment, Executor, MAX_FILE_SIZE, Scope, Visible};
use crate::{
    environment::Environment,
    process::{CommandSpec, Starter},
};

/// Runs commands in a sandbox of the crate `evaluator-sandbox`: on Linux, without privileges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sandbox;

impl Executor for Sandbox {
    fn name(&self) -> &str {
        "sandbox"
    }

    fn contains(&self) -> bool {
        true
    }

    /// At the partial level, a fork could not be ended without the server: programs cannot form process groups.
    fn forks(&self, containment: &Containment) -> bool {
        containment.level == Level::Full
    }

    /// At the partial level there is no network namespace.
    fn listens(&self, containment: &Containment) -> bool {
        containment.level == Level::Full && !containment.network
    }

    fn check(&self, containment: &Containment) -> Result<String, String> {
        let found = support(containment.level).map_err(|refusal| refusal.to_string())?;
        let namespaces = match found.namespaces.join(", ") {
            names if names.is_empty() => String::new(),
            names => format!("{names} namespaces; "),
        };
        let landlock = match found.landlock_abi {
            Some(abi) => format!("Landlock ABI {abi}"),
            None => "no Landlock".to_owned(),
        };
        Ok(format!("{}: {namespaces}{landlock}; seccomp", found.level.name()))
    }

    fn contained(&self, containment: &Containment) -> Option<Contained> {
        let found = support(containment.level).ok()?;
        Some(Contained {
            executor: self.name().to_owned(),
            level: Some(found.level.name().to_owned()),
            landlock_abi: found.landlock_abi,
            namespaces: found.namespaces.clone(),
            network: containment.network,
            ..Contained::default()
        })
    }

    fn wrap(&self, command: CommandSpec, scope: &Scope<'_>) -> Result<CommandSpec, String> {
        let variables = variables(&command, scope).with_default("PYTHONDONTWRITEBYTECODE", "1");
        let policy = policy(&command, scope);
        start(command, variables, &policy)
    }
}

/// Limits of a build, which needs more than an evaluator.
const BUILD_LIMITS: Limits =
    Limits { memory: Some(4 << 30), cpu: None, open_files: Some(4096), file_size: Some(1 << 30) };
const BUILD_TMP: u64 = 256 << 20;
const BUILD_PROCESSES: u32 = 2000;

/// Returns the command that builds or installs an evaluator without network, which can read and change these paths only.
///
/// # Errors
///
/// Why this machine cannot contain it.
pub(crate) fn contain_build(
    command: CommandSpec,
    containment: &Containment,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
) -> Result<CommandSpec, String> {
    support(containment.level).map_err(|refusal| refusal.to_string())?;
    let policy = Policy {
        level: containment.level,
        network: false,
        listener: None,
        read,
        write,
        tmp: BUILD_TMP,
        processes: BUILD_PROCESSES,
        limits: BUILD_LIMITS,
    };
    let visible = Visible { paths: policy.read.iter().chain(&policy.write).cloned().collect() };
    let alone = Containment { read: Vec::new(), write: Vec::new(), ..containment.clone() };
    let variables = variables(&command, &Scope::new(&alone, &visible));
    start(command, variables, &policy)
}

/// Returns the command of the helper, which starts `command` with these variables.
fn start(
    command: CommandSpec,
    variables: Environment,
    policy: &Policy,
) -> Result<CommandSpec, String> {
    let program = find(&command, &variables)?;
    // The helper is not contained, and must not load what the evaluator has built.
    let (of_loader, variables): (Vec<_>, Vec<_>) =
        variables.iter().partition(|(name, _)| is_of_loader(name));
    let mut policy = policy.clone();
    let (program, args) = if of_loader.is_empty() {
        (program, command.args)
    } else if program.as_os_str().as_encoded_bytes().contains(&b'=') {
        return Err(format!("{} has a `=` in its path; rename the directory", program.display()));
    } else {
        // Below a directory that can be changed it is there anyway, and its link names what else has to be.
        let is_changeable = policy.write.iter().any(|directory| program.starts_with(directory));
        policy.read.push(match program.canonicalize() {
            Ok(real) if is_changeable => real,
            _ => program.clone(),
        });
        let set = of_loader.into_iter().map(|(name, value)| assignment(name, value));
        (PathBuf::from(SETTER), set.chain([program.into()]).chain(command.args).collect())
    };
    // An absolute one, because the sandbox has no other.
    let cwd = command.cwd.or_else(|| env::current_dir().ok());
    let wrapped = evaluator_sandbox::wrap(&policy, &program, &args, cwd.as_deref());
    let wrapped = wrapped.map_err(|refusal| refusal.to_string())?;
    Ok(CommandSpec {
        program: wrapped.program.into(),
        args: wrapped.args,
        env: variables
            .iter()
            .map(|(name, value)| ((*name).into(), Some((*value).into())))
            .collect(),
        clear_env: true,
        starter: Some(Starter {
            program: command.program,
            codes: &[HELPER_FAILED, 126, 127],
            prefix: HELPER_ERROR,
        }),
        ..CommandSpec::default()
    })
}

/// The program that sets variables and starts another one.
const SETTER: &str = "/usr/bin/env";

/// Returns true for variables by which code gets into every program that is started with them.
fn is_of_loader(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"LD_") || [&b"GLIBC_TUNABLES"[..], b"GCONV_PATH", b"LOCPATH"].contains(&name)
}

fn assignment(name: &OsStr, value: &OsStr) -> OsString {
    [name, "=".as_ref(), value].into_iter().collect()
}

/// Returns the path of the program. A name is looked up outside of the sandbox, where `PATH` has more directories.
fn find(command: &CommandSpec, variables: &Environment) -> Result<PathBuf, String> {
    variables.find_program(&command.program).ok_or_else(|| {
        format!("`{}` was not found, or cannot be executed", command.program.display())
    })
}

fn policy(command: &CommandSpec, scope: &Scope<'_>) -> Policy {
    let Containment { level, network, read, write, tmp, processes, .. } = scope.containment;
    let limits = Limits::default();
    let resources = command.resources;
    Policy {
        level: *level,
        network: *network,
        listener: scope.listener.cloned(),
        read: scope.visible.paths.iter().chain(read).cloned().collect(),
        write: write.clone(),
        tmp: *tmp,
        processes: *processes,
        limits: Limits {
            memory: resources.memory.or(Some(CONTAINED_MEMORY)),
            cpu: resources.cpu,
            open_files: resources.open_files.or(limits.open_files),
            file_size: Some(MAX_FILE_SIZE),
        },
    }
}

/// Directories for temporary files, which do not exist in the sandbox. Programs use `/tmp` without them.
const TEMPORARY: [&str; 3] = ["TMPDIR", "TEMP", "TMP"];

/// Variables that name files which programs read, and fail or warn if they cannot.
const FILES: [&str; 7] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PYTHONSTARTUP",
    "LD_PRELOAD",
];

/// Options in `NODE_OPTIONS` that name files.
const NODE_FILES: [&str; 5] = ["-r ", "--require", "--import", "--loader", "--experimental-loader"];

/// The home directory: a name in the temporary directory, so that a program can create it.
const HOME: &str = "/tmp/home";

/// Returns the variables of a program: those of the command, or those that any program may see.
fn variables(command: &CommandSpec, scope: &Scope<'_>) -> Environment {
    let inherited = Environment::inherited();
    let start = if command.clear_env { Environment::default() } else { inherited.confined() };
    let set = command.env.iter().fold(start, |set, (name, value)| match value {
        Some(value) => set.with(name, value),
        None => set.retaining(|known, _| known != name),
    });
    let is_home = |value: &OsStr| inherited.get("HOME") == Some(value);
    let kept = set.retaining(|name, value| {
        let Some(name) = name.to_str() else { return true };
        let names_options = |option: &str| value.to_string_lossy().contains(option);
        match name {
            "HOME" => !is_home(value),
            "NODE_OPTIONS" => !NODE_FILES.iter().any(|option| names_options(option)),
            _ if TEMPORARY.contains(&name) => false,
            _ if FILES.contains(&name) => is_visible(Path::new(value), scope),
            _ => true,
        }
    });
    kept.with_default("HOME", HOME)
}

/// Returns true if a path can be read inside.
fn is_visible(path: &Path, Scope { containment, visible, .. }: &Scope<'_>) -> bool {
    let named = visible.paths.iter().chain(&containment.read).chain(&containment.write);
    let certificates = containment.network.then_some(Path::new("/etc/ssl/certs"));
    let shown = named.map(PathBuf::as_path).chain([Path::new("/usr")]).chain(certificates);
    shown.into_iter().any(|shown| path.starts_with(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_name_what_is_not_there_are_dropped() {
        let containment = Containment { read: vec!["/data".into()], ..Containment::default() };
        let visible = Visible { paths: ["/src".into()].into() };
        let scope = Scope::new(&containment, &visible);
        let command = CommandSpec { clear_env: true, ..CommandSpec::new("x") };
        let command = [
            ("TMPDIR", "/var/tmp"),
            ("SSL_CERT_FILE", "/etc/ssl/mine.pem"),
            ("REQUESTS_CA_BUNDLE", "/data/ca.pem"),
            ("NODE_OPTIONS", "--require /x.cjs"),
            ("OTHER", "/etc/ssl/mine.pem"),
            ("HOME", "/chosen"),
        ]
        .into_iter()
        .fold(command, |command, (name, value)| command.env(name, value));
        let seen = variables(&command, &scope);
        let mut seen: Vec<_> = seen.iter().filter_map(|(name, _)| name.to_str()).collect();
        seen.sort_unstable();
        let expected = ["HOME", "OTHER", "REQUESTS_CA_BUNDLE"];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_command_that_inherits_gets_no_secrets() {
        let (containment, visible) = (Containment::default(), Visible::default());
        let scope = Scope::new(&containment, &visible);
        let seen = variables(&CommandSpec::new("x").env("OWN", "1"), &scope);
        assert_eq!(seen.get("HOME"), Some(OsStr::new(HOME)));
        assert_eq!(seen.get("OWN"), Some(OsStr::new("1")));
        assert_eq!(seen.get("CARGO_MANIFEST_DIR"), None, "not one that any program may see");
    }

    #[test]
    fn the_policy_has_the_limits_of_the_command_and_defaults() {
        let (containment, visible) = (Containment::default(), Visible::default());
        let scope = Scope::new(&containment, &visible);
        let mut command = CommandSpec::new("x");
        command.resources.cpu = Some(3);
        let policy = policy(&command, &scope);
        let expected = Limits { cpu: Some(3), ..Limits::default() };
        assert_eq!((policy.limits, policy.network), (expected, false));
    }
}
