//! The machine that builds run on.

use schemars::JsonSchema;
use serde::Serialize;

use super::call::{Answered, Call, Nothing};

/// How builds run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Machine {
    /// In which sandbox, or why in none, and who holds their limits; nothing where this lab works no builds off.
    builds: Option<String>,
}

pub(super) async fn show(call: Call<Nothing, Nothing, Nothing>) -> Answered<Machine> {
    Ok(Machine { builds: call.lab.workplace.get().cloned() }.into())
}
