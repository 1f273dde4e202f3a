//! The policy of an agent: the same rules as a lab's, from a file on the agent's machine, with narrower defaults. Nobody
//! who sends commands can widen it.

use super::rules::{PortRange, every};
use super::{Policy, Rules};

/// The key for ports whose servers may be measured.
const MEASURED: &str = "measured_ports";

/// What an agent may do, by the file of the person who runs it. Nothing that the agent is sent widens it.
#[derive(Debug, Clone)]
pub struct AgentPolicy {
    /// What it may load.
    pub load: Policy,
    /// Ports of this machine whose servers it may measure; none unless the file names some.
    measured: Vec<PortRange>,
}

/// Reads the file of an agent's policy; without a file, its own machine may be loaded and nothing else. Says what is wrong.
pub fn agent_policy(text: Option<&str>) -> Result<AgentPolicy, String> {
    let mut table: toml::Table =
        text.unwrap_or_default().parse().map_err(|error: toml::de::Error| one_line(&error))?;
    if table.contains_key("user_caps") {
        return Err("`user_caps` is for labs: an agent knows no users".to_owned());
    }
    table.entry("private").or_insert(false.into());
    let measured =
        table.remove(MEASURED).map_or_else(|| Ok(Vec::new()), toml::Value::try_into::<Vec<String>>);
    let measured = measured.map_err(|error| format!("`{MEASURED}`: {}", one_line(&error)))?;
    let rules: Rules = table.try_into().map_err(|error| one_line(&error))?;
    let load = rules.check().map_err(|error| error.to_string())?;
    let measured = every(MEASURED, &measured, PortRange::read).map_err(|error| error.to_string())?;
    Ok(AgentPolicy { load, measured })
}

impl AgentPolicy {
    /// Whether the processes that listen on `port` of this machine may be measured; why not.
    pub fn check_measured(&self, port: u16) -> Result<(), String> {
        if self.measured.iter().any(|range| range.contains(port)) {
            return Ok(());
        }
        Err(format!(
            "it measures no server on port {port}: {MEASURED} = [\"{port}\"] in the agent's policy allows it"
        ))
    }
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
        policy.load.check(Role::Runner, address.parse().expect("an address")).is_ok()
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
    fn no_server_is_measured_unless_the_file_names_its_port() {
        let check = |text: &str, port| agent_policy(Some(text)).expect("a policy").check_measured(port);
        let why = check("ports = [\"80\"]", 80).expect_err("what may be loaded is not what may be measured");
        assert!(why.contains("measured_ports = [\"80\"]"), "{why}");
        let text = "measured_ports = [\"80\", \"3000-3009\"]";
        for (port, expected) in [(80, true), (81, false), (3009, true), (3010, false)] {
            assert_eq!(check(text, port).is_ok(), expected, "{port}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("privat = true", "privat"),
            ("private = 1", "bool"),
            ("networks = [\"x\"]", "no network"),
            ("[user_caps]\nbuilds = 1", "user_caps"),
            ("=", ""),
            ("measured_ports = \"80\"", "measured_ports"),
            ("measured_ports = [\"x\"]", "`x` is no port"),
        ] {
            let why = agent_policy(Some(text)).expect_err(text);
            assert!(why.contains(expected) && !why.contains('\n'), "{why}");
        }
    }
}
