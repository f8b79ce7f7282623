//! Text with parts in double braces: the engine of all templates.

/// Text with values in the places of its parts in double braces. Values are put in once: they are not looked at again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces<T>(Vec<Piece<T>>);

/// Piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<T> {
    /// Text that stays as it is.
    Text(String),
    /// Text that stands for a value.
    Value(T),
}

impl<T> Pieces<T> {
    /// Reads a text. `read` gets what is between `{{` and the next `}}`, and the number of its line.
    ///
    /// # Errors
    ///
    /// The first error of `read`, or that of `unclosed` for a `{{` without `}}` in the line of that number.
    pub fn parse<E>(
        text: &str,
        mut read: impl FnMut(&str, usize) -> Result<Piece<T>, E>,
        unclosed: impl FnOnce(usize) -> E,
    ) -> Result<Self, E> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, behind)) = rest.split_once("{{") {
            let line = text[..text.len() - behind.len()].matches('\n').count() + 1;
            let Some((inside, after)) = behind.split_once("}}") else { return Err(unclosed(line)) };
            pieces.extend([Piece::Text(before.to_owned()), read(inside, line)?]);
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// Reads a text in which only those braces count whose inside `read` takes; others are text. Of more than two braces, the
    /// inner ones count.
    pub fn parse_known(text: &str, read: impl Fn(&str) -> Option<T>) -> Self {
        let (mut pieces, mut kept, mut position) = (Vec::new(), 0, 0);
        while let Some(start) = text[position..].find("{{").map(|offset| position + offset) {
            let Some((inside, _)) = text[start + 2..].split_once("}}") else { break };
            position = start + 1;
            if let Some(value) = read(inside) {
                pieces.extend([Piece::Text(text[kept..start].to_owned()), Piece::Value(value)]);
                position = start + inside.len() + 4;
                kept = position;
            }
        }
        pieces.push(Piece::Text(text[kept..].to_owned()));
        Self(pieces)
    }

    /// Returns what stands for values, in order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Value(value) => Some(value),
        })
    }

    /// Returns the text with values.
    ///
    /// # Errors
    ///
    /// The first error of `value`.
    pub fn fill<E>(&self, value: impl Fn(&T) -> Result<String, E>) -> Result<String, E> {
        self.0.iter().try_fold(String::new(), |text, piece| match piece {
            Piece::Text(piece) => Ok(text + piece),
            Piece::Value(it) => Ok(text + &value(it)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_that_are_not_taken_stay() {
        let known = |inside: &str| ["output", "input"].into_iter().find(|it| *it == inside.trim());
        let pieces = Pieces::parse_known(
            "{{ output }} {{x}}\n{ {{{output}} {{ in put }} {{input}} {{un_known}} {{",
            known,
        );
        let value = |name: &&str| match *name {
            "output" => Ok::<_, ()>("{{input}} $1".to_owned()),
            _ => Ok("i".to_owned()),
        };
        assert_eq!(
            pieces.fill(value).unwrap(),
            "{{input}} $1 {{x}}\n{ {{{input}} $1 {{ in put }} i {{un_known}} {{"
        );
        assert_eq!(pieces.values().collect::<Vec<_>>(), [&"output", &"output", &"input"]);
        assert_eq!(Pieces::parse_known("a {{ b", known).fill(value).unwrap(), "a {{ b");
    }
}
