//! What is wrong in a study or scenario file, drawn beside the lines that it is in.

use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use prony_report::{Style, clean};
use prony_study::StudyError;

/// The mistakes of `text`, the content of `path`.
pub(crate) fn drawn(path: &Path, text: &str, error: &StudyError, style: &Style) -> String {
    let renderer = if style.colour { Renderer::styled() } else { Renderer::plain() };
    let decor = if style.unicode { DecorStyle::Unicode } else { DecorStyle::Ascii };
    let renderer = renderer.decor_style(decor).term_width(style.width);
    let path = clean(&path.display().to_string());
    // Letters that a terminal would take for orders, one byte for one, so that places stay what they are.
    let is_order = |byte: u8| byte.is_ascii_control() && !b"\n\t\r".contains(&byte);
    let text: String = text
        .chars()
        .map(|letter| if u8::try_from(letter).is_ok_and(is_order) { ' ' } else { letter })
        .collect();
    let mut drawn = String::new();
    for mistake in &error.mistakes {
        let annotation = AnnotationKind::Primary.span(mistake.span.clone());
        let snippet = Snippet::source(text.as_str()).path(path.as_str()).annotation(annotation);
        let mut group = Level::ERROR.primary_title(clean(&mistake.message)).element(snippet);
        if let Some(help) = &mistake.help {
            group = group.element(Level::HELP.message(clean(help)));
        }
        drawn.push_str(&renderer.render(&[group]));
        drawn.push_str("\n\n");
    }
    drawn
}
