//! `evaluator init`, also `cargo evaluator new`.

use evaluator_host::runtime::{Entrypoint, Runtimes};

use super::{print, unusable};
use crate::{
    args::InitArgs,
    exit, render,
    scaffold::{self, Language, Request, SdkSource},
};

/// Creates an evaluator from a template, by default in the language `default`. Warns if this machine cannot run it.
pub(super) fn init(args: &InitArgs, default: Language, runtimes: &Runtimes) -> Result<u8, u8> {
    let created = Request::new(&args.name, args.runtime, args.template, default)
        .and_then(|request| scaffold::render(&request, &SdkSource::of_this_build()))
        .map_err(unusable)?;
    let code = print(&created.to_string(), exit::OK);
    let entrypoint = Entrypoint::from(created.entrypoint().to_owned());
    let inspected =
        runtimes.for_path(&entrypoint.path).and_then(|runtime| runtime.inspect(&entrypoint));
    if let Err(error) = inspected {
        render::warning(&format!("this machine cannot run it yet: {error}"));
    }
    Ok(code)
}
