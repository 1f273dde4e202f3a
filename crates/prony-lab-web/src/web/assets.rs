//! Styles, scripts and the icon: part of the program, under names that change with what they hold.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

use super::fields::PathParam;
use crate::http::WebError;

/// Digits of the hash in a name: enough that two versions never share one.
const HASH_BYTES: usize = 6;

/// A year, as RFC 9111 knows no "for ever"; what changes gets another name.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

struct Asset {
    /// With its hash: `lab.0123456789ab.css`.
    path: String,
    media_type: &'static str,
    text: &'static str,
}

static ASSETS: LazyLock<[Asset; 5]> = LazyLock::new(|| {
    let text = "text/javascript; charset=utf-8";
    [
        asset("lab", "css", "text/css; charset=utf-8", include_str!("../../assets/lab.css")),
        asset("lab", "js", text, include_str!("../../assets/lab.js")),
        asset("icon", "svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
        asset("uplot", "css", "text/css; charset=utf-8", include_str!("../../assets/uplot/uplot.css")),
        asset("uplot", "js", text, include_str!("../../assets/uplot/uplot.js")),
    ]
});

/// Where the style sheet of every page is.
pub(crate) fn style() -> &'static str {
    &ASSETS[0].path
}

/// Where the script of every page is.
pub(crate) fn script() -> &'static str {
    &ASSETS[1].path
}

/// Where the icon is.
pub(crate) fn icon() -> &'static str {
    &ASSETS[2].path
}

/// Where the style sheet of charts is.
pub(crate) fn chart_style() -> &'static str {
    &ASSETS[3].path
}

/// Where the script that draws charts is.
pub(crate) fn chart_script() -> &'static str {
    &ASSETS[4].path
}

/// Sends one.
pub(super) async fn show(PathParam(name): PathParam<String>) -> Result<Response, WebError> {
    let found = ASSETS.iter().find(|asset| asset.path.strip_prefix("/assets/") == Some(name.as_str()));
    // A page of an older prony may still be open somewhere.
    let asset = found.ok_or_else(|| WebError::Missing("such file any more: reload the page".to_owned()))?;
    Ok(([(CONTENT_TYPE, asset.media_type), (CACHE_CONTROL, FOR_EVER)], asset.text).into_response())
}

fn asset(name: &str, kind: &str, media_type: &'static str, text: &'static str) -> Asset {
    let mut hash = String::with_capacity(2 * HASH_BYTES);
    for byte in &Sha256::digest(text)[..HASH_BYTES] {
        // Writing to a `String` can't fail.
        let _ = write!(hash, "{byte:02x}");
    }
    Asset { path: format!("/assets/{name}.{hash}.{kind}"), media_type, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_vendored_is_what_its_version_says() {
        let version = include_str!("../../assets/uplot/VERSION");
        for (name, text) in [("uplot.js", ASSETS[4].text), ("uplot.css", ASSETS[3].text)] {
            let hash: String = prony_lab_model::auth::hexadecimal(&Sha256::digest(text));
            assert!(version.contains(&format!("sha256 {hash}  {name}")), "{name} is {hash}");
        }
    }

    #[test]
    fn names_differ_and_stay_inside_the_folder() {
        let mut paths: Vec<_> = ASSETS.iter().map(|asset| asset.path.as_str()).collect();
        assert!(paths.iter().all(|path| path.starts_with("/assets/") && path.matches('/').count() == 2));
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), ASSETS.len());
    }

    #[test]
    fn colours_are_those_of_the_reports() {
        let reports = include_str!("../../../prony-report/src/study/html/style.css");
        let ours = ASSETS[0].text;
        for line in ["--paper:#ffffff;--ink:", "--good:#176f2c;", "--paper:#14171a;--ink:", "--good:#5bd27a;"]
        {
            let theirs = reports.lines().find(|found| found.starts_with(line)).expect("a line of colours");
            assert!(ours.contains(theirs), "{theirs}");
        }
    }
}
