//! Where a type, a pattern or a bound ends, and everything up to there.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::{
    Type,
    parse::{ParseStream, discouraged::Speculative},
};

/// Reads a type. What syn cannot read without its feature `full` (blocks in const arguments, closures in array lengths,
/// `impl Trait + use<>`) is taken as it comes.
pub(super) fn ty(input: ParseStream<'_>, end: fn(&TokenTree) -> bool) -> syn::Result<Type> {
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

pub(super) fn ends_generic_parameter(token: &TokenTree) -> bool {
    is_punct(token, ',') || is_punct(token, '>')
}

pub(super) fn ends_argument(token: &TokenTree) -> bool {
    is_punct(token, ',')
}

pub(super) fn ends_pattern(token: &TokenTree) -> bool {
    is_punct(token, ':') || is_punct(token, ',')
}

pub(super) fn ends_output(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(word) if word == "where") || ends_where_clause(token)
}

pub(super) fn ends_where_clause(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is_punct(token, ';'),
    }
}

fn is_punct(token: &TokenTree, char: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == char)
}

/// Takes the tokens before the first one that is an end, outside of all brackets, or all there are.
pub(super) fn until(
    input: ParseStream<'_>,
    end: fn(&TokenTree) -> bool,
) -> syn::Result<TokenStream> {
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
