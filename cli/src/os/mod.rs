//! What the command asks of the system without a safe interface.
#![expect(unsafe_code, reason = "options of the allocator are set by a C function")]

use std::ffi::{c_int, c_long};

/// How long the allocator keeps memory that nobody uses before the system has it again: `mi_option_purge_delay`, of which
/// the bindings have no name.
const PURGE_DELAY: c_int = 15;

/// What indexing needs for a moment would else be counted on top of what evaluating needs a moment later.
const MILLISECONDS: c_long = 10;

/// Has the allocator return memory early.
pub(crate) fn return_memory_early() {
    // SAFETY: the function takes any number of an option that there is, at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, MILLISECONDS) };
}
