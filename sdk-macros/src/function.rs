//! The item under the attribute.

use proc_macro2::TokenTree;
use syn::{
    Attribute, Ident, Token, Visibility,
    parse::{Parse, ParseStream},
    token::Brace,
};

use crate::signature::{Input, Signature};

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
        self.sig.inputs.iter().any(|input| matches!(input, Input::Receiver(_)))
    }

    /// Whether it would be the entry point of the program.
    pub(crate) fn is_main(&self) -> bool {
        self.sig.ident == "main"
    }
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        refuse_other_items(&input.fork())?;
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

/// Says where the attribute belongs if it stands on an item that is easily taken for its place.
fn refuse_other_items(ahead: ParseStream<'_>) -> syn::Result<()> {
    ahead.parse::<Option<Token![unsafe]>>()?;
    let kind = if ahead.peek(Token![struct])
        || ahead.peek(Token![enum])
        || ahead.peek(Token![union]) && ahead.peek2(Ident)
    {
        "a type"
    } else if ahead.peek(Token![impl]) {
        "an `impl` block"
    } else if ahead.peek(Token![mod]) {
        "a module"
    } else if ahead.peek(Token![trait]) {
        "a trait"
    } else {
        // What is wrong with a function, or with something else, the parser knows best.
        return Ok(());
    };
    Err(ahead.error(format!(
        "`#[evaluator]` belongs on a function, not on {kind}: `fn my_check(input: &EvalInput) -> EvalResult`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_items_are_told_by_kind() {
        for (item, kind) in [
            ("struct A;", "a type"),
            ("pub struct A<T>(T) where T: B;", "a type"),
            ("enum A {}", "a type"),
            ("union A { b: u8 }", "a type"),
            ("impl A {}", "an `impl` block"),
            ("unsafe impl<T> A for B<T> {}", "an `impl` block"),
            ("pub(crate) mod a;", "a module"),
            ("#[b] mod a {}", "a module"),
            ("pub unsafe trait A {}", "a trait"),
        ] {
            let error = syn::parse_str::<Function>(item).err().map(|error| error.to_string());
            let expected = format!("`#[evaluator]` belongs on a function, not on {kind}: ");
            assert!(error.is_some_and(|error| error.starts_with(&expected)), "{item}");
        }
    }

    #[test]
    fn other_items_are_no_functions() {
        for item in ["const A: u8 = 1;", "use a::b;", "type A = B;", "extern \"C\" {}", "union!();"]
        {
            let error = syn::parse_str::<Function>(item).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some("expected `fn`"), "{item}");
        }
    }
}
