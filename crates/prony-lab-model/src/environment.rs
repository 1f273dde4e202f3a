//! What a project puts into the environment of its commands.

use std::collections::BTreeMap;

use super::SecretName;
use super::project::{DefinitionError, wrong};
use super::secret::is_reserved;

/// More of them belong into a file of the project.
const VARIABLES_MAX: usize = 64;
/// Longer names are of no more use.
const NAME_BYTES_MAX: usize = 64;
/// Longer values belong into a file, too.
const VALUE_BYTES_MAX: usize = 4 << 10;
/// Reserved beside what no secret may be called: what the C library and shells read before any command does, also outside
/// of the sandbox, in the programs that make it.
const RESERVED: [&str; 11] = [
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "IFS",
    "LANGUAGE",
    "LOCPATH",
    "NLSPATH",
    "OLDPWD",
    "PWD",
    "SHELLOPTS",
];
/// The proxy of tasks with a network is named by variables that end like this, in either case.
const PROXY_END: &str = "_PROXY";

/// The variables of `table`, by name; `secrets` are the names that tasks get from elsewhere.
pub(crate) fn checked<'a>(
    table: BTreeMap<String, String>,
    secrets: &(impl Iterator<Item = &'a SecretName> + Clone),
) -> Result<Vec<(String, String)>, DefinitionError> {
    if table.len() > VARIABLES_MAX {
        return Err(wrong("environment", &format!("at most {VARIABLES_MAX} variables")));
    }
    for (name, value) in &table {
        // A name that can't be one is not repeated: it may be anything.
        if !is_name(name) {
            let message = format!(
                "names have 1 to {NAME_BYTES_MAX} of A–Z, a–z, 0–9 and `_`, and don't begin with a digit"
            );
            return Err(wrong("environment", &message));
        }
        let key = format!("environment.{name}");
        if is_reserved(name) || RESERVED.contains(&name.as_str()) || is_proxy(name) {
            return Err(wrong(&key, "Prony, the sandbox or the shell relies on it: take another name"));
        }
        if secrets.clone().any(|secret| secret.as_str() == name) {
            return Err(wrong(&key, "a task gets the secret of that name: take another name"));
        }
        if value.len() > VALUE_BYTES_MAX || value.chars().any(char::is_control) {
            let message = format!("a value has at most {VALUE_BYTES_MAX} bytes and no control characters");
            return Err(wrong(&key, &message));
        }
    }
    Ok(table.into_iter().collect())
}

fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
}

fn is_proxy(name: &str) -> bool {
    name.to_ascii_uppercase().ends_with(PROXY_END)
}

#[cfg(test)]
mod tests {
    use super::super::Definition;
    use super::*;

    fn read(lines: &str) -> Result<Vec<(String, String)>, String> {
        let text = format!(
            "folder = \"/a\"\n[[task]]\nname = \"a\"\ncommand = \"x\"\nsecrets = [\"TOKEN\"]\n[environment]\n{lines}"
        );
        Definition::read(&text).map(|read| read.environment).map_err(|error| error.to_string())
    }

    #[test]
    fn variables_are_given_by_name() {
        let all = read("RUSTFLAGS = \"-C target-cpu=native\"\nempty = \"\"\n_A1 = \"ä\"").expect("read");
        let all: Vec<_> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(all, [("RUSTFLAGS", "-C target-cpu=native"), ("_A1", "ä"), ("empty", "")]);
        assert_eq!(read("").expect("none"), []);
    }

    #[test]
    fn what_others_rely_on_is_refused() {
        for name in [
            "PATH",
            "HOME",
            "TMPDIR",
            "LANG",
            "CI",
            "TERM",
            "LD_PRELOAD",
            "PRONY_BUILD",
            "XDG_STATE_HOME",
            "GIT_SSH",
            "GLIBC_TUNABLES",
            "BASH_ENV",
            "IFS",
            "http_proxy",
            "NO_PROXY",
            "TOKEN",
        ] {
            let error = read(&format!("{name} = \"x\"")).expect_err(name);
            assert!(error.contains(&format!("`environment.{name}`")), "{error}");
        }
    }

    #[test]
    fn names_and_values_have_bounds() {
        for line in [
            "\"\" = \"x\"".to_owned(),
            "\"A=B\" = \"x\"".to_owned(),
            "\"A B\" = \"x\"".to_owned(),
            "\"ä\" = \"x\"".to_owned(),
            "1A = \"x\"".to_owned(),
            "A = \"a\\nb\"".to_owned(),
            "A = \"\\u0000\"".to_owned(),
            "A = 3".to_owned(),
            format!("{} = \"x\"", "A".repeat(NAME_BYTES_MAX + 1)),
            format!("A = \"{}\"", "x".repeat(VALUE_BYTES_MAX + 1)),
        ] {
            assert!(read(&line).is_err(), "{line}");
        }
        let many = |count: usize| (0..count).map(|n| format!("A{n} = \"x\"")).collect::<Vec<_>>().join("\n");
        assert_eq!(read(&many(VARIABLES_MAX)).expect("as many as may be").len(), VARIABLES_MAX);
        assert!(read(&many(VARIABLES_MAX + 1)).is_err());
    }
}
