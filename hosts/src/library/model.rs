//! Libraries, and the files that call their metrics.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    files::{WriteOptions, atomic_write},
    json::write_string,
};

const DRIVER: &str = include_str!("driver.py");

/// Lines of the driver that are replaced.
const IMPORT: &str = "# evaluator: import of the library";
const ADAPTER: &str = "# evaluator: adapter of the library";

const VERSIONS: &str = include_str!("versions.txt");

/// Name of the written file. No module that a library imports may have this name: a file next to a program shadows modules.
const FILE: &str = "evaluator_metric.py";

/// A library whose metrics can be called.
#[derive(Debug)]
pub struct Library {
    /// Name of its outermost module.
    pub name: &'static str,
    /// Name of its package.
    pub package: &'static str,
    /// Modules whose metrics are listed.
    pub modules: &'static [&'static str],
    /// Variables without which it sends data about its use, or waits.
    pub variables: &'static [(&'static str, &'static str)],
    adapter: &'static str,
}

/// Variables of the tracing that LangChain's libraries contain.
const LANGCHAIN: &[(&str, &str)] =
    &[("LANGSMITH_TRACING", "false"), ("LANGCHAIN_TRACING_V2", "false")];

/// All libraries with an adapter, by name.
pub static LIBRARIES: &[Library] = &[
    Library {
        name: "agentevals",
        package: "agentevals",
        modules: &["agentevals.trajectory"],
        variables: LANGCHAIN,
        adapter: include_str!("langchain.py"),
    },
    Library {
        name: "autoevals",
        package: "autoevals",
        modules: &["autoevals"],
        variables: &[],
        adapter: include_str!("autoevals.py"),
    },
    Library {
        name: "deepeval",
        package: "deepeval",
        modules: &["deepeval.metrics"],
        variables: &[("DEEPEVAL_TELEMETRY_OPT_OUT", "1"), ("DEEPEVAL_DISABLE_DOTENV", "1")],
        adapter: include_str!("deepeval.py"),
    },
    Library {
        name: "openevals",
        package: "openevals",
        modules: &["openevals", "openevals.json", "openevals.string"],
        variables: LANGCHAIN,
        adapter: include_str!("langchain.py"),
    },
    Library {
        name: "opik",
        package: "opik",
        modules: &["opik.evaluation.metrics"],
        variables: &[
            ("OPIK_TRACK_DISABLE", "true"),
            ("OPIK_ANALYTICS_ENABLE", "false"),
            ("OPIK_SENTRY_ENABLE", "false"),
            ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ],
        adapter: include_str!("opik.py"),
    },
    Library {
        name: "phoenix",
        package: "arize-phoenix-evals",
        modules: &["phoenix.evals.metrics", "phoenix.evals"],
        variables: &[],
        adapter: include_str!("phoenix.py"),
    },
    Library {
        name: "pydantic_evals",
        package: "pydantic-evals",
        modules: &["pydantic_evals.evaluators"],
        variables: &[],
        adapter: include_str!("pydantic_evals.py"),
    },
    Library {
        name: "ragas",
        package: "ragas",
        modules: &["ragas.metrics.collections"],
        variables: &[("RAGAS_DO_NOT_TRACK", "true"), LANGCHAIN[0], LANGCHAIN[1]],
        adapter: include_str!("ragas.py"),
    },
    Library {
        name: "strands_evals",
        package: "strands-agents-evals",
        modules: &["strands_evals.evaluators"],
        variables: &[],
        adapter: include_str!("strands_evals.py"),
    },
];

impl Library {
    /// Returns the library of a module.
    pub fn of(module: &str) -> Option<&'static Self> {
        let name = module.split('.').next()?;
        LIBRARIES.iter().find(|library| library.name == name)
    }

    /// Returns the requirements that are installed for an entry without its own.
    pub fn requirements(&self) -> impl Iterator<Item = &'static str> {
        let lines = VERSIONS.lines().filter_map(|line| line.split_once(": "));
        let own = lines.filter(|(name, _)| *name == self.name);
        own.flat_map(|(_, requirements)| requirements.split(' '))
    }

    /// Returns the versions that the adapter was tried with.
    pub fn tried(&self) -> impl Iterator<Item = &'static str> {
        let of_library = |requirement: &'static str| {
            let (package, version) = requirement.split_once("==")?;
            (package == self.package).then_some(version)
        };
        self.requirements().filter_map(of_library)
    }

    /// Returns the program that calls metrics of a module.
    pub fn program(&self, module: &str, requirements: &[String]) -> String {
        let listed = |texts: &mut dyn Iterator<Item = &str>| {
            let mut list = String::new();
            for text in texts {
                list.push_str(if list.is_empty() { "" } else { ", " });
                // JSON, TOML and Python write texts alike.
                write_string(text, &mut list);
            }
            list
        };
        let dependencies = listed(&mut requirements.iter().map(String::as_str));
        let modules = listed(&mut self.modules.iter().copied());
        let package = self.package;
        // Names that are computed would be imports whose changes nothing can notice.
        let imports = self.modules.join(", ");
        let adapter = format!(
            "PACKAGE = \"{package}\"\n\n\ndef modules():\n    import {imports}\n\n    \
             return {{name: sys.modules[name] for name in [{modules}]}}\n\n\n{}",
            self.adapter.trim_end()
        );
        let code = DRIVER.replace(IMPORT, &format!("import {module}")).replace(ADAPTER, &adapter);
        format!(
            "# /// script\n# requires-python = \">=3.10\"\n# dependencies = [{dependencies}]\n# ///\n{code}"
        )
    }
}

/// A metric of a library, with the program that calls it.
#[derive(Clone, Debug)]
pub struct LibraryMetric {
    /// The library.
    pub library: &'static Library,
    /// The metric as `MODULE:NAME`.
    pub metric: String,
    /// File of the program, which need not exist.
    pub path: PathBuf,
    /// Path of the file in the directory where programs are kept.
    pub name: PathBuf,
    /// Text of the file.
    text: String,
}

impl LibraryMetric {
    /// Creates the metric `module:name`. `directory` is where programs are kept; `digest` gives the program a name.
    pub fn new(
        library: &'static Library,
        (module, name): (&str, &str),
        requirements: &[String],
        directory: &Path,
        digest: impl FnOnce(&str) -> String,
    ) -> Self {
        let text = library.program(module, requirements);
        let metric = format!("{module}:{name}");
        let name = Path::new("metrics").join(digest(&text)).join(FILE);
        Self { library, metric, path: directory.join(&name), name, text }
    }

    /// Writes the file of the program, unless it exists.
    ///
    /// # Errors
    ///
    /// The file cannot be written: the reason, and what to do.
    pub fn write(&self) -> Result<(), String> {
        if fs::read(&self.path).is_ok_and(|found| found == self.text.as_bytes()) {
            return Ok(());
        }
        let directory = self.path.parent().unwrap_or(&self.path);
        let written = fs::create_dir_all(directory).and_then(|()| {
            let options = WriteOptions::default();
            atomic_write(&self.path, options, |out| out.write_all(self.text.as_bytes()))
        });
        written.map_err(|error| {
            format!(
                "cannot write {}: {error}; set EVALUATOR_CACHE_DIR to a directory that can be written",
                self.path.display()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_is_pinned_and_has_a_program() {
        for library in LIBRARIES {
            let requirements: Vec<String> = library.requirements().map(str::to_owned).collect();
            assert_eq!(library.tried().count(), 1, "{requirements:?}");
            assert!(requirements.iter().all(|it| it.contains("==")), "{requirements:?}");
            assert!(
                library
                    .modules
                    .iter()
                    .all(|it| Library::of(it).is_some_and(|found| found.name == library.name))
            );
            let program = library.program(library.modules[0], &requirements);
            let lines: Vec<&str> = program.lines().collect();
            assert_eq!(lines[2], format!("# dependencies = [\"{}\"]", requirements.join("\", \"")));
            let import = format!("import {}", library.modules[0]);
            assert!(lines.contains(&&*import) && lines.contains(&"def is_metric(name, value):"));
            assert!(!program.contains("# evaluator: "), "{program}");
        }
        let pinned = VERSIONS.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(pinned, LIBRARIES.len());
        assert!(Library::of("deepevals.metrics").is_none());
    }
}
