//! The `#[evaluator]` attribute macro.
//!
//! The macro is documented where authors find it, at its re-export in `evaluator-sdk`.
//!
//! A function passes through three stages: [`function`] and [`options`] parse it and what the attribute says,
//! [`check`] collects every complaint and turns the rest into a plan, and [`expand`] writes the plan down without
//! deciding anything any more. Whatever goes wrong, the function itself is emitted as it was written together with the
//! items that other code refers to, so one mistake stays one error and editors keep working.

mod check;
mod docs;
mod expand;
mod function;
mod options;

use proc_macro::TokenStream;

/// Turns a function into an evaluator: see the documentation of `evaluator_sdk::evaluator`.
#[proc_macro_attribute]
pub fn evaluator(options: TokenStream, item: TokenStream) -> TokenStream {
    evaluator2(options.into(), item.into()).into()
}

fn evaluator2(
    options: proc_macro2::TokenStream,
    item: proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    let (options, wrong_options) = options::parse(options);
    let function = match function::parse(item.clone()) {
        Ok(function) => function,
        // There is no name to hang anything on: the item and the error are all there can be.
        Err(error) => {
            let errors =
                options::combine([Some(error), wrong_options]).map(|e| e.into_compile_error());
            return quote::quote!(#item #errors);
        }
    };
    let items = match (check::check(&function, &options), wrong_options) {
        (Ok(plan), None) => expand::program(&plan),
        (Err(error), None) => expand::stub(&function, &options, &error),
        (Ok(_), Some(wrong)) => expand::stub(&function, &options, &wrong),
        (Err(mut error), Some(wrong)) => {
            error.combine(wrong);
            expand::stub(&function, &options, &error)
        }
    };
    quote::quote!(#item #items)
}
