//! Calls Python functions of other hosts.
//!
//! Some hosts call a function, so a file that holds one is not a program. `call.py` is: it loads the file, calls the function
//! with the parts of the document as its host does, and prints what the function returned.
//!
//! Python functions of ADK and Agenta are called by `call.py`, which loads the file as a module. The fork server
//! imports the modules of the file and of ADK's models ahead, which takes seconds.

use std::{path::Path, sync::Arc};

use evaluator_protocol::Contract;

use super::{
    Functions, foreign_contract,
    recognize::{defines, may_define},
};
use crate::{
    process::CommandSpec,
    runtime::{Language, Launch, PrivateDirectory},
};

const CALL: &str = include_str!("call.py");

/// A function that is called instead of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    contract: Contract,
    function: String,
}

/// The file that calls a function; deleted with its last clone.
#[derive(Clone, Debug)]
pub struct Driver {
    _directory: Arc<PrivateDirectory>,
}

/// Returns the functions that the host of a contract calls.
fn functions(contract: Contract) -> Option<&'static Functions> {
    foreign_contract(contract)?.functions.as_ref()
}

/// Returns the contracts whose hosts call Python functions.
pub fn function_contracts() -> impl Iterator<Item = Contract> {
    Contract::ALL.iter().copied().filter(|contract| functions(*contract).is_some())
}

impl Call {
    /// Returns the call that an entry means: of the function it names, or of the one that its host would call.
    pub fn of(contract: Option<Contract>, function: Option<&str>, path: &Path) -> Option<Self> {
        let contract = contract?;
        let default = || functions(contract)?.name.filter(|name| defines(path, name));
        let function = function.or_else(default)?.to_owned();
        Some(Self { contract, function })
    }

    /// Checks, without running the file, that it may define the function.
    ///
    /// # Errors
    ///
    /// The reason, and what to do.
    pub fn check(&self, path: &Path) -> Result<(), String> {
        let Self { function, .. } = self;
        if Language::of(path) != Some(Language::Python) {
            return Err(format!(
                "`function: {function}` needs a Python file, not {}",
                path.display()
            ));
        }
        match may_define(path, function) {
            true => Ok(()),
            false => Err(format!("{} defines no function `{function}`", path.display())),
        }
    }

    /// Returns the launch that calls the function; `launch` would run its file.
    ///
    /// # Errors
    ///
    /// The reason why the calling file cannot be written.
    pub fn drive(&self, launch: Launch) -> Result<(Launch, Driver), String> {
        let directory = PrivateDirectory::new("call")
            .and_then(|directory| Ok((directory.write("call.py", CALL)?, directory)));
        let (file, directory) =
            directory.map_err(|error| format!("cannot write the file that calls it: {error}"))?;
        let mut args = vec![file.into_os_string()];
        args.extend(launch.one_shot.args);
        args.extend([self.contract.name().into(), self.function.clone().into()]);
        let one_shot = CommandSpec { args, ..launch.one_shot };
        let mut visible = launch.visible.paths;
        visible.insert(directory.path().to_owned());
        let launch = Launch::new(one_shot).with_reuse(launch.reuse).with_visible(visible);
        Ok((launch, Driver { _directory: Arc::new(directory) }))
    }
}
