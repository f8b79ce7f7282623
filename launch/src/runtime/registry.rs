//! The registry of runtimes.

use std::{
    path::Path,
    slice,
    sync::{Arc, mpsc},
    thread,
};

use indexmap::IndexSet;

use super::{
    Cargo, Entrypoint, Environment, Executable, Inputs, Launch, Node, PrepareError, PrepareEvent,
    Python, Runtime, paths,
};
use crate::{environment::is_script, process::Cancellation};

/// The runtimes that a run may use.
///
/// The default contains Python, JavaScript, TypeScript, Rust, and executable files.
#[derive(Clone, Debug)]
pub struct Runtimes {
    runtimes: Vec<Arc<dyn Runtime>>,
}

impl Default for Runtimes {
    fn default() -> Self {
        Self::in_environment(&Environment::inherited())
    }
}

impl Runtimes {
    /// A registry without runtimes, to be filled with [`register`](Self::register).
    pub fn empty() -> Self {
        Self { runtimes: Vec::new() }
    }

    /// The default runtimes, which look up interpreters, compilers and settings in `environment`.
    pub fn in_environment(environment: &Environment) -> Self {
        let mut runtimes = Self::empty();
        runtimes.register(Python::new(environment.clone()));
        runtimes.register(Node::javascript(environment.clone()));
        runtimes.register(Node::typescript(environment.clone()));
        runtimes.register(Cargo::new(environment.clone()));
        runtimes.register(Executable);
        runtimes
    }

    /// Adds a runtime. If several have the same extension, the last one is used.
    pub fn register(&mut self, runtime: impl Runtime + 'static) {
        self.runtimes.push(Arc::new(runtime));
    }

    /// The same runtimes, none of which installs packages.
    #[must_use]
    pub fn without_installing(mut self) -> Self {
        for runtime in &mut self.runtimes {
            if let Some(other) = runtime.without_installing() {
                *runtime = other;
            }
        }
        self
    }

    /// The registered runtimes, in the order of registration.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<dyn Runtime>> {
        self.runtimes.iter()
    }

    /// The extensions of all registered runtimes, with their dot.
    pub fn extensions(&self) -> impl Iterator<Item = &str> {
        let known: IndexSet<&str> =
            self.runtimes.iter().flat_map(|runtime| runtime.extensions()).copied().collect();
        known.into_iter()
    }

    /// Returns the runtime of an evaluator: a file, or the directory or manifest of a Rust package.
    ///
    /// # Errors
    ///
    /// [`PrepareError::NotFound`], [`PrepareError::UnknownExtension`], or [`PrepareError::Unusable`] for a directory
    /// that no runtime claims and for a script that is not executable.
    pub fn for_path(&self, path: &Path) -> Result<Arc<dyn Runtime>, PrepareError> {
        self.position(path).map(|position| Arc::clone(&self.runtimes[position]))
    }

    /// Prepares one evaluator as [`prepare_all`](Self::prepare_all) does.
    ///
    /// # Errors
    ///
    /// [`PrepareError`] of its runtime.
    pub fn prepare(
        &self,
        entrypoint: &Entrypoint,
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<Launch, PrepareError> {
        let launch = self.prepare_all(slice::from_ref(entrypoint), cancellation, on_event).pop();
        launch.unwrap_or_else(|| Err(PrepareError::NotFound { path: entrypoint.path.clone() }))
    }

    /// Prepares evaluators to be started; one result for each, in their order.
    ///
    /// Each runtime is called once, with all its evaluators, so that it can share work; all runtimes work at the same
    /// time. An evaluator that cannot be prepared does not affect the others. Blocks until all work is done, which may
    /// take minutes, or until soon after a cancellation.
    #[must_use = "an evaluator that could not be prepared must be reported"]
    pub fn prepare_all(
        &self,
        entrypoints: &[Entrypoint],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        let distinct: IndexSet<&Entrypoint> = entrypoints.iter().collect();
        let runtime_of: Vec<_> =
            distinct.iter().map(|entrypoint| self.position(&entrypoint.path)).collect();
        let mut results: Vec<_> = runtime_of
            .iter()
            .zip(&distinct)
            .map(|(runtime, entrypoint)| match runtime {
                // Replaced by the result of the runtime.
                Ok(position) => Err(PrepareError::unusable(format!(
                    "runtime `{}` gave no result for {}; this is a mistake of the runtime",
                    self.runtimes[*position].name(),
                    entrypoint.path.display()
                ))),
                Err(error) => Err(error.clone()),
            })
            .collect();
        let (sender, events) = mpsc::channel();
        thread::scope(|scope| {
            let mut working = Vec::new();
            for (position, runtime) in self.runtimes.iter().enumerate() {
                let mine: Vec<usize> = (0..distinct.len())
                    .filter(|&index| runtime_of[index] == Ok(position))
                    .collect();
                if mine.is_empty() {
                    continue;
                }
                let theirs: Vec<Entrypoint> =
                    mine.iter().map(|&index| distinct[index].clone()).collect();
                let sender = sender.clone();
                let work = move || {
                    // The receiver is gone if the callback of the caller panicked.
                    runtime.prepare(&theirs, cancellation, &mut |event| drop(sender.send(event)))
                };
                working.push((mine, scope.spawn(work)));
            }
            drop(sender);
            for event in events {
                on_event(event);
            }
            for (mine, thread) in working {
                // A runtime that panicked returned no results, so the initial ones stay.
                for (index, result) in mine.into_iter().zip(thread.join().unwrap_or_default()) {
                    results[index] = result;
                }
            }
        });
        entrypoints
            .iter()
            .filter_map(|entrypoint| distinct.get_index_of(entrypoint))
            .map(|index| results[index].clone())
            .collect()
    }

    /// Lists what a prepared evaluator consists of, see [`Runtime::inputs`].
    pub fn inputs(&self, entrypoint: &Entrypoint, launch: &Launch) -> Inputs {
        match self.for_path(&entrypoint.path) {
            Ok(runtime) => runtime.inputs(entrypoint, launch),
            // The file was deleted meanwhile.
            Err(_) => Inputs { files: [entrypoint.path.clone()].into(), ..Inputs::default() },
        }
    }

    fn position(&self, path: &Path) -> Result<usize, PrepareError> {
        let resolved = paths::resolve(path)?;
        let claimant = |fallback: bool| {
            self.runtimes.iter().rposition(|runtime| {
                runtime.extensions().is_empty() == fallback && runtime.claims(path)
            })
        };
        claimant(false).or_else(|| claimant(true)).ok_or_else(|| {
            if resolved.is_dir() {
                return paths::not_a_package(path);
            }
            if cfg!(unix) && is_script(&resolved) {
                let shown = path.display().to_string();
                let quoted = shell_words::quote(&shown);
                let reason = format!("{shown} is not executable; type `chmod +x {quoted}`");
                return PrepareError::unusable(reason);
            }
            PrepareError::UnknownExtension {
                path: path.to_owned(),
                known: self.extensions().map(str::to_owned).collect(),
            }
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{env, path::PathBuf, sync::Mutex};

    use super::*;
    use crate::{
        process::CommandSpec,
        runtime::testing::{Directory, no_events},
    };

    /// Remembers what it was asked to prepare, fails for files called `bad` and panics for those called `panic`.
    #[derive(Debug)]
    struct Fake {
        name: &'static str,
        extensions: &'static [&'static str],
        asked: Arc<Mutex<Vec<Vec<PathBuf>>>>,
    }

    impl Fake {
        fn new(name: &'static str, extensions: &'static [&'static str]) -> Self {
            Self { name, extensions, asked: Arc::default() }
        }
    }

    impl Runtime for Fake {
        fn name(&self) -> &str {
            self.name
        }
        fn extensions(&self) -> &[&str] {
            self.extensions
        }
        fn availability(&self) -> Result<String, String> {
            Ok(String::new())
        }
        fn prepare(
            &self,
            entrypoints: &[Entrypoint],
            _: &Cancellation,
            _: &mut dyn FnMut(PrepareEvent),
        ) -> Vec<Result<Launch, PrepareError>> {
            let sources: Vec<PathBuf> =
                entrypoints.iter().map(|entrypoint| entrypoint.path.clone()).collect();
            self.asked.lock().expect("no test panics while it holds it").push(sources.clone());
            sources
                .iter()
                .map(|source| match source.file_stem() {
                    Some(stem) if stem == "panic" => panic!("on purpose"),
                    Some(stem) if stem == "bad" => Err(PrepareError::unusable("bad".to_owned())),
                    _ => Ok(Launch::new(CommandSpec::new(self.name).arg(source))),
                })
                .take_while(|_| self.name != "lazy")
                .collect()
        }
    }

    #[test]
    fn languages_are_found_by_extension_in_any_case() {
        let directory = Directory::new("registry-languages");
        let runtimes = Runtimes::default();
        let name_of = |file: &str| {
            let path = directory.file(file, "");
            runtimes.for_path(&path).map(|runtime| runtime.name().to_owned())
        };
        assert_eq!(name_of("a.py").unwrap(), "Python");
        assert_eq!(name_of("a.PY").unwrap(), "Python");
        assert_eq!(name_of("a.cjs").unwrap(), "JavaScript");
        assert_eq!(name_of("a.mts").unwrap(), "TypeScript");
        assert_eq!(name_of("a.rs").unwrap(), "Rust");
        assert_eq!(name_of("package/Cargo.toml").unwrap(), "Rust");
        assert_eq!(runtimes.for_path(&directory.path("package")).unwrap().name(), "Rust");
    }

    #[test]
    fn executable_files_run_as_they_are_unless_a_language_claims_them() {
        let directory = Directory::new("registry-executable");
        let runtimes = Runtimes::default();
        assert_eq!(runtimes.for_path(&directory.program("check")).unwrap().name(), "Executable");
        assert_eq!(runtimes.for_path(&directory.program("check.sh")).unwrap().name(), "Executable");
        assert_eq!(runtimes.for_path(&directory.program("check.py")).unwrap().name(), "Python");
        let prepared = |path: PathBuf| {
            runtimes
                .prepare_all(&[path.into()], &Cancellation::new(), &mut no_events)
                .remove(0)
                .unwrap()
        };
        let launch = prepared(directory.path("check"));
        assert_eq!(launch.one_shot, CommandSpec::new(directory.path("check")));
        assert_eq!(launch.worker, None, "asking a script whether it streams would run it");
        let compiled = env::current_exe().unwrap();
        let launch = prepared(compiled.clone());
        assert_eq!(launch.worker, Some(CommandSpec::new(compiled).arg("--stream")));
    }

    #[test]
    fn what_cannot_be_run_says_why() {
        let directory = Directory::new("registry-errors");
        let runtimes = Runtimes::default();
        let error = |path: &Path| runtimes.for_path(path).unwrap_err().to_string();
        let notes = directory.file("notes.txt", "");
        assert_eq!(
            error(&notes),
            format!(
                "no runtime for {} (known extensions: {}); a file of any other kind must be executable",
                notes.display(),
                runtimes.extensions().collect::<Vec<_>>().join(", ")
            )
        );
        if cfg!(unix) {
            let script = directory.file("check it.sh", "#!/bin/sh\n");
            let shown = script.display();
            let expected = format!("{shown} is not executable; type `chmod +x '{shown}'`");
            assert_eq!(error(&script), expected);
        }
        let gone = directory.path("gone.py");
        assert_eq!(error(&gone), format!("evaluator file not found: {}", gone.display()));
        let empty = directory.path("");
        assert_eq!(
            error(&empty),
            format!(
                "{} is a directory without a Cargo.toml; name the file of the evaluator",
                empty.display()
            )
        );
    }

    #[test]
    fn the_runtime_registered_last_wins() {
        let directory = Directory::new("registry-last");
        let mut runtimes = Runtimes::default();
        runtimes.register(Fake::new("my python", &[".py"]));
        assert_eq!(runtimes.for_path(&directory.file("a.py", "")).unwrap().name(), "my python");
        assert_eq!(runtimes.for_path(&directory.file("a.js", "")).unwrap().name(), "JavaScript");
    }

    #[test]
    fn each_runtime_is_asked_once_and_the_order_is_kept() {
        let directory = Directory::new("registry-all");
        let ruby = Fake::new("ruby", &[".rb"]);
        let perl = Fake::new("perl", &[".pl"]);
        let (asked_ruby, asked_perl) = (Arc::clone(&ruby.asked), Arc::clone(&perl.asked));
        let mut runtimes = Runtimes::empty();
        runtimes.register(ruby);
        runtimes.register(perl);
        let a = directory.file("a.rb", "");
        let b = directory.file("b.pl", "");
        let bad = directory.file("bad.rb", "");
        let gone = directory.path("gone.rb");
        let all = [a.clone(), b.clone(), gone, bad.clone(), a.clone()];
        let results = runtimes.prepare_all(
            &all.clone().map(Into::into),
            &Cancellation::new(),
            &mut no_events,
        );

        let started: Vec<_> = results
            .iter()
            .map(|result| match result {
                Ok(launch) => launch.one_shot.args[0].clone().into_string().unwrap(),
                Err(error) => error.to_string(),
            })
            .collect();
        let text = |path: &Path| path.display().to_string();
        let gone = format!("evaluator file not found: {}", all[2].display());
        assert_eq!(started, [text(&a), text(&b), gone, "bad".to_owned(), text(&a)]);
        assert_eq!(*asked_ruby.lock().unwrap(), [vec![a, bad]]);
        assert_eq!(*asked_perl.lock().unwrap(), [vec![b]]);
    }

    #[test]
    fn a_runtime_that_panics_takes_no_other_with_it() {
        let directory = Directory::new("registry-panic");
        let mut runtimes = Runtimes::empty();
        runtimes.register(Fake::new("panics", &[".p"]));
        runtimes.register(Fake::new("works", &[".w"]));
        let sources = [directory.file("panic.p", ""), directory.file("a.w", "")];
        let results =
            runtimes.prepare_all(&sources.map(Into::into), &Cancellation::new(), &mut no_events);
        let reason = results[0].as_ref().unwrap_err().to_string();
        assert!(reason.contains("`panics` gave no result"), "{reason}");
        assert!(results[1].is_ok());
    }

    #[test]
    fn a_runtime_that_loses_a_source_is_reported() {
        let directory = Directory::new("registry-lazy");
        let mut runtimes = Runtimes::empty();
        runtimes.register(Fake::new("lazy", &[".x"]));
        let error = runtimes
            .prepare_all(&[directory.file("a.x", "").into()], &Cancellation::new(), &mut no_events)
            .remove(0)
            .unwrap_err();
        assert!(error.to_string().starts_with("runtime `lazy` gave no result for "), "{error}");
    }
}
