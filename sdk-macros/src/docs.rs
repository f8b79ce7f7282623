//! The author's doc comments, as an expression.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// An expression of type `&'static str`: the lines of all doc comments.
///
/// `#[doc = include_str!("..")]` is only known to the compiler, hence an expression and not a string.
pub(crate) fn expression(attrs: &[Attribute]) -> TokenStream {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => Some(line(&pair.value)),
        _ => None,
    });
    quote!(::core::concat!(#(#lines, "\n"),*))
}

fn line(value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
            let text = text.value();
            quote!(#text)
        }
        other => quote!(#other),
    }
}
