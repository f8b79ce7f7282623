//! The item under the attribute.

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Item, Signature, Token, Visibility,
    parse::{Parse, ParseStream},
    token::Brace,
};

/// A function, without its body: that is for the compiler to read, so that half-typed code gets the compiler's
/// errors and completions.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
}

/// Reads the item as a function.
pub(crate) fn parse(item: TokenStream) -> syn::Result<Function> {
    syn::parse2::<Function>(item.clone()).map_err(|error| match syn::parse2::<Item>(item) {
        // `parse` would have taken a function.
        Ok(Item::Fn(_)) | Err(_) => error,
        Ok(other) => not_a_function(&other),
    })
}

fn not_a_function(item: &Item) -> syn::Error {
    let kind = match item {
        Item::Struct(_) | Item::Enum(_) | Item::Union(_) => "a type",
        Item::Impl(_) => "an `impl` block",
        Item::Mod(_) => "a module",
        Item::Trait(_) => "a trait",
        _ => "this item",
    };
    let message = format!(
        "`#[evaluator]` belongs on a function, not on {kind}: `fn my_check(input: &EvalInput) -> EvalResult`"
    );
    // The attribute is what is in the wrong place.
    syn::Error::new(proc_macro2::Span::call_site(), message)
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let sig: Signature = input.parse()?;
        if input.peek(Token![;]) {
            let message = "an evaluator needs a body: `#[evaluator]` belongs on a free function";
            return Err(syn::Error::new_spanned(&sig.ident, message));
        }
        if !input.peek(Brace) {
            return Err(input.error("expected the body of the function"));
        }
        input.parse::<TokenTree>()?;
        Ok(Self { attrs, vis, sig })
    }
}
