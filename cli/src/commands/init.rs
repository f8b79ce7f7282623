//! `evaluator init`, also `cargo evaluator new`.

use super::print;
use crate::{
    args::InitArgs,
    exit, render,
    scaffold::{Request, SdkSource, render as create},
};

pub(super) fn init(args: &InitArgs) -> u8 {
    let created = Request::new(&args.name, args.runtime, args.template)
        .and_then(|request| create(&request, &SdkSource::of_this_build()));
    match created {
        Ok(created) => print(&created.to_string(), exit::OK),
        Err(error) => {
            render::message(&error.to_string());
            exit::USAGE
        }
    }
}
