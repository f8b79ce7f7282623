//! Types in the function's own words.

use super::*;

type Input = EvalInput;
type Outcome = Result<EvalResult, std::num::ParseIntError>;

#[evaluator]
fn aliased(input: &'_ Input) -> Outcome {
    let one: usize = "1".parse()?;
    Ok(EvalResult::new(Score::ratio(input.invocations.len(), one)))
}

/// Reads nothing from the document; its type is all it has.
struct Typed<T, const N: usize = 0>(PhantomData<T>);

impl<T, const N: usize> FromInput<'_> for Typed<T, N> {
    fn from_input(_: &Context) -> Result<Self, Rejection> {
        Ok(Self(PhantomData))
    }
}

impl<T, const N: usize> Typed<T, N> {
    fn size(&self) -> usize {
        size_of::<T>() + N
    }
}

const TWO: usize = 2;

#[evaluator]
#[expect(clippy::too_many_arguments, clippy::type_complexity, reason = "all there are")]
fn computed(
    literal: Typed<(), 4>,
    sum: Typed<[(); 3], { TWO + 2 }>,
    block: Typed<
        (),
        {
            let two = TWO;
            two * two
        },
    >,
    product: Typed<[u8; TWO * 2]>,
    branch: Typed<[u8; if TWO < 3 { 4 } else { 0 }]>,
    item: Typed<
        [u8; {
            const fn four() -> usize {
                4
            }
            four()
        }],
    >,
    pointer: Typed<fn(u8, Typed<u8>) -> Option<u8>, { size_of::<u8>() - 1 }>,
    qualified: <Vec<Typed<[u8; 4]>> as IntoIterator>::Item,
) -> Result<bool, <String as std::str::FromStr>::Err> {
    let sizes = [literal.size(), sum.size(), block.size(), product.size(), branch.size()];
    Ok(sizes == [4; { TWO + 3 }]
        && item.size() == 4
        && pointer.size() == size_of::<usize>()
        && qualified.size() == 4)
}

#[test]
fn are_taken_as_they_are() {
    assert_eq!(score(&aliased::EVALUATOR), 1.0);
    assert_eq!(score(&computed::EVALUATOR), 1.0);
}
