//! Which known mistake is made: the one that `PRONY_MUTATION` names. Only the copy that `mutations/run` builds has this.

use std::sync::LazyLock;

static MADE: LazyLock<String> = LazyLock::new(|| std::env::var("PRONY_MUTATION").unwrap_or_default());

/// Whether the mistake of the patch `name` is made.
pub(crate) fn is(name: &str) -> bool {
    *MADE == name
}
