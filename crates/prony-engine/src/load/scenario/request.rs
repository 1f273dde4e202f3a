//! The request of a step: bytes made once where nothing is filled in, and pieces otherwise. This file has what all versions
//! of HTTP share and the form of HTTP/1.1; that of HTTP/2 is in `block.rs`.

use std::io::Write as _;
use std::sync::Arc;

use prony_http::Request;
use prony_model::{RunPlan, Step, StepBody, TRACEPARENT, Version, is_traceparent};

use super::block::{BlockTemplate, StreamRequest};
use super::cookies::Cookies;
use super::fault::StepFault;
use super::request_body::body;
use super::text::{Goes, Text, Values};
use crate::RunError;
use crate::load::trace::{self, PLACEHOLDER};

/// A request with places for values.
#[derive(Debug, Clone)]
pub(super) struct StepRequest {
    method: Box<str>,
    path: Text,
    form: Form,
    /// How values of it are escaped is decided where it is compiled.
    body: Text,
    has_length: bool,
    /// Whether it has a traceparent: the last of its fields but those that follow from the session and the body.
    is_traced: bool,
}

/// How a request is written.
#[derive(Debug, Clone)]
enum Form {
    /// In HTTP/1.1.
    Lines {
        /// All fields but those that follow from the session and the body; each line with its end.
        fields: Text,
        /// All bytes, where nothing is filled in, and where a line of cookies goes among them.
        whole: Option<(Arc<[u8]>, usize)>,
    },
    /// In HTTP/2.
    Block {
        template: BlockTemplate,
        /// The body, where nothing is filled in and it is not empty.
        body: Option<Arc<[u8]>>,
    },
}

/// A field of a request: its name, and its value.
pub(super) type Field = (String, Text);

/// Compiles a template for a place.
pub(super) type Compile<'a> = &'a dyn Fn(&str, Goes) -> Result<Text, RunError>;

impl StepRequest {
    /// The request of `step`, number `number` of the scenario.
    pub(super) fn new(
        plan: &RunPlan,
        step: &Step,
        number: usize,
        text: Compile<'_>,
    ) -> Result<Self, RunError> {
        let (body, content_type) = body(plan, step, number, text)?;
        let base = plan.target.path.trim_end_matches('/');
        let mut path = Text::default();
        path.push_bytes(base.as_bytes());
        path.append(&text(&step.path, Goes::Path)?);
        let has_length =
            !matches!(step.body, StepBody::None) || matches!(step.method.as_str(), "POST" | "PUT" | "PATCH");
        let fields = fields(plan, step, content_type, text)?;
        let is_traced = plan.trace.is_some();
        let form = if plan.request.version == Version::Http2 {
            let is_secure = plan.target.tls.is_some();
            let template =
                BlockTemplate::new(&step.method, is_secure, &path, fields, &body, has_length, is_traced);
            let body = body.as_static().filter(|body| !body.is_empty()).map(Arc::from);
            Form::Block { template, body }
        } else {
            let mut lines = Text::default();
            for (name, value) in fields {
                lines.push_bytes(format!("{name}: ").as_bytes());
                lines.append(&value);
                lines.push_bytes(b"\r\n");
            }
            if is_traced {
                lines.push_bytes(format!("{TRACEPARENT}: {PLACEHOLDER}\r\n").as_bytes());
            }
            Form::Lines { fields: lines, whole: None }
        };
        let mut request =
            Self { method: step.method.as_str().into(), path, form, body, has_length, is_traced };
        let known = request.known();
        if let Form::Lines { whole, .. } = &mut request.form {
            *whole = known;
        }
        Ok(request)
    }

    /// All bytes of HTTP/1.1, if nothing is filled in.
    fn known(&self) -> Option<(Arc<[u8]>, usize)> {
        let Form::Lines { fields, .. } = &self.form else { return None };
        let (path, fields, body) = (self.path.as_static()?, fields.as_static()?, self.body.as_static()?);
        let mut bytes = Vec::new();
        self.line(path, &mut bytes);
        bytes.extend_from_slice(fields);
        let cookies = bytes.len();
        self.end(body, &mut bytes);
        Some((bytes.into(), cookies))
    }

    /// Bytes that are known before the run.
    pub(super) fn known_bytes(&self) -> usize {
        match &self.form {
            Form::Lines { whole, .. } => whole.as_ref().map_or(0, |(bytes, _)| bytes.len()),
            Form::Block { template, body } => {
                template.known_bytes() + body.as_ref().map_or(0, |body| body.len())
            }
        }
    }

    fn line(&self, path: &[u8], out: &mut Vec<u8>) {
        for part in [self.method.as_bytes(), b" ", path, b" HTTP/1.1\r\n"] {
            out.extend_from_slice(part);
        }
    }

    fn end(&self, body: &[u8], out: &mut Vec<u8>) {
        if self.has_length {
            let _written = write!(out, "Content-Length: {}\r\n", body.len());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(body);
    }

    /// Writes the request into `out` or, in HTTP/2, into `stream`, and its path into `path`.
    pub(super) fn render(
        &self,
        values: &mut Values<'_>,
        cookies: &Cookies,
        path: &mut Vec<u8>,
        out: &mut Rendered,
        stream: &mut StreamRequest,
    ) -> Result<(), StepFault> {
        path.clear();
        self.path.render(Goes::Path, values, path)?;
        // Where a value begins the path, the text itself does not say that it is one.
        if path.first() != Some(&b'/') {
            return Err(StepFault::ControlCharacter);
        }
        match &self.form {
            Form::Lines { whole: Some((bytes, at)), .. } => {
                out.bytes.clear();
                out.bytes.extend_from_slice(&bytes[..*at]);
                self.note_trace(out);
                cookies.write(path, &mut out.bytes);
                out.bytes.extend_from_slice(&bytes[*at..]);
            }
            Form::Lines { fields, whole: None } => {
                out.body.clear();
                self.body.render(Goes::Plain, values, &mut out.body)?;
                out.bytes.clear();
                self.line(path, &mut out.bytes);
                fields.render(Goes::Header, values, &mut out.bytes)?;
                self.note_trace(out);
                cookies.write(path, &mut out.bytes);
                self.end(&out.body, &mut out.bytes);
            }
            Form::Block { template, body } => {
                self.stream_body(body.as_ref(), values, out, stream)?;
                out.trace_at = template.render(values, cookies, path, &mut out.bytes, stream)?;
            }
        }
        Ok(())
    }

    /// The request that follows a redirect to `path`: with the same method and body, or a GET without one.
    pub(super) fn redirected(
        &self,
        values: &mut Values<'_>,
        cookies: &Cookies,
        path: &[u8],
        as_get: bool,
        out: &mut Rendered,
        stream: &mut StreamRequest,
    ) -> Result<(), StepFault> {
        match &self.form {
            Form::Lines { fields, .. } => {
                out.body.clear();
                out.bytes.clear();
                if as_get {
                    for part in [&b"GET "[..], path, b" HTTP/1.1\r\n"] {
                        out.bytes.extend_from_slice(part);
                    }
                } else {
                    self.body.render(Goes::Plain, values, &mut out.body)?;
                    self.line(path, &mut out.bytes);
                }
                fields.render(Goes::Header, values, &mut out.bytes)?;
                self.note_trace(out);
                cookies.write(path, &mut out.bytes);
                if as_get {
                    out.bytes.extend_from_slice(b"\r\n");
                } else {
                    self.end(&out.body, &mut out.bytes);
                }
            }
            Form::Block { template, body } => {
                if as_get {
                    stream.body = None;
                } else {
                    self.stream_body(body.as_ref(), values, out, stream)?;
                }
                out.trace_at =
                    template.render_redirected(values, cookies, path, as_get, &mut out.bytes, stream)?;
            }
        }
        Ok(())
    }

    /// The fields of `out` are there: notes where its traceparent stands.
    fn note_trace(&self, out: &mut Rendered) {
        if self.is_traced {
            out.trace_at = out.bytes.len() - "\r\n".len() - trace::LENGTH;
        }
    }

    /// The body of a stream: shared where nothing is filled in.
    fn stream_body(
        &self,
        known: Option<&Arc<[u8]>>,
        values: &mut Values<'_>,
        out: &mut Rendered,
        stream: &mut StreamRequest,
    ) -> Result<(), StepFault> {
        stream.body = known.cloned();
        if self.body.as_static().is_none() {
            out.body.clear();
            self.body.render(Goes::Plain, values, &mut out.body)?;
            stream.body = (!out.body.is_empty()).then(|| Arc::from(&*out.body));
        }
        Ok(())
    }

    /// Whether a redirect with `status` is followed by a GET (RFC 9110 section 15.4).
    pub(super) fn becomes_get(&self, status: u16) -> bool {
        status == 303 && &*self.method != "HEAD" || matches!(status, 301 | 302) && &*self.method == "POST"
    }
}

/// All fields of `step` but those that follow from the session and the length of the body: `Host` first, if it has one.
fn fields(
    plan: &RunPlan,
    step: &Step,
    content_type: Option<String>,
    text: Compile<'_>,
) -> Result<Vec<Field>, RunError> {
    let given = |name: &str| step.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let constant = |value: &str| {
        let mut text = Text::default();
        text.push_bytes(value.as_bytes());
        text
    };
    // Prony's own fields, as a request without any of the step's has them.
    let own =
        Request { keep_alive: plan.request.keep_alive, ..Request::get(plan.target.authority.clone(), "/") };
    let own = own.encode().map_err(|error| RunError::Request(error.to_string()))?;
    let own = String::from_utf8_lossy(own.head());
    let mut fields = Vec::new();
    if let Some((_, value)) = step.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")) {
        fields.push(("Host".to_owned(), text(value.trim(), Goes::Header)?));
    }
    for (name, value) in own.lines().skip(1).filter_map(|line| line.split_once(": ")) {
        if !given(name) {
            fields.push((name.to_owned(), constant(value)));
        }
    }
    // That of a recorded request belongs to a trace that is over, and the state of its vendors with it.
    let is_replaced = |name: &str| {
        plan.trace.is_some() && (is_traceparent(name) || name.eq_ignore_ascii_case("tracestate"))
    };
    for (name, value) in &step.headers {
        if !name.eq_ignore_ascii_case("host") && !is_replaced(name) {
            fields.push((name.clone(), text(value.trim(), Goes::Header)?));
        }
    }
    if let Some(content_type) = content_type.filter(|_| !given("content-type")) {
        fields.push(("Content-Type".to_owned(), constant(&content_type)));
    }
    Ok(fields)
}

/// Memory for the request that is sent next.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    bytes: Vec<u8>,
    body: Vec<u8>,
    /// Where its traceparent stands, if it has one.
    trace_at: usize,
}

impl Rendered {
    /// The request of HTTP/1.1.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same, to overwrite its traceparent.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Where its traceparent stands, if it has one; in HTTP/2 in its fields.
    pub(super) fn trace_at(&self) -> usize {
        self.trace_at
    }

    /// It is this one once more.
    pub(super) fn repeat(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
    }
}
