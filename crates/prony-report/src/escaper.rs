//! What templates (the folder `templates`) do with every text that they show.

use std::fmt;

use askama::filters::Escaper;

use crate::svg::escaped;

/// Escapes text as drawings do; `askama.toml` names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clean;

impl Escaper for Clean {
    fn write_escaped_str<W: fmt::Write>(&self, mut page: W, text: &str) -> fmt::Result {
        page.write_str(&escaped(text))
    }
}
