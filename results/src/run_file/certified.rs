//! Certificates of evaluators that run files name.

use super::{
    changes::changes_of_evaluator,
    header::{EvaluatorEntry, FingerprintParts},
};
use crate::certificate::{Certificate, CertificateError, CertifiedLabels};

impl EvaluatorEntry {
    /// Certifies the evaluator as it was in this run.
    ///
    /// # Errors
    ///
    /// A class has fewer than 20 labels, they do not show that the evaluator passes good cases more often than bad ones, or
    /// changes of the evaluator would not be noticed.
    pub fn certify(
        &self,
        labels: CertifiedLabels,
        kappa: Option<f64>,
    ) -> Result<Certificate, CertificateError> {
        if self.fingerprint.is_none() || self.kind == SUITE {
            let reason = match &*self.kind {
                SUITE => "evaluators of eval files have no digests of their own",
                _ => "changes of it would not be noticed",
            };
            let name = &self.name;
            return Err(CertificateError(format!("{name}: it cannot be certified: {reason}")));
        }
        let FingerprintParts { code, settings, environment: _ } = self.parts.clone();
        let about = (&*self.name, &*self.kind, self.threshold);
        Certificate::new(about, [code, settings], labels, kappa)
    }

    /// Returns the certificate of the evaluator, or the reason why it does not hold; `None` if there is none.
    pub(crate) fn certified(&self) -> Option<Result<&Certificate, String>> {
        let certificate = self.certificate.as_deref()?;
        let changes = self.changes_since(certificate);
        Some(match changes.is_empty() {
            true => Ok(certificate),
            false => Err(format!("changed since it was certified: {}", changes.join(", "))),
        })
    }

    /// Returns a sentence if the evaluator has a certificate that does not hold.
    pub fn uncertified(&self) -> Option<String> {
        let reason = self.certified()?.err()?;
        Some(format!("`{}` has no certificate that holds: {reason}", self.name))
    }

    /// Returns what differs from the certified evaluator, e.g. "setting `judge.models`". What may differ between machines does not
    /// count.
    fn changes_since(&self, certificate: &Certificate) -> Vec<String> {
        let Certificate { code, settings, .. } = certificate.clone();
        let environment = self.parts.environment.clone();
        let parts = FingerprintParts { code, settings, environment };
        let certified = Self {
            kind: certificate.kind.clone(),
            threshold: certificate.threshold,
            fingerprint: Some(parts.fingerprint()),
            parts,
            ..self.clone()
        };
        changes_of_evaluator(&certified, self).into_iter().map(|change| change.what).collect()
    }
}

/// Kind of all tests of an eval file.
const SUITE: &str = "suite";
