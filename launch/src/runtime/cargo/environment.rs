//! The environment in which cargo is started.
//!
//! This program may itself run under cargo (`cargo run`, `cargo test`, `cargo evaluator`). The variables of the outer
//! cargo must not reach the inner one: another target directory would make both wait for one lock, and other compiler
//! flags would recompile everything.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use crate::runtime::{
    Environment,
    environment::{is_harmless, is_listed},
};

/// Variables that choose directories of build results.
const TARGET_DIRECTORIES: &str = "CARGO_BUILD_BUILD_DIR CARGO_BUILD_TARGET_DIR CARGO_TARGET_DIR";

/// The search path of the dynamic linker, which cargo extends for the programs that it runs.
pub(super) const LIBRARY_PATH: &str = if cfg!(windows) {
    "PATH"
} else if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// Changes to `inherited` for cargo, as in [`CommandSpec::env`](crate::process::CommandSpec::env).
///
/// `program` is the path of this program: an outer cargo has put its directory on the library path.
pub(super) fn changes(
    inherited: &Environment,
    program: Option<&Path>,
) -> Vec<(OsString, Option<OsString>)> {
    // Under an outer cargo they are for its package; otherwise the user has chosen them for all builds.
    let is_nested = inherited.get("CARGO_MANIFEST_DIR").is_some();
    let mut changes: Vec<_> = inherited
        .iter()
        .filter(|(name, _)| {
            name.to_str().is_some_and(|name| {
                is_scrubbed(name) || is_nested && is_listed(name, TARGET_DIRECTORIES)
            })
        })
        .map(|(name, _)| (name.to_owned(), None))
        .collect();
    if let (Some(_), Some(paths)) =
        (inherited.get("CARGO_MANIFEST_DIR"), inherited.get(LIBRARY_PATH))
    {
        let cleaned = without_outer_build(paths, inherited, program);
        if cleaned.as_deref() != Some(paths) {
            changes.push((LIBRARY_PATH.into(), cleaned));
        }
    }
    changes
}

/// The environment of a cargo that builds a fetched evaluator, whose build scripts and macros run then.
///
/// Cargo must find its own files and reach crates. Credentials of registries are not included, nor are proxies that
/// need a password.
pub(super) fn confined(inherited: &Environment) -> Vec<(OsString, Option<OsString>)> {
    const CONFINED: &str = "CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTUP_AUTO_INSTALL SSL_CERT_FILE SSL_CERT_DIR NO_PROXY no_proxy";
    const PROXIES: &str = "HTTPS_PROXY https_proxy HTTP_PROXY http_proxy ALL_PROXY all_proxy";
    let kept = inherited.iter().filter(|(name, value)| {
        let Some(name) = name.to_str() else { return false };
        let is_open = || value.to_str().is_some_and(|value| !value.contains('@'));
        is_harmless(name)
            || is_listed(name, CONFINED)
            || name.starts_with("CARGO_NET_")
            || name.starts_with("CARGO_HTTP_") && is_open()
            || is_listed(name, PROXIES) && is_open()
    });
    kept.map(|(name, value)| (name.to_owned(), Some(value.to_owned()))).collect()
}

/// Returns true for variables by which an outer cargo, a wrapper around it (clippy, coverage), or a shell changes what
/// is built and where.
///
/// Compiler flags are left to the configuration files of cargo, so that they are the same for every run.
/// `RUSTUP_TOOLCHAIN` stays: it is either what the user asked for, or what rustup would choose for this directory. So
/// do `CARGO_HOME`, `CARGO_NET_*`, `CARGO_HTTP_*`, `CARGO_REGISTRIES_*` and similar variables, which say how to reach
/// crates.
fn is_scrubbed(name: &str) -> bool {
    const NAMES: &str = "\
        CARGO CARGO_BIN_NAME CARGO_BUILD_RUSTFLAGS CARGO_CRATE_NAME CARGO_ENCODED_RUSTDOCFLAGS \
        CARGO_ENCODED_RUSTFLAGS CARGO_MAKEFLAGS CARGO_MANIFEST_DIR CARGO_MANIFEST_LINKS CARGO_MANIFEST_PATH \
        CARGO_PRIMARY_PACKAGE CARGO_TARGET_TMPDIR OUT_DIR RUSTC RUSTC_LINKER RUSTC_WORKSPACE_WRAPPER RUSTC_WRAPPER \
        RUSTDOC RUSTDOCFLAGS RUSTFLAGS RUST_RECURSION_COUNT";
    const PREFIXES: &str = "CARGO_BIN_EXE_ CARGO_CFG_ CARGO_FEATURE_ CARGO_PKG_";
    is_listed(name, NAMES)
        || PREFIXES.split(' ').any(|prefix| name.starts_with(prefix))
        || (name.starts_with("CARGO_TARGET_") && name.ends_with("_RUSTFLAGS"))
}

/// The library path without the directories of the outer build and its toolchain; `None` if nothing is left.
fn without_outer_build(
    paths: &OsStr,
    inherited: &Environment,
    program: Option<&Path>,
) -> Option<OsString> {
    let toolchains = inherited.get("RUSTUP_HOME").map(|home| Path::new(home).join("toolchains"));
    let own = program.and_then(Path::parent);
    // A program is in the directory of the profile, a test in `deps` or another subdirectory.
    let profiles: Vec<&Path> = own.into_iter().chain(own.and_then(Path::parent)).collect();
    let outer = |path: &Path| {
        path.components()
            .collect::<PathBuf>()
            .display()
            .to_string()
            .replace('\\', "/")
            .contains("/lib/rustlib/")
            || toolchains.as_deref().is_some_and(|toolchains| path.starts_with(toolchains))
            || profiles.iter().any(|profile| {
                path == *profile
                    || path == profile.join("deps")
                    || path.starts_with(profile.join("build"))
            })
    };
    let kept: Vec<PathBuf> = env::split_paths(paths).filter(|path| !outer(path)).collect();
    if kept.iter().all(|path| path.as_os_str().is_empty()) {
        return None;
    }
    // It was split before, so no entry contains a separator.
    env::join_paths(kept).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(vars: &[(&str, &str)]) -> Vec<String> {
        changes(&Environment::new(vars.iter().copied()), None)
            .into_iter()
            .map(|(name, value)| {
                assert_eq!(value, None);
                name.into_string().unwrap()
            })
            .collect()
    }

    #[test]
    fn what_an_outer_cargo_says_about_its_package_is_removed() {
        let vars = [
            ("CARGO", "/c"),
            ("CARGO_PKG_NAME", "outer"),
            ("CARGO_MANIFEST_DIR", "/outer"),
            ("CARGO_BIN_EXE_evaluator", "/e"),
            ("CARGO_TARGET_DIR", "/t"),
            ("CARGO_ENCODED_RUSTFLAGS", "-Dwarnings"),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-Dwarnings"),
            ("RUSTFLAGS", "-Dwarnings"),
            ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
        ];
        assert_eq!(removed(&vars), vars.map(|(name, _)| name));
    }

    #[test]
    fn a_confined_cargo_finds_its_own_and_sees_no_secrets() {
        let allowed = [
            ("PATH", "/bin"),
            ("CARGO_HOME", "/h"),
            ("CARGO_NET_OFFLINE", "true"),
            ("https_proxy", "http://p:1"),
        ];
        let secret = [
            ("GITHUB_TOKEN", "t"),
            ("CARGO_REGISTRY_TOKEN", "t"),
            ("CARGO_REGISTRIES_MINE_TOKEN", "t"),
            ("HTTPS_PROXY", "http://u:p@p:1"),
            ("CARGO_HTTP_PROXY", "http://u:p@p:1"),
            ("RUSTFLAGS", "-Dwarnings"),
        ];
        let inherited = Environment::new(allowed.into_iter().chain(secret));
        let names: Vec<_> = confined(&inherited)
            .into_iter()
            .map(|(name, value)| {
                (name.into_string().unwrap(), value.unwrap().into_string().unwrap())
            })
            .collect();
        assert_eq!(names, allowed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn what_says_how_to_reach_crates_or_belongs_to_the_evaluator_stays() {
        let vars = [
            ("CARGO_HOME", "/h"),
            ("CARGO_NET_OFFLINE", "true"),
            ("CARGO_HTTP_PROXY", "p"),
            ("CARGO_REGISTRIES_MINE_TOKEN", "t"),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", "clang"),
            ("CARGO_TARGET_DIR", "/t"),
            ("RUSTUP_HOME", "/r"),
            ("RUSTUP_TOOLCHAIN", "nightly"),
            ("RUST_LOG", "debug"),
            ("RUST_BACKTRACE", "1"),
            ("HTTPS_PROXY", "p"),
            ("OPENAI_API_KEY", "k"),
            ("CARGO_PKGS", "not cargo's"),
        ];
        assert_eq!(removed(&vars), [""; 0]);
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn folders_of_the_outer_build_leave_the_library_path() {
        let outer = "/p/target/debug/build/x/out:/p/target/debug:/p/target/debug/deps:\
                     /r/toolchains/t/lib/rustlib/x/lib:/r/toolchains/t/lib";
        let vars = |paths: String| {
            Environment::new([("CARGO_MANIFEST_DIR", "/p"), ("RUSTUP_HOME", "/r")])
                .with("LD_LIBRARY_PATH", paths)
        };
        let path_after = |environment: &Environment, program: &str| {
            changes(environment, Some(Path::new(program)))
                .into_iter()
                .find(|(name, _)| name == "LD_LIBRARY_PATH")
                .map(|(_, value)| value.map(|value| value.into_string().unwrap()))
        };
        for program in ["/p/target/debug/evaluator", "/p/target/debug/deps/cargo_runtime-1f"] {
            assert_eq!(path_after(&vars(outer.to_owned()), program), Some(None));
            assert_eq!(
                path_after(&vars(format!("{outer}:/opt/lib")), program),
                Some(Some("/opt/lib".to_owned()))
            );
        }
        assert_eq!(path_after(&vars("/opt/lib".to_owned()), "/p/target/debug/evaluator"), None);

        let not_under_cargo = Environment::new([("LD_LIBRARY_PATH", "/p/target/debug")]);
        assert_eq!(path_after(&not_under_cargo, "/p/target/debug/evaluator"), None);
    }
}
