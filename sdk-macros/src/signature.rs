//! The signature of a function, read as far as an evaluator's is looked at.
//!
//! syn reads signatures with its feature `full`, the grammar of all of Rust, which takes every author's fresh build a
//! second longer than the grammar of derive macros. That one has types. Patterns, bounds and the few types it does not
//! have are taken as they come: the compiler has read them before us.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::{
    Abi, Attribute, Ident, Lifetime, Token, Type, parenthesized,
    parse::{Parse, ParseStream, discouraged::Speculative},
};

/// A function without its attributes, visibility and body.
pub(crate) struct Signature {
    pub(crate) constness: Option<Token![const]>,
    pub(crate) asyncness: Option<Token![async]>,
    pub(crate) unsafety: Option<Token![unsafe]>,
    pub(crate) abi: Option<Abi>,
    pub(crate) ident: Ident,
    pub(crate) generics: Vec<GenericParameter>,
    pub(crate) inputs: Vec<Input>,
    /// The type behind the `->`.
    pub(crate) output: Option<Type>,
}

/// What stands between the angle brackets, by kind.
pub(crate) enum GenericParameter {
    Lifetime(TokenStream),
    TypeOrConst(TokenStream),
}

/// What stands between the parentheses, by kind.
pub(crate) enum Input {
    /// `self`, in any of its forms.
    Receiver(TokenStream),
    /// `...`, with or without a name.
    Variadic(TokenStream),
    Typed(Typed),
}

/// An argument as functions outside of `impl` blocks have them.
pub(crate) struct Typed {
    pub(crate) attrs: Vec<Attribute>,
    /// The variable, unless a pattern takes the value apart.
    pub(crate) name: Option<Ident>,
    pub(crate) ty: Box<Type>,
}

impl Parse for Signature {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut constness, mut asyncness, mut unsafety, mut abi) = (None, None, None, None);
        // In any order, and with `safe`: what is wrong with that is for the compiler to say.
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

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let start = input.fork();
        let attrs = input.call(Attribute::parse_outer)?;
        // With its attributes, which messages point at too.
        let whole = || until(&start, ends_argument);
        if is_receiver(&input.fork())? {
            until(input, ends_argument)?;
            return Ok(Self::Receiver(whole()?));
        }
        let name = variable(&input.fork());
        if !input.peek(Token![...]) {
            until(input, ends_pattern)?;
            input.parse::<Token![:]>()?;
        }
        if input.peek(Token![...]) {
            until(input, ends_argument)?;
            return Ok(Self::Variadic(whole()?));
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

fn output(input: ParseStream<'_>) -> syn::Result<Option<Type>> {
    if !input.peek(Token![->]) {
        return Ok(None);
    }
    input.parse::<Token![->]>()?;
    ty(input, ends_output).map(Some)
}

/// Reads a type. What syn cannot read without its feature `full` (blocks in const arguments, closures in array lengths,
/// `impl Trait + use<>`) is taken as it comes.
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

/// Takes the tokens before the first one that is an end, outside of all brackets, or all there are.
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

/// Whether the two are a `::` or a `->`, where `:` is no colon and `>` closes nothing.
fn is_one_symbol(first: &TokenTree, second: &TokenTree) -> bool {
    matches!(first, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint)
        && (is_punct(first, ':') && is_punct(second, ':')
            || is_punct(first, '-') && is_punct(second, '>'))
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;

    use super::*;

    fn read(text: &str) -> Signature {
        syn::parse_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Without spaces, which depend on whose tokens they are.
    fn show(tokens: impl ToTokens) -> String {
        tokens.to_token_stream().to_string().replace(' ', "")
    }

    /// What became of each argument: attributes, name and type, or kind and tokens.
    fn inputs(arguments: &str) -> Vec<String> {
        let inputs = read(&format!("fn f({arguments}) -> bool")).inputs;
        inputs
            .iter()
            .map(|input| match input {
                Input::Receiver(tokens) => format!("receiver {}", show(tokens)),
                Input::Variadic(tokens) => format!("variadic {}", show(tokens)),
                Input::Typed(Typed { attrs, name, ty }) => {
                    let attrs: String = attrs.iter().map(show).collect();
                    let name = name.as_ref().map_or("-".to_owned(), Ident::to_string);
                    format!("{attrs}{name}: {}", show(ty))
                }
            })
            .collect()
    }

    #[test]
    fn variables_are_known_by_name() {
        assert_eq!(
            inputs("a: A, mut b:&B, ref c :C, ref mut d: D, r#e: E, f @ F(_): F, g: ::g::G,"),
            ["a: A", "b: &B", "c: C", "d: D", "r#e: E", "f: F", "g: ::g::G"]
        );
    }

    #[test]
    fn patterns_end_at_their_colon() {
        for pattern in [
            "_",
            "(a)",
            "&a",
            "&ref a",
            "(a, b)",
            "[a, .., b]",
            "Config(a)",
            "Config(Settings { min, max: 0..=5, .. })",
            "Config::<Pair<A, B>>(a)",
            "module::Config(a)",
            "self::Config(a)",
            "&self::Config(a)",
            "::krate::module::Config { a, b: c }",
            "module::UNIT",
            "<A as Trait<fn(A) -> B, C = D>>::Config(a)",
            "(A(a) | B(a))",
            "| A(a) | B(a)",
            "-1..=5",
            "'a'..",
            "\"a:b\"",
            "const { A::<B>::C }",
            "pattern!(a: A, b)",
            "module::pattern![a: A, b]",
        ] {
            for arguments in [format!("{pattern}: A<B, C>, b: B"), format!("{pattern}:A<B, C>,b:B")]
            {
                assert_eq!(inputs(&arguments), ["-: A<B,C>", "b: B"], "{arguments}");
            }
        }
    }

    #[test]
    fn types_end_at_their_comma() {
        for ty in [
            "A<B, C<D, E>>",
            "fn(A, B) -> C",
            "Box<dyn Fn(A, B) -> C + Send>",
            "impl Fn(A) -> B",
            "<A as B<C, D>>::E",
            "a::b!(c, d)",
            "A<-1, { N + 1 }>",
            "[A; N * 2]",
            // Beyond what syn reads without its feature `full`.
            "A<{ let n = 1; n }, B>",
            "A<fn(B) -> C, { loop { break 1 } }>",
            "[A; if B < C { 1 } else { 2 }]",
            "[A; { struct A; 3 }]",
            "impl A<B> + use<'_, C>",
        ] {
            let expected = format!("a: {}", ty.replace(' ', ""));
            assert_eq!(inputs(&format!("a: {ty}, b: B")), [expected.as_str(), "b: B"]);
            assert_eq!(inputs(&format!("a: {ty}")), [expected]);
        }
    }

    #[test]
    fn groups_without_delimiters_are_kept() {
        let group = |text: &str| proc_macro2::Group::new(Delimiter::None, text.parse().unwrap());
        let (pattern, ty) = (group("::a::Config(b)"), group("impl A + use<>"));
        let Signature { inputs, output, .. } =
            syn::parse2(quote::quote!(fn f(#pattern: #ty, c: C) -> #ty)).unwrap();
        let names = inputs.iter().map(|input| match input {
            Input::Typed(Typed { name, .. }) => name.as_ref().map(Ident::to_string),
            _ => panic!("neither receiver nor variadic"),
        });
        assert_eq!(names.collect::<Vec<_>>(), [None, Some("c".to_owned())]);
        assert_eq!(show(output), show(ty));
    }

    #[test]
    fn receivers_and_variadics_are_kept_whole() {
        for receiver in [
            "self",
            "mut self",
            "&self",
            "&mut self",
            "&'a self",
            "&'_ mut self",
            "self: Box<Self, A>",
            "mut self: &Self",
            "#[a] &self",
        ] {
            let expected = [format!("receiver {}", receiver.replace(' ', "")), "a: A".to_owned()];
            assert_eq!(inputs(&format!("{receiver}, a: A")), expected);
        }
        assert_eq!(inputs("a: A, ..."), ["a: A", "variadic ..."]);
        assert_eq!(inputs("#[a] b: ...,"), ["variadic #[a]b:..."]);
    }

    #[test]
    fn attributes_are_kept_with_their_argument() {
        assert_eq!(
            inputs("#[a(b, c)] #[d] e: E, #[f = \"g\"] (h, i): H"),
            ["#[a(b,c)]#[d]e: E", "#[f=\"g\"]-: H"]
        );
    }

    #[test]
    fn generic_parameters_are_told_apart() {
        let generics = |text: &str| -> Vec<String> {
            let parameters = read(&format!("fn f{text}()")).generics;
            let shown = parameters.iter().map(|parameter| match parameter {
                GenericParameter::Lifetime(tokens) => format!("lifetime {}", show(tokens)),
                GenericParameter::TypeOrConst(tokens) => format!("other {}", show(tokens)),
            });
            shown.collect()
        };
        assert_eq!(generics(""), [""; 0]);
        assert_eq!(generics("<>"), [""; 0]);
        assert_eq!(
            generics("<'a, #[b] 'b: 'a + 'c, T: A<B, C> + Fn(D) -> E<F>, #[g] U, const N: usize,>"),
            [
                "lifetime 'a",
                "lifetime #[b]'b:'a+'c",
                "other T:A<B,C>+Fn(D)->E<F>",
                "other #[g]U",
                "other constN:usize",
            ]
        );
    }

    #[test]
    fn outputs_end_at_where_and_body() {
        for (end, rest) in [
            ("{ body }", "{ body }"),
            (";", ";"),
            ("where A: B<C>, for<'a> D<{ E }>: Fn(&'a F) -> G, [H; { 1 }]:, { body }", "{ body }"),
            ("where;", ";"),
        ] {
            for ty in ["A<{ let a = 1; a }, B>", "fn(A) -> B", "impl A + use<>", "A<{ B }>"] {
                let text = format!("fn f() -> {ty} {end}");
                let parser = |input: ParseStream<'_>| -> syn::Result<(Signature, TokenStream)> {
                    Ok((input.parse()?, input.parse()?))
                };
                let (sig, behind) = syn::parse::Parser::parse_str(parser, &text).unwrap();
                assert_eq!(show(sig.output), ty.replace(' ', ""), "{text}");
                assert_eq!(behind.to_string(), rest, "{text}");
            }
        }
        assert!(read("fn f()").output.is_none());
    }

    #[test]
    fn qualifiers_come_in_any_order() {
        let sig = read("unsafe extern \"C\" async const fn f()");
        assert!(sig.constness.is_some() && sig.asyncness.is_some() && sig.unsafety.is_some());
        assert_eq!(show(sig.abi), "extern\"C\"");
        let sig = read("safe fn r#match()");
        assert!(sig.constness.is_none() && sig.asyncness.is_none() && sig.unsafety.is_none());
        assert!(sig.abi.is_none() && sig.ident == "r#match");
    }

    #[test]
    fn what_is_no_signature_is_refused() {
        for (text, expected) in [
            ("const X: u8", "expected `fn`"),
            ("fn f<T: A", "expected `,`"),
            ("fn f<T>>()", "expected parentheses"),
            ("fn f(a)", "expected `:`"),
            ("fn f(a:: b)", "expected `:`"),
            ("fn f(a: A b: B)", "expected `,`"),
            ("fn f(a: A = 1)", "expected `,`"),
            ("fn f(a: A,, b: B)", "expected `:`"),
            ("fn f(a: A<B)", "expected `,`"),
            ("fn f(a > b: A)", "unbalanced `>`"),
            ("fn f -> A", "expected parentheses"),
        ] {
            let error = syn::parse_str::<Signature>(text).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some(expected), "{text}");
        }
        for text in ["fn f(a: )", "fn f() -> { body }"] {
            let error = syn::parse_str::<Signature>(text).err().map(|error| error.to_string());
            assert!(error.is_some_and(|error| error.contains("expected one of: `for`")), "{text}");
        }
    }
}
