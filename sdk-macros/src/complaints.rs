//! Everything that is wrong with a function, to be said at once.

use quote::ToTokens;

/// Every complaint so far.
#[derive(Default)]
pub(crate) struct Complaints(Option<syn::Error>);

impl Complaints {
    pub(crate) fn add(&mut self, tokens: impl ToTokens, message: &str) {
        let error = syn::Error::new_spanned(tokens, message);
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    /// The value, if there were no complaints. It may only be missing if there were.
    pub(crate) fn or<T>(self, value: Option<T>) -> syn::Result<T> {
        match (self.0, value) {
            (None, Some(value)) => Ok(value),
            (Some(error), _) => Err(error),
            (None, None) => Err(syn::Error::new(
                proc_macro2::Span::call_site(),
                "this function cannot be an evaluator",
            )),
        }
    }
}
