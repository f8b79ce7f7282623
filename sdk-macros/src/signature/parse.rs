//! The signature as a whole.

use proc_macro2::TokenStream;
use syn::{
    Abi, Attribute, Ident, Lifetime, Token, Type, parenthesized,
    parse::{Parse, ParseStream},
};

use super::{
    Input,
    tokens::{ends_generic_parameter, ends_output, ends_where_clause, ty, until},
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

fn output(input: ParseStream<'_>) -> syn::Result<Option<Type>> {
    if !input.peek(Token![->]) {
        return Ok(None);
    }
    input.parse::<Token![->]>()?;
    ty(input, ends_output).map(Some)
}
