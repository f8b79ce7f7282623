//! Messages of panics.

use std::any::Any;

/// Returns the message of a caught panic.
pub fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it does not say why")
}
