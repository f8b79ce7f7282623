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

impl Function {
    /// Whether it stands in an `impl` block or a trait, where no types can be added.
    pub(crate) fn is_method(&self) -> bool {
        self.sig.receiver().is_some()
    }

    /// Whether it would be the entry point of the program.
    pub(crate) fn is_main(&self) -> bool {
        self.sig.ident == "main"
    }
}

/// Reads the item as a function.
pub(crate) fn parse(item: TokenStream) -> syn::Result<Function> {
    syn::parse2::<Function>(item.clone()).map_err(|error| {
        let (kind, span) = match syn::parse2::<Item>(item) {
            Ok(Item::Struct(item)) => ("a type", item.struct_token.span),
            Ok(Item::Enum(item)) => ("a type", item.enum_token.span),
            Ok(Item::Union(item)) => ("a type", item.union_token.span),
            Ok(Item::Impl(item)) => ("an `impl` block", item.impl_token.span),
            Ok(Item::Mod(item)) => ("a module", item.mod_token.span),
            Ok(Item::Trait(item)) => ("a trait", item.trait_token.span),
            // What is wrong with a function, or with something else, the parser knows best.
            _ => return error,
        };
        let message = format!(
            "`#[evaluator]` belongs on a function, not on {kind}: `fn my_check(input: &EvalInput) -> EvalResult`"
        );
        syn::Error::new(span, message)
    })
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
