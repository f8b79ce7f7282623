//! `evaluator init`, also `cargo evaluator new`.

use std::path::Path;

use evaluator_host::runtime::{Entrypoint, Runtimes};

use super::print;
use crate::{
    args::InitArgs,
    exit, render,
    scaffold::{Request, SdkSource, render as create},
};

pub(super) fn init(args: &InitArgs, runtimes: &Runtimes) -> u8 {
    let created = Request::new(&args.name, args.runtime, args.template)
        .and_then(|request| create(&request, &SdkSource::of_this_build()));
    match created {
        Ok(created) => {
            let code = print(&created.to_string(), exit::OK);
            warn_unless_usable(created.entrypoint(), runtimes);
            code
        }
        Err(error) => {
            render::message(&error.to_string());
            exit::USAGE
        }
    }
}

/// Warns where this machine cannot run what was created.
fn warn_unless_usable(entrypoint: &Path, runtimes: &Runtimes) {
    let entrypoint = Entrypoint::from(entrypoint.to_owned());
    let inspected =
        runtimes.for_path(&entrypoint.path).and_then(|runtime| runtime.inspect(&entrypoint));
    if let Err(error) = inspected {
        render::warning(&format!("warning: this machine cannot run it yet: {error}"));
    }
}
