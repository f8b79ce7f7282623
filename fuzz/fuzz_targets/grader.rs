//! Templates and formulas of graders, valid or not.

#![no_main]

use evaluator_host::judging::grader::{Formula, ItemTemplate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = ItemTemplate::parse(text);
    if let Ok(formula) = Formula::parse(text, &["a", "b"])
        && let Ok(value) = formula.value(&[0.25, 1.0])
    {
        assert!(value.is_finite());
    }
});
