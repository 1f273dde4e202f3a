//! What is answered: a file, or a page that names the path.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use super::files::Files;
use crate::reader::Request;
use crate::reply::Reply;

const BEFORE_PATH: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><title>rudy</title></head><body>";
const HTML: &str = "text/html; charset=utf-8";
const NO_FILE: &str = "no such file\n";
const BEHIND_PATH: &str = "</body></html>\n";

/// All that can be answered.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// Absent: every path has a page, as in the original.
    pub(super) files: Option<Files>,
    /// Bytes that each request leaves behind.
    pub(super) leak_bytes: usize,
    /// What they have left behind.
    pub(super) leaked: Mutex<Vec<Box<[u8]>>>,
}

impl Pages {
    /// Puts the reply to a request behind what is in `out`.
    pub(super) fn write(&self, request: &Request, took_ns: u64, close: bool, out: &mut Vec<u8>) {
        if self.leak_bytes > 0 {
            // Written to, or the kernel would not count it.
            let left = vec![1; self.leak_bytes].into_boxed_slice();
            self.leaked.lock().unwrap_or_else(PoisonError::into_inner).push(left);
        }
        let page;
        let (status, content_type, body) = match &self.files {
            None => {
                let path = request.target.split('?').next().unwrap_or_default();
                page = [BEFORE_PATH, escaped(path).as_ref(), BEHIND_PATH].concat();
                ("200 OK", HTML, page.as_bytes())
            }
            Some(files) => match files.find(&request.target) {
                Some(file) => ("200 OK", file.content_type, file.bytes.as_slice()),
                None => ("404 Not Found", "text/plain; charset=utf-8", NO_FILE.as_bytes()),
            },
        };
        let method = request.method;
        Reply { status, content_type, fields: "", body, took_ns, id: None, close, method }.write(out);
    }
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
        Pages::default().write(&request, 0, true, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("<body>/&lt;b&gt;&amp;</body>"), "{text}");
    }
}
