//! What an evaluator sees of the environment: decided here for all of them, whoever wrote them.

use std::ffi::{OsStr, OsString};

use super::{Environment, environment::same_name, secrets::looks_secret};
use crate::process::CommandSpec;

/// Which variables of this process an evaluator inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// All of them.
    All,
    /// All but [secrets](super::secrets).
    #[default]
    Open,
    /// What it takes to start a program and to speak the user's language, see [`Environment::confined`].
    Confined,
}

/// The variables of an evaluator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// All that is there but for what is set; `None` leaves what this process has, without what is withheld.
    only: Option<Environment>,
    withheld: Vec<OsString>,
    set: Vec<(String, String)>,
    absent: Vec<String>,
}

impl Visible {
    /// What is inherited of the environment, and `variables`: by name, with the value they have here (`None`) or another one.
    #[must_use]
    pub fn new(
        inherited: &Environment,
        inherit: Inherit,
        variables: &[(String, Option<String>)],
    ) -> Self {
        let named =
            |name: &OsStr| variables.iter().any(|(known, _)| same_name(name, known.as_ref()));
        let secret = |name: &OsStr, value: &OsStr| {
            looks_secret(&name.to_string_lossy(), &value.to_string_lossy())
        };
        let withheld = inherited
            .iter()
            .filter(|(name, value)| inherit != Inherit::All && !named(name) && secret(name, value))
            .map(|(name, _)| name.to_owned())
            .collect();
        let mut only = (inherit == Inherit::Confined).then(|| inherited.confined());
        let mut absent = Vec::new();
        for (name, _) in variables.iter().filter(|(_, value)| value.is_none()) {
            match inherited.iter().find(|(known, _)| same_name(known, name.as_ref())) {
                Some((name, value)) => only = only.map(|only| only.with(name, value)),
                None => absent.push(name.clone()),
            }
        }
        let set = variables
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
            .collect();
        Self { only, withheld, set, absent }
    }

    /// Secrets of this process that the evaluator does not see.
    pub fn withheld(&self) -> impl Iterator<Item = String> {
        self.withheld.iter().map(|name| name.to_string_lossy().into_owned())
    }

    /// Variables that were to be passed on and are not set here.
    #[must_use]
    pub fn absent(&self) -> &[String] {
        &self.absent
    }

    /// Whether it is what this process sees itself.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.only.is_none() && self.withheld.is_empty() && self.set.is_empty()
    }

    /// The command with these variables. Those that its runtime sets are kept, but for what the evaluator's own entry sets.
    #[must_use]
    pub fn give_to(&self, mut command: CommandSpec) -> CommandSpec {
        let runtimes = std::mem::take(&mut command.env);
        let removed = self.withheld.iter().map(|name| (name.clone(), None));
        let set = self.set.iter().map(|(name, value)| (name.into(), Some(value.into())));
        command.env = match &self.only {
            Some(only) => {
                command.clear_env = true;
                let kept = only.iter().map(|(name, value)| (name.into(), Some(value.into())));
                kept.chain(runtimes).chain(set).collect()
            }
            None => removed.chain(runtimes).chain(set).collect(),
        };
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INHERITED: [(&str, &str); 5] = [
        ("PATH", "/bin"),
        ("RUST_LOG", "debug"),
        ("OPENAI_API_KEY", "k"),
        ("GITHUB_TOKEN", "t"),
        ("https_proxy", "http://me:pw@p:1"),
    ];

    fn visible(inherit: Inherit, variables: &[(&str, Option<&str>)]) -> Visible {
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
            .collect();
        Visible::new(&Environment::new(INHERITED), inherit, &variables)
    }

    /// What a program sees in the end whose runtime sets `OWN`, and `RUST_LOG` to another value.
    fn seen(visible: &Visible) -> Vec<(String, String)> {
        let command = CommandSpec::new("x").env("OWN", "1").env("RUST_LOG", "runtime");
        let command = visible.give_to(command);
        let start =
            if command.clear_env { Environment::default() } else { Environment::new(INHERITED) };
        let end = command.env.into_iter().fold(start, |seen, (name, value)| match value {
            Some(value) => seen.with(name, value),
            None => Environment::new(
                seen.iter()
                    .filter(|(known, _)| *known != name)
                    .map(|(n, v)| (n.to_owned(), v.to_owned())),
            ),
        });
        let text = |text: &OsStr| text.to_str().unwrap().to_owned();
        let mut seen: Vec<_> = end.iter().map(|(name, value)| (text(name), text(value))).collect();
        seen.sort();
        seen
    }

    fn names(visible: &Visible) -> Vec<String> {
        seen(visible).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn each_form_shows_what_it_says() {
        let all = ["GITHUB_TOKEN", "OPENAI_API_KEY", "OWN", "PATH", "RUST_LOG", "https_proxy"];
        assert_eq!(names(&visible(Inherit::All, &[])), all);
        assert_eq!(names(&visible(Inherit::Open, &[])), ["OWN", "PATH", "RUST_LOG"]);
        // `RUST_LOG` is the runtime's.
        assert_eq!(names(&visible(Inherit::Confined, &[])), ["OWN", "PATH", "RUST_LOG"]);
        let secrets = ["OPENAI_API_KEY", "GITHUB_TOKEN", "https_proxy"];
        for inherit in [Inherit::Open, Inherit::Confined] {
            assert!(visible(inherit, &[]).withheld().eq(secrets));
            assert!(!visible(inherit, &[]).is_all());
        }
        assert_eq!(visible(Inherit::All, &[]).withheld().count(), 0);
        assert!(visible(Inherit::All, &[]).is_all());
    }

    #[test]
    fn what_an_entry_names_is_seen_whatever_the_form() {
        let variables = [("OPENAI_API_KEY", None), ("GITHUB_TOKEN", Some("other")), ("GONE", None)];
        for inherit in [Inherit::All, Inherit::Open, Inherit::Confined] {
            let visible = visible(inherit, &variables);
            let seen = seen(&visible);
            for (name, value) in [("OPENAI_API_KEY", "k"), ("GITHUB_TOKEN", "other")] {
                assert!(
                    seen.contains(&(name.to_owned(), value.to_owned())),
                    "{inherit:?} {seen:?}"
                );
            }
            assert_eq!(visible.absent(), ["GONE"]);
            assert!(visible.withheld().all(|name| name == "https_proxy"));
        }
    }

    #[test]
    fn an_entry_has_the_last_word() {
        for inherit in [Inherit::All, Inherit::Open, Inherit::Confined] {
            let seen = seen(&visible(inherit, &[("RUST_LOG", Some("mine"))]));
            assert!(seen.contains(&("RUST_LOG".to_owned(), "mine".to_owned())), "{seen:?}");
        }
    }
}
