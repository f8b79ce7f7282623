//! The table of known runtimes.

use std::sync::Arc;

use super::Runtime;

/// The runtimes a run may use.
#[derive(Clone, Debug, Default)]
pub struct Runtimes {
    runtimes: Vec<Arc<dyn Runtime>>,
}

impl Runtimes {
    /// Adds a runtime. For an extension that is known already, the one registered last is used.
    pub fn register(&mut self, runtime: impl Runtime + 'static) {
        self.runtimes.push(Arc::new(runtime));
    }

    /// The registered runtimes, in the order of registration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Runtime>> {
        self.runtimes.iter()
    }
}
