//! The page.

use std::borrow::Cow;

use crate::reader::Request;
use crate::reply::Reply;

const BEFORE_PATH: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><title>rudy</title></head><body>";
const BEHIND_PATH: &str = "</body></html>\n";

/// Puts the page for a request behind what is in `out`.
pub(super) fn write(request: &Request, took_ns: u64, close: bool, out: &mut Vec<u8>) {
    let path = request.target.split('?').next().unwrap_or_default();
    let body = [BEFORE_PATH, escaped(path).as_ref(), BEHIND_PATH].concat();
    Reply {
        status: "200 OK",
        content_type: "text/html; charset=utf-8",
        fields: "",
        body: body.as_bytes(),
        took_ns,
        id: None,
        close,
        method: request.method,
    }
    .write(out);
}

/// The path came from outside and must not become part of the page's markup. Most have nothing to escape.
fn escaped(text: &str) -> Cow<'_, str> {
    if text.contains(['&', '<', '>']) {
        Cow::Owned(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Method;

    #[test]
    fn the_page_names_the_path_as_text() {
        let request =
            Request { target: "/<b>&?q=1".into(), method: Method::Other, keep_alive: true, id: None };
        let mut out = Vec::new();
        write(&request, 0, true, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("<body>/&lt;b&gt;&amp;</body>"), "{text}");
    }
}
