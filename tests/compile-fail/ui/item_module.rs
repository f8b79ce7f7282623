use evaluator_sdk::evaluator;

#[evaluator]
mod judges {
    pub fn judge() -> bool {
        true
    }
}

fn main() {
    judges::judge();
}
