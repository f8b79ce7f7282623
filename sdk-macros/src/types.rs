//! What an author's types look like, as far as names and punctuation tell.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Type, TypePath};

/// Whether there is an `impl Trait` in it.
pub(crate) fn mentions_impl(ty: &Type) -> bool {
    mentions_name(ty, "impl")
}

/// Whether there is such a token anywhere.
pub(crate) fn mentions(tokens: TokenStream, wanted: &dyn Fn(&TokenTree) -> bool) -> bool {
    tokens.into_iter().any(|token| match &token {
        TokenTree::Group(group) => mentions(group.stream(), wanted),
        token => wanted(token),
    })
}

/// The type without the parentheses around it and the invisible ones that `macro_rules!` puts there.
pub(crate) fn peel(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peel(&group.elem),
        Type::Paren(paren) => peel(&paren.elem),
        other => other,
    }
}

/// Whether the name is anywhere in it.
pub(crate) fn mentions_name(ty: &Type, name: &str) -> bool {
    mentions(ty.to_token_stream(), &|token| matches!(token, TokenTree::Ident(word) if word == name))
}

/// Whether it is a model that the host offers. The type itself says whether it is the sdk's.
pub(crate) fn is_target(ty: &Type) -> bool {
    mentions_name(ty, "TargetClient")
}

/// Whether there is a `Config<..>` in it.
pub(crate) fn is_config(ty: &Type) -> bool {
    fn is_in(tokens: TokenStream) -> bool {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_inside =
            |token: &TokenTree| matches!(token, TokenTree::Group(group) if is_in(group.stream()));
        tokens.iter().any(is_inside)
            || tokens.windows(2).any(|pair| {
                matches!(pair, [TokenTree::Ident(word), TokenTree::Punct(angle)]
                    if word == "Config" && angle.as_char() == '<')
            })
    }
    is_in(ty.to_token_stream())
}

/// Only spares the author the compiler's words for it, so it is enough to know `Config` by its name.
pub(crate) fn config_that_borrows(ty: &TypePath) -> bool {
    ty.path.segments.last().is_some_and(|last| {
        last.ident == "Config" && mentions(last.arguments.to_token_stream(), &is_lifetime)
    })
}

fn is_lifetime(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == '\'')
}
