//! Tests of the host library over recorded files.

mod cargo_runtime;
mod conversations;
mod events;
#[cfg(unix)]
mod hostile_collectors;
#[cfg(unix)]
mod parts;
mod python_requirements;
mod registered_metrics;
mod resource_limits;
