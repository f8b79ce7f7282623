//! The `#[evaluator]` attribute macro.
//!
//! This crate makes no promise of stability; `evaluator-sdk` has what programs need.
//!
//! The macro is documented where authors find it, at its re-export in `evaluator-sdk`.
//!
//! Three stages: `signature` and `options` parse the function and the attribute, `check` produces a plan or every complaint,
//! and `expand` generates code from the plan without further decisions. In case of an error the function is emitted as it
//! was written, together with the items that other code refers to. One mistake therefore is one error, and editors keep
//! working.

mod check;
mod expand;
mod nearest;
mod options;
mod signature;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;
use quote::quote;

use signature::Function;

/// Turns a function into an evaluator: see the documentation of `evaluator_sdk::evaluator`.
#[proc_macro_attribute]
pub fn evaluator(options: TokenStream, item: TokenStream) -> TokenStream {
    evaluator2(options.into(), item.into()).into()
}

fn evaluator2(options: TokenStream2, item: TokenStream2) -> TokenStream2 {
    let (options, wrong_options) = options::parse(options);
    let function = match syn::parse2::<Function>(item.clone()) {
        Ok(function) => function,
        // Without a name there is nothing to generate besides the item and the errors.
        Err(mut error) => {
            error.extend(wrong_options);
            let errors = error.to_compile_error();
            return quote!(#item #errors);
        }
    };
    let checked = check::check(&function, &options);
    match (checked, wrong_options) {
        (Ok(plan), None) => expand::program(&plan, &item),
        (Ok(_), Some(wrong)) => expand::stub(&function, &item, &options, &wrong),
        (Err(mut error), wrong) => {
            error.extend(wrong);
            expand::stub(&function, &item, &options, &error)
        }
    }
}
