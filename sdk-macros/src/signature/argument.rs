//! What stands between the parentheses.

use proc_macro2::TokenStream;
use syn::{
    Attribute, Ident, Lifetime, Token, Type,
    parse::{Parse, ParseStream},
};

use super::tokens::{ends_argument, ends_pattern, ty, until};

/// What stands between the parentheses, by kind.
pub(crate) enum Input {
    /// `self`, in any of its forms.
    Receiver(TokenStream),
    /// `...`, with or without a name.
    Variadic,
    Typed(Typed),
}

/// An argument as functions outside of `impl` blocks have them.
pub(crate) struct Typed {
    pub(crate) attrs: Vec<Attribute>,
    /// The variable, unless a pattern takes the value apart.
    pub(crate) name: Option<Ident>,
    pub(crate) ty: Box<Type>,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let start = input.fork();
        let attrs = input.call(Attribute::parse_outer)?;
        if is_receiver(&input.fork())? {
            until(input, ends_argument)?;
            // With its attributes, which messages point at too.
            return Ok(Self::Receiver(until(&start, ends_argument)?));
        }
        let name = variable(&input.fork());
        if !input.peek(Token![...]) {
            until(input, ends_pattern)?;
            input.parse::<Token![:]>()?;
        }
        if input.peek(Token![...]) {
            until(input, ends_argument)?;
            return Ok(Self::Variadic);
        }
        let ty = Box::new(ty(input, ends_argument)?);
        Ok(Self::Typed(Typed { attrs, name, ty }))
    }
}

/// Whether `self` comes, perhaps by reference, and not a path such as `self::Config`.
fn is_receiver(ahead: ParseStream<'_>) -> syn::Result<bool> {
    if ahead.parse::<Option<Token![&]>>()?.is_some() && ahead.peek(Lifetime) {
        ahead.call(Lifetime::parse_any)?;
    }
    ahead.parse::<Option<Token![mut]>>()?;
    Ok(ahead.peek(Token![self]) && !ahead.peek2(Token![::]))
}

/// The variable that is all of the pattern to come, or that is bound to all of the value (`name @ ..`).
fn variable(ahead: ParseStream<'_>) -> Option<Ident> {
    ahead.parse::<Option<Token![ref]>>().ok()?;
    ahead.parse::<Option<Token![mut]>>().ok()?;
    let name = ahead.parse().ok()?;
    let is_all = ahead.peek(Token![:]) && !ahead.peek(Token![::]);
    (is_all || ahead.peek(Token![@])).then_some(name)
}
