//! Reads any bytes as the definition of a project and as a target policy: each is refused with a mistake in words, or can
//! be used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_lab::model::{Definition, Role};
use prony_lab::policy::Rules;

fuzz_target!(|input: &[u8]| {
    let Ok(input) = std::str::from_utf8(input) else { return };
    match Definition::read(input) {
        // What is refused of a new definition is refused, too, as one of those that are there.
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(Definition::read_new(input).is_err());
        }
        Ok(_) => drop(Definition::read_new(input)),
    }
    if let Ok(rules) = toml::from_str::<Rules>(input)
        && let Ok(policy) = rules.check()
    {
        for role in [Role::Viewer, Role::Runner, Role::Admin] {
            // A metadata service is refused whatever the policy says.
            assert!(policy.resolve(role, "http://169.254.169.254/").is_err());
        }
    }
});
