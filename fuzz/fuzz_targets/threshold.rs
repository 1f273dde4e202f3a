//! Feeds any text as a threshold: it is refused, with a mistake that stands in it, or printed as text that is read again
//! as the same threshold, whose outcome is the opposite of the inverted one's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_model::{Reading, Threshold, ThresholdOutcome};

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match text.parse::<Threshold>() {
        Err(error) => {
            assert!(text.get(error.span.clone()).is_some(), "{error}: {:?}", error.span);
            assert!(!error.located(text).to_string().is_empty());
        }
        Ok(threshold) => {
            let printed = threshold.to_string();
            assert_eq!(printed.parse::<Threshold>(), Ok(threshold), "{printed}");
            for value in [0.0, 0.5, 1.0, 1e9] {
                let reading = Reading { value: Some(value), ..Reading::default() };
                let (outcome, _) = threshold.of_reading(&reading);
                let (inverted, _) = threshold.inverted().of_reading(&reading);
                assert!(outcome != inverted || outcome == ThresholdOutcome::Undecided, "{printed}: {value}");
            }
        }
    }
});
