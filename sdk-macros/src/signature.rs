//! The function under the attribute, read as far as the macro needs it.
//!
//! syn parses signatures with its feature `full`, the grammar of all of Rust. That costs every first build of an evaluator
//! 0.8 s of processor time (2.7 s instead of 1.9 s for syn with a macro that uses it, debug profile, 2026-11-22). The
//! features that derive macros need include types. Patterns, bounds and the few types beyond are kept as tokens: the
//! compiler has parsed them before the macro runs.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::{
    Abi, Attribute, Ident, Lifetime, Token, Type, Visibility, parenthesized,
    parse::{Parse, ParseStream, discouraged::Speculative},
    token::Brace,
};

/// A function without its body. Only the compiler reads the body, so that incomplete code gets the compiler's errors and
/// completions.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
}

impl Function {
    /// Returns true if it stands in an `impl` block or a trait, where the macro cannot add types.
    pub(crate) fn is_method(&self) -> bool {
        self.sig.inputs.iter().any(|input| matches!(input, Input::Receiver(_)))
    }

    /// Returns true if it would be the entry point of the program.
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

/// Refuses items other than functions.
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
        // The parser has the best error for everything else.
        return Ok(());
    };
    Err(ahead.error(format!(
        "`#[evaluator]` belongs on a function, not on {kind}: `fn my_check(input: &EvalInput) -> EvalResult`"
    )))
}

/// A function without its attributes, visibility and body.
pub(crate) struct Signature {
    pub(crate) constness: Option<Token![const]>,
    pub(crate) asyncness: Option<Token![async]>,
    pub(crate) unsafety: Option<Token![unsafe]>,
    pub(crate) abi: Option<Abi>,
    pub(crate) ident: Ident,
    pub(crate) generics: Vec<GenericParameter>,
    pub(crate) inputs: Vec<Input>,
    /// The return type.
    pub(crate) output: Option<Type>,
}

/// A generic parameter.
pub(crate) enum GenericParameter {
    Lifetime(TokenStream),
    TypeOrConst(TokenStream),
}

impl Parse for Signature {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut constness, mut asyncness, mut unsafety, mut abi) = (None, None, None, None);
        // In any order, and with `safe`: the compiler reports invalid combinations.
        loop {
            if input.peek(Token![const]) {
                constness = input.parse()?;
            } else if input.peek(Token![async]) {
                asyncness = input.parse()?;
            } else if input.peek(Token![unsafe]) {
                unsafety = input.parse()?;
            } else if input.peek(Token![safe]) {
                input.parse::<Token![safe]>()?;
            } else if input.peek(Token![extern]) {
                abi = input.parse()?;
            } else {
                break;
            }
        }
        input.parse::<Token![fn]>()?;
        let ident = input.parse()?;
        let generics = generics(input)?;
        let arguments;
        parenthesized!(arguments in input);
        let inputs = arguments.parse_terminated(Input::parse, Token![,])?.into_iter().collect();
        let output = output(input)?;
        if input.peek(Token![where]) {
            until(input, ends_where_clause)?;
        }
        Ok(Self { constness, asyncness, unsafety, abi, ident, generics, inputs, output })
    }
}

fn generics(input: ParseStream<'_>) -> syn::Result<Vec<GenericParameter>> {
    let mut parameters = Vec::new();
    if !input.peek(Token![<]) {
        return Ok(parameters);
    }
    input.parse::<Token![<]>()?;
    while !input.peek(Token![>]) {
        let behind_attributes = input.fork();
        behind_attributes.call(Attribute::parse_outer)?;
        let kind = if behind_attributes.peek(Lifetime) {
            GenericParameter::Lifetime
        } else {
            GenericParameter::TypeOrConst
        };
        parameters.push(kind(until(input, ends_generic_parameter)?));
        if input.peek(Token![>]) {
            break;
        }
        input.parse::<Token![,]>()?;
    }
    input.parse::<Token![>]>()?;
    Ok(parameters)
}

fn output(input: ParseStream<'_>) -> syn::Result<Option<Type>> {
    if !input.peek(Token![->]) {
        return Ok(None);
    }
    input.parse::<Token![->]>()?;
    ty(input, ends_output).map(Some)
}

/// A parameter.
pub(crate) enum Input {
    /// `self`, in any of its forms.
    Receiver(TokenStream),
    /// `...`, with or without a name.
    Variadic,
    Typed(Typed),
}

/// A parameter of a function outside of `impl` blocks.
pub(crate) struct Typed {
    pub(crate) attrs: Vec<Attribute>,
    /// The variable; `None` for patterns that destructure the value.
    pub(crate) name: Option<Ident>,
    pub(crate) ty: Box<Type>,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let start = input.fork();
        let attrs = input.call(Attribute::parse_outer)?;
        if is_receiver(&input.fork())? {
            until(input, ends_argument)?;
            // With its attributes, which errors span as well.
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

/// Returns true if `self` follows, perhaps by reference, and not a path such as `self::Config`.
fn is_receiver(ahead: ParseStream<'_>) -> syn::Result<bool> {
    if ahead.parse::<Option<Token![&]>>()?.is_some() && ahead.peek(Lifetime) {
        ahead.call(Lifetime::parse_any)?;
    }
    ahead.parse::<Option<Token![mut]>>()?;
    Ok(ahead.peek(Token![self]) && !ahead.peek2(Token![::]))
}

/// Returns the variable that is the whole pattern, or that is bound to the whole value (`name @ ..`).
fn variable(ahead: ParseStream<'_>) -> Option<Ident> {
    ahead.parse::<Option<Token![ref]>>().ok()?;
    ahead.parse::<Option<Token![mut]>>().ok()?;
    let name = ahead.parse().ok()?;
    let is_all = ahead.peek(Token![:]) && !ahead.peek(Token![::]);
    (is_all || ahead.peek(Token![@])).then_some(name)
}

/// Parses a type. Types that syn parses only with its feature `full` (blocks in const arguments, closures in array lengths,
/// `impl Trait + use<>`) are kept as tokens.
fn ty(input: ParseStream<'_>, end: fn(&TokenTree) -> bool) -> syn::Result<Type> {
    let ahead = input.fork();
    match ahead.parse() {
        Ok(ty) => {
            input.advance_to(&ahead);
            Ok(ty)
        }
        Err(error) => match until(input, end) {
            Ok(tokens) if !tokens.is_empty() => Ok(Type::Verbatim(tokens)),
            _ => Err(error),
        },
    }
}

fn ends_generic_parameter(token: &TokenTree) -> bool {
    is_punct(token, ',') || is_punct(token, '>')
}

fn ends_argument(token: &TokenTree) -> bool {
    is_punct(token, ',')
}

fn ends_pattern(token: &TokenTree) -> bool {
    is_punct(token, ':') || is_punct(token, ',')
}

fn ends_output(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(word) if word == "where") || ends_where_clause(token)
}

fn ends_where_clause(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is_punct(token, ';'),
    }
}

fn is_punct(token: &TokenTree, char: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == char)
}

/// Takes the tokens up to the first one, outside of all brackets, for which `end` returns true.
fn until(input: ParseStream<'_>, end: fn(&TokenTree) -> bool) -> syn::Result<TokenStream> {
    input.step(|start| {
        let mut taken = TokenStream::new();
        let mut rest = *start;
        let mut open_angles = 0_usize;
        while let Some((token, behind)) = rest.token_tree() {
            let second = behind.token_tree().filter(|(second, _)| is_one_symbol(&token, second));
            if let Some((second, behind_both)) = second {
                taken.extend([token, second]);
                rest = behind_both;
                continue;
            }
            if open_angles == 0 && end(&token) {
                break;
            }
            if is_punct(&token, '<') {
                open_angles += 1;
            } else if is_punct(&token, '>') {
                open_angles =
                    open_angles.checked_sub(1).ok_or_else(|| start.error("unbalanced `>`"))?;
            }
            taken.extend([token]);
            rest = behind;
        }
        if open_angles > 0 {
            return Err(start.error("unbalanced `<`"));
        }
        Ok((taken, rest))
    })
}

/// Returns true if the two are `::` or `->`, in which `:` is not a colon and `>` is not a bracket.
fn is_one_symbol(first: &TokenTree, second: &TokenTree) -> bool {
    matches!(first, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint)
        && (is_punct(first, ':') && is_punct(second, ':')
            || is_punct(first, '-') && is_punct(second, '>'))
}

#[cfg(test)]
mod tests;
