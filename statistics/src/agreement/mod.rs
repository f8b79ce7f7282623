//! Agreement between raters: people, evaluators, or both.
//!
//! | file | contents |
//! |---|---|
//! | `confusion` | counts of a classifier against a reference, and the rates of them |
//! | `kappa` | two raters, corrected for agreement by chance |
//! | `alpha` | any number of raters who need not rate everything |
//! | `roc` | scores against two classes: the area under the curve, and the best threshold |
//! | `correlation` | two ratings on scales |
//! | `ranks` | ranks of values, ties with their mean |

mod alpha;
mod confusion;
mod correlation;
mod kappa;
mod ranks;
mod roc;

pub use alpha::{Alpha, Level, kripp};
pub use confusion::{Confusion, Rates, confusion};
pub use correlation::{Correlation, correlation};
pub use kappa::{Kappa, Weights, kappa};
pub use roc::{Auroc, BestThreshold, auroc, best_threshold};
