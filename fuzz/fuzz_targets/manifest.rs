//! Manifests of evaluators.

#![no_main]

use evaluator_publish::manifest::LoadedManifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let manifest = evaluator_fuzz::scratch("evaluator.yaml", text);
    let Some(directory) = manifest.parent() else { return };
    if let Err(error) = LoadedManifest::load(directory) {
        evaluator_fuzz::problems_can_be_shown(&error);
    }
});
