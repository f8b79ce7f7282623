//! The programs that install packages, what they see, and the SDK that they install.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{references, requirements};
use crate::{environment::is_listed, runtime::Environment};

/// The published package of the SDK.
const SDK: &str = "agentevals-evaluator-sdk";

/// The package that is installed into every environment, so that evaluators need not name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sdk(Option<OsString>);

impl Sdk {
    /// `$EVALUATOR_PYTHON_SDK`: another requirement, or a file, in place of the published package; `none` for none.
    pub(super) fn of(environment: &Environment) -> Self {
        let chosen = match environment.get("EVALUATOR_PYTHON_SDK") {
            None => Some(SDK.into()),
            Some(none) if none == "none" => None,
            // Installers run in other directories.
            Some(path) if Path::new(path).exists() => {
                std::path::absolute(path).ok().map(PathBuf::into_os_string)
            }
            Some(requirement) => Some(requirement.to_owned()),
        };
        Self(chosen)
    }

    /// The requirement to install; `None` if there is none.
    pub(super) fn requirement(&self) -> Option<&OsStr> {
        self.0.as_deref()
    }

    /// The requirement, if it names a package of the index.
    pub(super) fn plain(&self) -> Option<&str> {
        let text = self.0.as_ref()?.to_str()?;
        (requirements::is_plain(text) && !Path::new(text).exists()).then_some(text)
    }

    /// Returns true if any version of the published package is accepted.
    pub(super) fn is_default(&self) -> bool {
        self.0.as_ref().is_some_and(|requirement| requirement == SDK)
    }

    pub(super) fn digest_into(&self, digest: &mut Sha256) {
        if let Some(requirement) = &self.0 {
            digest.update(requirement.as_encoded_bytes());
            references::content_into(Path::new(requirement), digest);
        }
        digest.update([0]);
    }
}

/// The program that creates environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Installer {
    /// uv, found here.
    Uv(PathBuf),
    /// `venv` and pip of the interpreter.
    Pip,
}

impl Installer {
    /// Chooses uv if it is on `PATH`: it takes a fraction of the time.
    pub(super) fn find(environment: &Environment) -> Self {
        environment.find_program("uv").map_or(Self::Pip, Self::Uv)
    }

    /// Name for messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Uv(_) => "uv",
            Self::Pip => "venv and pip",
        }
    }

    /// Arguments for packages of this machine, whose cached builds may be outdated.
    pub(super) fn of_this_machine(&self) -> &'static [&'static str] {
        match self {
            // It only checks the time of their manifest.
            Self::Uv(_) => &["--refresh"],
            // It builds them each time.
            Self::Pip => &[],
        }
    }
}

/// Variables that would make an installer put packages elsewhere, use packages of elsewhere, or do nothing: the environment
/// would look complete and would not be.
const MISLEADING: &str = "\
    PYTHONHOME PYTHONPATH PYTHONUSERBASE __PYVENV_LAUNCHER__ VIRTUAL_ENV CONDA_PREFIX PIP_DRY_RUN PIP_EDITABLE \
    PIP_NO_DEPS PIP_PREFIX PIP_PYTHON PIP_REPORT PIP_REQUIREMENT PIP_ROOT PIP_TARGET PIP_USER UV_NO_DEPS UV_PREFIX \
    UV_PYTHON UV_SYSTEM_PYTHON UV_TARGET UV_VENV_CLEAR UV_VENV_SEED UV_WORKING_DIRECTORY";

/// What an installer sees for a fetched evaluator, and with it the code that a package runs while it is installed: locations of
/// programs, home and temporary directories, how to reach the index, and what Windows needs to start anything.
const MINIMAL: &str = "\
    PATH HOME USER LOGNAME TMPDIR TEMP TMP XDG_CACHE_HOME XDG_CONFIG_DIRS XDG_CONFIG_HOME XDG_DATA_HOME LANG \
    LANGUAGE LD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE \
    SSL_CERT_DIR SSL_CLIENT_CERT REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NIX_SSL_CERT_FILE NETRC APPDATA COMSPEC \
    LOCALAPPDATA NUMBER_OF_PROCESSORS PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA SYSTEMDRIVE SYSTEMROOT \
    USERPROFILE WINDIR";

/// The environment of an installer: all of `inherited` that does not mislead it; for a `fetched` evaluator, only what an
/// installation needs.
pub(super) fn installer_environment(inherited: &Environment, fetched: bool) -> Environment {
    inherited.retaining(|name, _| {
        let name = name.to_string_lossy().to_uppercase();
        !is_listed(&name, MISLEADING) && (!fetched || is_minimal(&name))
    })
}

/// `name` is in upper case: names of proxies occur in both.
fn is_minimal(name: &str) -> bool {
    // Settings of the installers: index, mode, certificates. Not those for publishing.
    let is_setting = (name.starts_with("PIP_") || name.starts_with("UV_"))
        && !name.starts_with("UV_PUBLISH_")
        && !name.ends_with("_TOKEN");
    is_setting || name.starts_with("LC_") || is_listed(name, MINIMAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::CommandSpec;

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
        let variables = installer_environment(&Environment::new(INHERITED), fetched);
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
