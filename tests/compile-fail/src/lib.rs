//! Cases of compile errors are in `ui/`, each with the message it has to produce; `tests/ui.rs` compares them.
