//! The policy of an agent: the same rules as a lab's, from a file on the agent's machine, with narrower defaults. Nobody
//! who sends commands can widen it.

use super::{Policy, Rules};

/// Reads the file of an agent's policy; without a file, its own machine may be loaded and nothing else. Says what is wrong.
pub fn agent_policy(text: Option<&str>) -> Result<Policy, String> {
    let mut table: toml::Table =
        text.unwrap_or_default().parse().map_err(|error: toml::de::Error| one_line(&error))?;
    if table.contains_key("user_caps") {
        return Err("`user_caps` is for labs: an agent knows no users".to_owned());
    }
    table.entry("private").or_insert(false.into());
    let rules: Rules = table.try_into().map_err(|error| one_line(&error))?;
    rules.check().map_err(|error| error.to_string())
}

fn one_line(error: &toml::de::Error) -> String {
    error.message().trim().replace('\n', ", ")
}

#[cfg(test)]
mod tests {
    use prony_lab_model::Role;

    use super::*;

    fn allows(text: Option<&str>, address: &str) -> bool {
        let policy = agent_policy(text).expect("a policy");
        policy.check(Role::Runner, address.parse().expect("an address")).is_ok()
    }

    #[test]
    fn loopback_alone_is_allowed_unless_the_file_says_more() {
        for text in [None, Some(""), Some("ports = [\"80\"]")] {
            assert!(allows(text, "127.0.0.1:80"), "{text:?}");
            assert!(!allows(text, "10.0.0.1:80") && !allows(text, "8.8.8.8:80"), "{text:?}");
            assert!(!allows(text, "[::ffff:10.0.0.1]:80"), "{text:?}");
        }
        assert!(allows(Some("private = true"), "10.0.0.1:80"));
        assert!(allows(Some("networks = [\"203.0.113.0/24\"]"), "203.0.113.9:80"));
        assert!(!allows(Some("networks = [\"0.0.0.0/0\"]"), "169.254.169.254:80"));
        assert!(!allows(Some("loopback = false"), "127.0.0.1:80"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("privat = true", "privat"),
            ("private = 1", "bool"),
            ("networks = [\"x\"]", "no network"),
            ("[user_caps]\nbuilds = 1", "user_caps"),
            ("=", ""),
        ] {
            let why = agent_policy(Some(text)).expect_err(text);
            assert!(why.contains(expected) && !why.contains('\n'), "{why}");
        }
    }
}
