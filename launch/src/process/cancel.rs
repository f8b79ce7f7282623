//! A handle to stop what is running.

use std::sync::Arc;

use tokio::sync::watch;

/// Stops running processes when told to. Clones share one state, and cancelling cannot be undone.
#[derive(Clone, Debug)]
pub struct Cancellation {
    cancelled: Arc<watch::Sender<bool>>,
}

impl Default for Cancellation {
    fn default() -> Self {
        Self { cancelled: Arc::new(watch::Sender::new(false)) }
    }
}

impl Cancellation {
    /// A handle that nobody has used yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels: what runs is ended, what would start does not.
    pub fn cancel(&self) {
        self.cancelled.send_replace(true);
    }

    /// Whether [`Cancellation::cancel`] was called on any clone.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Returns once cancelled. Cancel safe.
    pub async fn cancelled(&self) {
        // The sender lives as long as `self`, so the only way to return is that the value is true.
        let _ = self.cancelled.subscribe().wait_for(|cancelled| *cancelled).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_clone_cancels_the_original() {
        let original = Cancellation::new();
        assert!(!original.is_cancelled());
        original.clone().cancel();
        assert!(original.is_cancelled());
        original.cancelled().await;
    }
}
