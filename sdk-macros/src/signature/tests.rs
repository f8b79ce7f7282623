//! Tests of the signature parser.

use quote::ToTokens;

use proc_macro2::{Delimiter, TokenStream};
use syn::{Ident, parse::ParseStream};

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
            Input::Variadic => "variadic".to_owned(),
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
        for arguments in [format!("{pattern}: A<B, C>, b: B"), format!("{pattern}:A<B, C>,b:B")] {
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
    assert_eq!(inputs("a: A, ..."), ["a: A", "variadic"]);
    assert_eq!(inputs("#[a] b: ...,"), ["variadic"]);
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
    for item in ["const A: u8 = 1;", "use a::b;", "type A = B;", "extern \"C\" {}", "union!();"] {
        let error = syn::parse_str::<Function>(item).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("expected `fn`"), "{item}");
    }
}
