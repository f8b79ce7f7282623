//! Metrics that a model judges, without the model: what is asked, how replies are read, and what they amount to.

pub mod reply;

#[cfg(test)]
mod tests;
