//! Files with prices of models.

use std::path::Path;

use evaluator_document::{Field, Problems, load, parse};
use evaluator_models::{Decimal, ErrorKind, ModelError, Price, Prices};

/// Prices of models, and their currency.
#[derive(Clone, Debug, Default)]
pub struct PriceTable {
    /// Prices per million tokens.
    pub prices: Prices,
    /// Currency, as the file names it.
    pub currency: Option<String>,
}

/// Key of the currency, which no model has as its name.
const CURRENCY: &str = "currency";

impl PriceTable {
    /// Reads a file such as
    ///
    /// ```yaml
    /// currency: USD
    /// openai/gpt-4o-mini: {input: 0.15, output: 0.60, cached_input: 0.075}
    /// ```
    ///
    /// # Errors
    ///
    /// The file cannot be read, or something in it is not a price; the message has the position.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let text = load(path, "file with prices");
        let table = text.and_then(|text| {
            parse(&text, path, |root, problems| match root {
                Some(root) => read(root.field("the file", problems), problems),
                None => problems.add_to_file("the file has no prices").none(),
            })
        });
        table.map_err(|error| ModelError::new(ErrorKind::Config, error.to_string()))
    }
}

fn read(root: Field<'_>, problems: &Problems<'_>) -> Option<PriceTable> {
    root.entries()?;
    let mut table = PriceTable::default();
    let mut prices = Vec::new();
    for (name, node) in root.named() {
        let field = node.field(name, problems);
        if name == CURRENCY {
            table.currency = field.sentence();
            continue;
        }
        let Some(mut fields) = field.fields("the price of this model") else { continue };
        let input = fields.require("input").and_then(|field| amount(&field));
        let output = fields.require("output").and_then(|field| amount(&field));
        let cached_input = fields.take("cached_input").map(|field| amount(&field));
        fields.finish();
        if let (Some(input), Some(output)) = (input, output) {
            let cached_input = cached_input.flatten();
            prices.push((name.to_owned(), Price { input, output, cached_input }));
        }
    }
    table.prices = Prices::new(prices);
    Some(table)
}

/// Returns an amount of money, exactly as it is written.
pub(crate) fn amount(field: &Field<'_>) -> Option<Decimal> {
    let number = field.non_negative()?;
    // The shortest digits of a binary fraction are those that were written.
    match number.to_string().parse::<Decimal>() {
        Ok(amount) => Some(amount.normalize()),
        Err(_) => field.add(format!("`{}` has too many digits", field.key)).none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<PriceTable, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        PriceTable::load(file.path()).map_err(|error| error.message)
    }

    #[test]
    fn prices_are_decimal_and_mistakes_have_positions() {
        let read = table("currency: USD\nopenai/m: {input: 0.1, output: '0.60'}\n").unwrap();
        assert_eq!(read.currency.as_deref(), Some("USD"));
        let price = read.prices.get("openai", "m").unwrap();
        assert_eq!(
            (price.input.to_string(), price.output.to_string()),
            ("0.1".into(), "0.6".into())
        );
        for (text, expected) in [
            ("m: {input: 1, outptu: 2}", "did you mean `output`?"),
            ("m: {input: -1, output: 2}", ":1:12: `input` must be at least 0"),
            ("m: 3", ":1:4: `m` must be a mapping"),
            ("", "the file has no prices"),
        ] {
            let error = table(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
