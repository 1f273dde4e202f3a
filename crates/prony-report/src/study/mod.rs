//! Studies: everything that was found out, as a page.

mod html;

pub use html::study_html;
