//! The environment variables installers see.

use std::ffi::{OsStr, OsString};

use crate::{process::CommandSpec, runtime::Environment};

/// Variables that would make an installer put packages somewhere else, see packages of somewhere else, or do nothing: the
/// environment would look complete and not be.
const MISLEADING: &[&str] = &[
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONUSERBASE",
    "__PYVENV_LAUNCHER__",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PIP_DRY_RUN",
    "PIP_EDITABLE",
    "PIP_NO_DEPS",
    "PIP_PREFIX",
    "PIP_PYTHON",
    "PIP_REPORT",
    "PIP_REQUIREMENT",
    "PIP_ROOT",
    "PIP_TARGET",
    "PIP_USER",
    "UV_NO_DEPS",
    "UV_PREFIX",
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
    "UV_TARGET",
    "UV_VENV_CLEAR",
    "UV_VENV_SEED",
    "UV_WORKING_DIRECTORY",
];

/// What an installer may see when it works for an evaluator that was fetched: whatever a package runs while it is
/// installed sees it too.
const MINIMAL: &[&str] = &[
    // Where programs, home and temporary folders are.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TEMP",
    "TMP",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    // How to reach the index.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SSL_CLIENT_CERT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NIX_SSL_CERT_FILE",
    "NETRC",
    // Without these Windows starts nothing.
    "APPDATA",
    "COMSPEC",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERPROFILE",
    "WINDIR",
];

/// The variables of one installation.
#[derive(Clone)]
pub(super) struct Variables {
    kept: Vec<(OsString, OsString)>,
}

/// Shows names only: values may be secrets.
impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.kept.iter().map(|(name, _)| name)).finish()
    }
}

impl Variables {
    /// All of `inherited` that does not mislead; for a `fetched` evaluator, only what an installation cannot do without.
    pub(super) fn new(inherited: &Environment, fetched: bool) -> Self {
        let keeps = |name: &OsStr| {
            let name = name.to_string_lossy().to_uppercase();
            !MISLEADING.contains(&name.as_str()) && (!fetched || is_minimal(&name))
        };
        let kept = inherited.iter().filter(|(name, _)| keeps(name));
        Self { kept: kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect() }
    }

    /// The command with these variables and no others.
    pub(super) fn give_to(&self, mut command: CommandSpec) -> CommandSpec {
        command.clear_env = true;
        command.env =
            self.kept.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        command
    }
}

/// `name` in upper case: names of proxies are written in either.
fn is_minimal(name: &str) -> bool {
    // Settings of the installers themselves: which index, how, and where its certificates are. Not what they publish or
    // fetch other things with.
    let is_setting = (name.starts_with("PIP_") || name.starts_with("UV_"))
        && !name.starts_with("UV_PUBLISH_")
        && !name.ends_with("_TOKEN");
    is_setting || name.starts_with("LC_") || MINIMAL.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INHERITED: [(&str, &str); 15] = [
        ("PATH", "/bin"),
        ("HOME", "/h"),
        ("OPENAI_API_KEY", "secret"),
        ("GITHUB_TOKEN", "secret"),
        ("UV_PUBLISH_PASSWORD", "secret"),
        ("UV_GITHUB_TOKEN", "secret"),
        ("PIP_INDEX_URL", "https://index"),
        ("PIP_CONFIG_FILE", "/pip.conf"),
        ("UV_INDEX_URL", "https://index"),
        ("UV_DEFAULT_INDEX", "https://index"),
        ("https_proxy", "p"),
        ("SSL_CERT_FILE", "/c"),
        ("LC_ALL", "C"),
        ("PIP_TARGET", "/elsewhere"),
        ("PYTHONPATH", "/lib"),
    ];

    fn names(fetched: bool) -> Vec<String> {
        let variables = Variables::new(&Environment::new(INHERITED), fetched);
        let command = variables.give_to(CommandSpec::new("pip"));
        assert!(command.clear_env);
        command.env.into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn for_fetched_evaluators_only_what_an_installation_needs_is_there() {
        assert_eq!(
            names(true),
            [
                "PATH",
                "HOME",
                "PIP_INDEX_URL",
                "PIP_CONFIG_FILE",
                "UV_INDEX_URL",
                "UV_DEFAULT_INDEX",
                "https_proxy",
                "SSL_CERT_FILE",
                "LC_ALL"
            ]
        );
    }

    #[test]
    fn for_others_only_what_misleads_is_taken_away() {
        let taken: Vec<&str> = INHERITED
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !names(false).iter().any(|kept| kept == name))
            .collect();
        assert_eq!(taken, ["PIP_TARGET", "PYTHONPATH"]);
    }
}
