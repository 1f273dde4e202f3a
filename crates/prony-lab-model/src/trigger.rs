//! What has a project built without anybody's asking.

use std::time::Duration;

use super::SecretName;

/// A branch is polled no more often: each time costs its server a request.
pub(super) const POLL_MIN: Duration = Duration::from_mins(1);
/// Nothing is built by the clock more often, or more rarely.
pub(super) const EVERY_MIN: Duration = Duration::from_mins(10);
pub(super) const EVERY_MAX: Duration = Duration::from_hours(366 * 24);

/// What has a project built without anybody's asking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Triggers {
    /// The secret by which a code host signs its notifications of pushes.
    pub push: Option<SecretName>,
    /// Branches whose pushes count; one that ends in `*` stands for all that begin so. Empty: the project's branch.
    pub branches: Vec<String>,
    /// The project's branch is built this often.
    pub every: Option<Duration>,
    /// Its newest commit is polled this often, and built where it is new.
    pub poll: Option<Duration>,
}

impl Triggers {
    /// Whether a push to `branch` counts, in a project whose own branch is `own`.
    pub fn wants(&self, branch: &str, own: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => branch.starts_with(beginning),
            None => branch == pattern,
        };
        if self.branches.is_empty() { branch == own } else { self.branches.iter().any(fits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_by_name_and_by_beginning() {
        let of = |branches: &[&str]| Triggers {
            branches: branches.iter().map(|&name| name.to_owned()).collect(),
            ..Triggers::default()
        };
        assert!(of(&[]).wants("main", "main") && !of(&[]).wants("topic", "main"));
        let some = of(&["main", "release/*"]);
        let wanted = ["main", "release/1", "topic", "release"].map(|branch| some.wants(branch, "main"));
        assert_eq!(wanted, [true, true, false, false]);
        assert!(of(&["*"]).wants("anything", "main"));
    }
}
