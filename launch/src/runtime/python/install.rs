//! Installations into environments.

use std::{ffi::OsStr, path::Path};

use super::{
    build::{Build, Call},
    plan::{Planner, Wanted},
};

impl Build<'_> {
    /// Builds the environment, unless another process has built it meanwhile.
    ///
    /// # Errors
    ///
    /// Why it cannot be built; nothing is left of it then.
    pub(super) fn run(&self, on_line: &mut dyn FnMut(&str)) -> Result<(), String> {
        let venv = &self.shared.wanted.venv;
        let lock = match venv.lock(self.limit, self.planner.cancellation, on_line)? {
            Some(lock) if !venv.is_ready() => lock,
            _ => return Ok(()),
        };
        // Removes what an interrupted build has left.
        venv.remove()?;
        let built = self.fill((&lock, on_line));
        if built.is_err() {
            // The first error is the one to report; the next build removes the rest.
            let _ = venv.remove();
        }
        built
    }

    fn fill(&self, (lock, on_line): Call<'_, '_>) -> Result<(), String> {
        let Wanted { needs, venv, .. } = &self.shared.wanted;
        let Planner { installer, sdk, .. } = self.planner;
        self.create((lock, on_line))?;
        if let Some(contained) = &self.shared.contained {
            contained.fill(self, (lock, on_line))?;
            return self.finish();
        }
        // A package in the working directory would be preferred to that of the index.
        let cwd = if self.shared.fetched { Some(&*venv.directory) } else { needs.base() };
        if let Some(sdk) = sdk.requirement() {
            let what = format!("{}, which every Python evaluator gets", sdk.display());
            let mut packages = vec![sdk];
            if Path::new(sdk).exists() {
                packages.extend(installer.of_this_machine().iter().map(OsStr::new));
            }
            self.install(&packages, cwd, &what, (lock, on_line))?;
        }
        let file = self.file_to_install()?;
        let mut packages: Vec<&OsStr> =
            file.iter().flat_map(|file| [OsStr::new("-r"), file.as_os_str()]).collect();
        packages.extend(needs.dependencies().iter().map(OsStr::new));
        if !packages.is_empty() {
            if needs.names_files() {
                packages.extend(installer.of_this_machine().iter().map(OsStr::new));
            }
            self.install(&packages, cwd, &needs.place(), (lock, on_line))?;
        }
        self.finish()
    }
}
