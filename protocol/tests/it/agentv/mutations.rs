//! Documents in which something is not as it should be.

use super::*;

proptest! {
    /// Whatever stands under a key of a sample: it is read or refused, and what is read is converted and written.
    #[test]
    fn mutated_samples_never_panic(
        sample in 0..SAMPLES.len(),
        key in any::<prop::sample::Index>(),
        value in any_json(),
    ) {
        let mut document = object(SAMPLES[sample].1);
        let keys: Vec<String> = document.keys().cloned().collect();
        let key = key.get(&keys).clone();
        document.insert(key.clone(), value);
        let text = Value::Object(document).to_string();
        prop_assert_eq!(detect(text.as_bytes()).unwrap(), Contract::AgentV);
        match CodeJudgeInput::from_json(text.as_bytes()) {
            Err(error) => prop_assert!(error.path.starts_with(&key), "{}", error),
            Ok(input) => {
                let written = serde_json::to_string(&input).unwrap();
                prop_assert_eq!(&read(&written), &input);
                // There is an answer, or none, and no other way to fail.
                if let Err(error) = input.to_eval_input("m") {
                    prop_assert_eq!(error.path, "output_path");
                }
            }
        }
    }
}
