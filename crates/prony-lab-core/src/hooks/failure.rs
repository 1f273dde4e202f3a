//! A delivery that failed.

/// Why a delivery failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// In words, for an administrator.
    pub(super) why: String,
    /// Whether another try would fail in the same way.
    pub(super) is_final: bool,
}

impl Failure {
    /// One that may pass.
    pub(super) fn passing(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_final: false }
    }

    /// One that stays.
    pub(super) fn lasting(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_final: true }
    }
}
