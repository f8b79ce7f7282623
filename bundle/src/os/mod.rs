//! What the C library says about itself.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the version of the C library is returned by a C function")
)]

/// Returns the version of glibc that this process runs with; `None` with another C library.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn glibc() -> Option<String> {
    // SAFETY: the function has no conditions and returns a static string that ends with a zero.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    version.to_str().ok().map(str::to_owned)
}

/// Returns the version of glibc that this process runs with; `None` with another C library.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn glibc() -> Option<String> {
    None
}
