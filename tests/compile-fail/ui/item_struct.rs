use evaluator_sdk::evaluator;

#[evaluator]
struct Judge;

fn main() {
    let _ = Judge;
}
