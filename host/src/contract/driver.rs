//! Calls Python functions of other hosts.
//!
//! ADK and Agenta call a function, so a file that holds one is not a program. `call.py` is: it loads the file, calls the
//! function with the document's parts as its host does, and prints what the function returned.

use std::{path::Path, sync::Arc};

use evaluator_protocol::Contract;

use super::source::{AGENTA, is_agenta, may_define};
use crate::{
    process::CommandSpec,
    runtime::{Launch, PrivateDirectory},
};

const CALL: &str = include_str!("call.py");

/// A function that is called instead of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    contract: Contract,
    function: String,
}

/// The file that calls it; deleted when nothing needs it any more.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    _folder: Arc<PrivateDirectory>,
}

impl Call {
    /// The function that an entry means: the one it names, or Agenta's own in a file that is not a program.
    #[must_use]
    pub fn of(contract: Option<Contract>, function: Option<&str>, path: &Path) -> Option<Self> {
        let contract = contract?;
        let function = match function {
            Some(function) => function.to_owned(),
            None if contract == Contract::Agenta && is_agenta(path) => AGENTA.to_owned(),
            None => return None,
        };
        Some(Self { contract, function })
    }

    /// Checks, without running it, that the file may have the function.
    ///
    /// # Errors
    ///
    /// What is wrong, and what to do.
    pub fn check(&self, path: &Path) -> Result<(), String> {
        let Self { function, .. } = self;
        if !path.extension().is_some_and(|it| it.eq_ignore_ascii_case("py")) {
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

    /// The launch of a program that calls the function; `launch` would run its file.
    pub(crate) fn drive(&self, launch: Launch) -> Result<(Launch, Driver), String> {
        let folder = PrivateDirectory::new("call")
            .and_then(|folder| Ok((folder.write("call.py", CALL)?, folder)));
        let (file, folder) =
            folder.map_err(|error| format!("no folder for the file that calls it: {error}"))?;
        let mut args = vec![file.into_os_string()];
        args.extend(launch.one_shot.args);
        args.extend([self.contract.name().into(), self.function.clone().into()]);
        let one_shot = CommandSpec { args, ..launch.one_shot };
        Ok((Launch::new(one_shot).with_reuse(launch.reuse), Driver { _folder: Arc::new(folder) }))
    }
}
