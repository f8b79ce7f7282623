//! Settings of the allocator, which has no safe interface.
#![expect(unsafe_code, reason = "options of the allocator are set by a C function")]

use std::ffi::{c_int, c_long};

/// Time that the allocator keeps unused memory before it is returned to the system: `mi_option_purge_delay`, which the
/// bindings do not name.
const PURGE_DELAY: c_int = 15;

/// Memory that indexing used must be returned before evaluating needs memory of its own.
const MILLISECONDS: c_long = 10;

/// Makes the allocator return memory early.
pub(crate) fn return_memory_early() {
    // SAFETY: the function can be called at any time, with the number of any existing option.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, MILLISECONDS) };
}
