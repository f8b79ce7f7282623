//! An entry of `type: linked`.

use super::{
    CodeConfig, LinkedConfig,
    evaluator::read_judgement,
    fields::{Fields, Problems},
};

/// Reads the keys of an entry.
pub(super) fn read(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> LinkedConfig {
    let CodeConfig { threshold, timeout, config, contract, .. } = read_judgement(fields, problems);
    LinkedConfig { threshold, timeout, config, contract }
}
