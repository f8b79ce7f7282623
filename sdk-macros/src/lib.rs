//! The `#[evaluator]` attribute macro.
//!
//! The macro is documented where authors find it, at its re-export in `evaluator-sdk`.
//!
//! A function passes through three stages: `function` (with `signature`) and `options` parse it and what the attribute
//! says, `check` collects every complaint and turns the rest into a plan, and `expand` writes the plan down without
//! deciding anything any more. Whatever goes wrong, the function itself is emitted as it was written together with the
//! items that other code refers to, so one mistake stays one error and editors keep working.

mod check;
mod complaints;
mod docs;
mod expand;
mod function;
mod nearest;
mod options;
mod parameter;
mod signature;
mod types;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;
use quote::quote;

use function::Function;

/// Turns a function into an evaluator: see the documentation of `evaluator_sdk::evaluator`.
#[proc_macro_attribute]
pub fn evaluator(options: TokenStream, item: TokenStream) -> TokenStream {
    evaluator2(options.into(), item.into()).into()
}

fn evaluator2(options: TokenStream2, item: TokenStream2) -> TokenStream2 {
    let (options, wrong_options) = options::parse(options);
    let function = match syn::parse2::<Function>(item.clone()) {
        Ok(function) => function,
        // There is no name to hang anything on: the item and the errors are all there can be.
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
