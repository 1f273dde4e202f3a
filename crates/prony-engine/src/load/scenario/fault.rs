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
    /// The body is not coded as its head says, or cut off.
    Damaged,
    /// Decoding the body takes more memory than codings may.
    Window,
    /// Nothing was found where a value is to be taken from, by the number of the extraction.
    NothingFound(u16),
    /// More redirects than the step follows.
    Redirects,
    /// A redirect to another server, or to nowhere.
    OtherServer,
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
            Self::Header
            | Self::Body
            | Self::Json
            | Self::BodyTooLong
            | Self::Coding
            | Self::Damaged
            | Self::Window => 1,
            Self::NothingFound(_) => 2,
            Self::ControlCharacter | Self::NoValue => 3,
            Self::Redirects | Self::OtherServer => 4,
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
            Self::Coding => "the body's coding is none of gzip, deflate, br and zstd",
            Self::Damaged => "the body can't be decoded: it is cut off, or not coded as it says",
            Self::Window => {
                "the body can't be decoded: it takes a window of more than 16 MiB (br) or 8 MiB (zstd)"
            }
            Self::NothingFound(_) => "nothing was found where a value is to be extracted",
            Self::Redirects => "there are more redirects than it follows",
            Self::OtherServer => "it was redirected to another server",
            Self::Status(_) => "the status was not expected",
            Self::Connection => "there was no complete response",
        }
    }
}
