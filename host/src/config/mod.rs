//! Run configuration.

mod yaml;
