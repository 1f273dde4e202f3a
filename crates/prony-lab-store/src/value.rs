//! Values as both databases have them.

use super::StoreError;
use prony_lab_model::clock::Moment;

/// Characters of a text that an error shows.
const SHOWN_MAX: usize = 40;

/// A value of a column or parameter. Truth is 0 or 1; moments are milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// Any number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A row of an answer, column by column.
#[derive(Debug, Clone, PartialEq)]
pub struct Row(pub(crate) Vec<Value>);

impl Row {
    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.maybe_int(column)?.ok_or_else(|| self.unfit(column, "a number"))
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.0.get(column) {
            Some(Value::Int(value)) => Ok(Some(*value)),
            Some(Value::Null) => Ok(None),
            _ => Err(self.unfit(column, "a number")),
        }
    }

    pub(crate) fn real(&self, column: usize) -> Result<f64, StoreError> {
        self.maybe_real(column)?.ok_or_else(|| self.unfit(column, "a number"))
    }

    pub(crate) fn maybe_real(&self, column: usize) -> Result<Option<f64>, StoreError> {
        match self.0.get(column) {
            Some(Value::Real(value)) => Ok(Some(*value)),
            // SQLite keeps a whole number so where it can.
            Some(Value::Int(value)) => Ok(Some(*value as f64)),
            Some(Value::Null) => Ok(None),
            _ => Err(self.unfit(column, "a number")),
        }
    }

    /// The text in `column`.
    pub fn text(&self, column: usize) -> Result<String, StoreError> {
        self.maybe_text(column)?.ok_or_else(|| self.unfit(column, "a text"))
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        match self.0.get(column) {
            Some(Value::Text(value)) => Ok(Some(value.clone())),
            Some(Value::Null) => Ok(None),
            _ => Err(self.unfit(column, "a text")),
        }
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<Vec<u8>, StoreError> {
        match self.0.get(column) {
            Some(Value::Bytes(value)) => Ok(value.clone()),
            _ => Err(self.unfit(column, "bytes")),
        }
    }

    pub(crate) fn moment(&self, column: usize) -> Result<Moment, StoreError> {
        self.int(column).map(Moment)
    }

    pub(crate) fn maybe_moment(&self, column: usize) -> Result<Option<Moment>, StoreError> {
        Ok(self.maybe_int(column)?.map(Moment))
    }

    /// A text that is one of a few words.
    pub(crate) fn word<T: std::str::FromStr>(&self, column: usize) -> Result<T, StoreError> {
        self.text(column)?.parse().map_err(|_| self.unfit(column, "one of the words that may stand there"))
    }

    pub(crate) fn maybe_word<T: std::str::FromStr>(&self, column: usize) -> Result<Option<T>, StoreError> {
        let Some(text) = self.maybe_text(column)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| self.unfit(column, "one of the words that may stand there"))
    }

    fn unfit(&self, column: usize, wanted: &str) -> StoreError {
        let found = match self.0.get(column) {
            None => "missing".to_owned(),
            Some(Value::Null) => "empty".to_owned(),
            Some(Value::Int(value)) => value.to_string(),
            Some(Value::Real(value)) => value.to_string(),
            Some(Value::Text(value)) => format!("{:?}", value.chars().take(SHOWN_MAX).collect::<String>()),
            Some(Value::Bytes(value)) => format!("{} bytes", value.len()),
        };
        StoreError::Damaged(format!("column {column} is {found}, and should be {wanted}"))
    }
}

/// Parameters of a statement: `values![id, name]`.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::Value::from($value)),*][..] };
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        // PostgreSQL has no U+0000 in texts.
        Self::Text(value.replace('\0', "\u{fffd}"))
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::from(value.as_str())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::from(value.as_str())
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_vec())
    }
}

impl From<Moment> for Value {
    fn from(value: Moment) -> Self {
        Self::Int(value.0)
    }
}

impl<T> From<Option<T>> for Value
where
    Self: From<T>,
{
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Self::from)
    }
}

macro_rules! from_ids {
    ($($id:ident),+) => {$(
        impl From<prony_lab_model::$id> for Value {
            fn from(value: prony_lab_model::$id) -> Self {
                Self::Int(value.0)
            }
        }
    )+};
}
from_ids!(
    AlertId, BisectId, BuildId, EventId, HookId, MonitorId, NoteId, ProjectId, SeriesId, TaskId, UserId
);
