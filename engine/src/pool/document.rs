//! Documents for workers.

use std::sync::Arc;

use evaluator_protocol::TargetAccess;

/// The text of a document, possibly in two parts: the second may be shared with the documents of other evaluators.
#[derive(Clone, Debug, Default)]
pub struct Document {
    own: Arc<[u8]>,
    shared: Arc<[u8]>,
    target: Option<Arc<TargetAccess>>,
}

impl Document {
    /// A document whose second part is shared with other documents.
    pub fn new(own: impl Into<Arc<[u8]>>, shared: Arc<[u8]>) -> Self {
        Self { own: own.into(), shared, target: None }
    }

    /// Adds the target proxy that the evaluation of the document may use. The program has to
    /// [take it](evaluator_protocol::Description::takes_targets).
    #[must_use]
    pub fn with_target(self, target: TargetAccess) -> Self {
        Self { target: Some(Arc::new(target)), ..self }
    }

    /// The target proxy.
    pub fn target(&self) -> Option<&TargetAccess> {
        self.target.as_deref()
    }

    /// The two parts, in order.
    pub fn parts(&self) -> [&[u8]; 2] {
        [&self.own, &self.shared]
    }

    /// The whole text.
    pub fn text(&self) -> Vec<u8> {
        self.parts().concat()
    }

    /// Length in bytes.
    pub fn size(&self) -> usize {
        self.own.len() + self.shared.len()
    }
}

impl<T: AsRef<[u8]> + ?Sized> From<&T> for Document {
    fn from(text: &T) -> Self {
        Self::new(text.as_ref(), Arc::default())
    }
}
