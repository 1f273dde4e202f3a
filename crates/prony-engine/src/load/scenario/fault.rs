//! Why a step of a session failed, beyond what can be wrong with any request.

/// What was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepFault {
    /// A value for the request line or a header has a control character.
    ControlCharacter,
    /// A value is missing that an earlier step should have set.
    NoValue,
    /// A header field is not as expected.
    Header,
    /// The body is not as expected.
    Body,
    /// The body, as JSON, is not as expected.
    Json,
    /// The body is longer than what can be kept, coded or decoded.
    BodyTooLong,
    /// The body is coded in a way that can't be decoded.
    Coding,
    /// Nothing was found where a value is to be taken from, by the number of the extraction.
    NothingFound(u16),
    /// More redirects than the step follows.
    Redirects,
    /// A redirect to another server, or to nowhere.
    Elsewhere,
    /// A status that was not expected.
    Status(u16),
    /// No complete response.
    Connection,
}

/// The causes of failures, as results name them.
pub(crate) const CAUSES: [&str; 6] = ["status", "check", "extract", "request", "redirects", "connection"];

impl StepFault {
    /// Its cause, as an index into [`CAUSES`].
    pub(crate) fn cause(self) -> usize {
        match self {
            Self::Status(_) => 0,
            Self::Header | Self::Body | Self::Json | Self::BodyTooLong | Self::Coding => 1,
            Self::NothingFound(_) => 2,
            Self::ControlCharacter | Self::NoValue => 3,
            Self::Redirects | Self::Elsewhere => 4,
            Self::Connection => 5,
        }
    }

    /// Whether no server took any time for it: a user who went on at once would do nothing else.
    pub(crate) fn is_without_answer(self) -> bool {
        matches!(self, Self::ControlCharacter | Self::NoValue | Self::Connection)
    }

    /// In words, as a lower-case fragment.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::ControlCharacter => {
                "a value for its path or a header has a character that can't stand there"
            }
            Self::NoValue => "a value that it needs was not set",
            Self::Header => "a header is not as expected",
            Self::Body => "the body is not as expected",
            Self::Json => "a value of the body's JSON is not as expected",
            Self::BodyTooLong => "the body is longer than the 16 MiB that can be checked",
            Self::Coding => "the body's coding can't be decoded",
            Self::NothingFound(_) => "nothing was found where a value is to be extracted",
            Self::Redirects => "there are more redirects than it follows",
            Self::Elsewhere => "it was redirected to another server",
            Self::Status(_) => "the status was not expected",
            Self::Connection => "there was no complete response",
        }
    }
}
