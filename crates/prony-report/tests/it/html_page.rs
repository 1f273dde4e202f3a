//! What must hold for every page: it is well-formed, its ids and links are sound, it loads nothing.

use std::collections::BTreeSet;

/// Checks what must hold for every page, and returns it.
pub(crate) fn checked(page: String) -> String {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&page, options)
        .unwrap_or_else(|error| panic!("{error}: {:?}", page.lines().nth(error.pos().row as usize - 1)));
    let mut ids = BTreeSet::new();
    for id in document.descendants().filter_map(|node| node.attribute("id")) {
        assert!(ids.insert(id), "{id} stands twice");
    }
    for node in document.descendants() {
        if let Some(target) = node.attribute("href") {
            if let Some(inner) = target.strip_prefix('#') {
                assert!(ids.contains(inner), "no {inner} on the page");
            } else {
                // To a tracing system, which learns nothing of the page.
                assert!(target.starts_with("http://") || target.starts_with("https://"), "{target}");
                assert_eq!(node.attribute("rel"), Some("noreferrer"), "{target}");
            }
        }
        for described in node.attribute("aria-labelledby").into_iter().flat_map(str::split_whitespace) {
            assert!(ids.contains(described), "no {described} on the page");
        }
        for forbidden in ["style", "src", "onclick", "onload"] {
            assert!(node.attribute(forbidden).is_none(), "{forbidden} at {}", node.tag_name().name());
        }
        assert!(!matches!(node.tag_name().name(), "script" | "img" | "link" | "iframe"));
        for place in ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"] {
            if let (Some(number), true) = (node.attribute(place), node.tag_name().name() != "svg") {
                assert!(number.parse::<f64>().is_ok_and(f64::is_finite), "{place} = {number}");
            }
        }
        if let Some(path) = node.attribute("d") {
            assert!(!path.contains("NaN") && !path.contains("inf"), "{path}");
        }
    }
    page
}

/// Checks that foreign text of a result is on `page`, and none of it as markup.
pub(crate) fn check_escaped(page: &str) {
    assert!(page.contains("&lt;script&gt;") || page.contains("&#60;script&#62;"));
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{202e}'));
}

/// Keeps the page, for people: `PRONY_WRITE_PAGES=FOLDER cargo test -p prony-report html`.
pub(crate) fn keep(name: &str, page: &str) {
    if let Some(folder) = std::env::var_os("PRONY_WRITE_PAGES") {
        let file = std::path::Path::new(&folder).join(format!("{name}.html"));
        std::fs::write(file, page).expect("the page can be written");
    }
}
