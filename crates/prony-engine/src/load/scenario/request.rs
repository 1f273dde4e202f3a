//! The request of a step: bytes made once where nothing is filled in, and pieces otherwise.

use std::io::Write as _;
use std::sync::Arc;

use prony_http::Request;
use prony_model::{PartContent, RunPlan, Step, StepBody};

use super::cookies::Cookies;
use super::fault::StepFault;
use super::text::{Goes, Text, Values, percent_encoded};
use crate::RunError;

/// A request with places for values.
#[derive(Debug, Clone)]
pub(super) struct StepRequest {
    method: Box<str>,
    path: Text,
    /// All fields but those that follow from the session and the body; each line with its end.
    fields: Text,
    body: Text,
    /// How values of the body are escaped is decided where it is compiled.
    has_length: bool,
    /// All bytes, where nothing is filled in, and where a line of cookies goes among them.
    whole: Option<(Arc<[u8]>, usize)>,
}

/// Compiles a template for a place.
type Compile<'a> = &'a dyn Fn(&str, Goes) -> Result<Text, RunError>;

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
        let given = |name: &str| step.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        // Prony's own fields, as a request without any of the step's has them.
        let own = Request {
            keep_alive: plan.request.keep_alive,
            ..Request::get(plan.target.authority.clone(), "/")
        };
        let own = own.encode().map_err(|error| RunError::Request(error.to_string()))?;
        let own = String::from_utf8_lossy(own.head());
        let mut fields = Text::default();
        if let Some((_, value)) = step.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")) {
            fields.push_bytes(b"Host: ");
            fields.append(&text(value.trim(), Goes::Header)?);
            fields.push_bytes(b"\r\n");
        }
        for line in own.lines().skip(1).filter(|line| !line.is_empty()) {
            if line.split_once(':').is_some_and(|(name, _)| !given(name)) {
                fields.push_bytes(format!("{line}\r\n").as_bytes());
            }
        }
        for (name, value) in &step.headers {
            if !name.eq_ignore_ascii_case("host") {
                fields.push_bytes(format!("{name}: ").as_bytes());
                fields.append(&text(value.trim(), Goes::Header)?);
                fields.push_bytes(b"\r\n");
            }
        }
        if let Some(content_type) = content_type.filter(|_| !given("content-type")) {
            fields.push_bytes(format!("Content-Type: {content_type}\r\n").as_bytes());
        }
        let has_length =
            !matches!(step.body, StepBody::None) || matches!(step.method.as_str(), "POST" | "PUT" | "PATCH");
        let mut request =
            Self { method: step.method.as_str().into(), path, fields, body, has_length, whole: None };
        request.whole = request.known();
        Ok(request)
    }

    /// All bytes, if nothing is filled in.
    fn known(&self) -> Option<(Arc<[u8]>, usize)> {
        let (path, fields, body) = (self.path.as_static()?, self.fields.as_static()?, self.body.as_static()?);
        let mut bytes = Vec::new();
        self.line(path, &mut bytes);
        bytes.extend_from_slice(fields);
        let cookies = bytes.len();
        self.end(body, &mut bytes);
        Some((bytes.into(), cookies))
    }

    /// Bytes that are known before the run.
    pub(super) fn known_bytes(&self) -> usize {
        self.whole.as_ref().map_or(0, |(bytes, _)| bytes.len())
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

    /// Writes the request into `out` and its path into `path`.
    pub(super) fn render(
        &self,
        values: &mut Values<'_>,
        cookies: &Cookies,
        path: &mut Vec<u8>,
        out: &mut Rendered,
    ) -> Result<(), StepFault> {
        path.clear();
        self.path.render(Goes::Path, values, path)?;
        // Where a value begins the path, the text itself does not say that it is one.
        if path.first() != Some(&b'/') {
            return Err(StepFault::ControlCharacter);
        }
        if let Some((bytes, at)) = &self.whole {
            out.bytes.clear();
            out.bytes.extend_from_slice(&bytes[..*at]);
            cookies.write(path, &mut out.bytes);
            out.bytes.extend_from_slice(&bytes[*at..]);
            return Ok(());
        }
        out.body.clear();
        self.body.render(Goes::Plain, values, &mut out.body)?;
        out.bytes.clear();
        self.line(path, &mut out.bytes);
        self.fields.render(Goes::Header, values, &mut out.bytes)?;
        cookies.write(path, &mut out.bytes);
        self.end(&out.body, &mut out.bytes);
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
    ) -> Result<(), StepFault> {
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
        self.fields.render(Goes::Header, values, &mut out.bytes)?;
        cookies.write(path, &mut out.bytes);
        if as_get {
            out.bytes.extend_from_slice(b"\r\n");
        } else {
            self.end(&out.body, &mut out.bytes);
        }
        Ok(())
    }

    /// Whether a redirect with `status` is followed by a GET (RFC 9110 section 15.4).
    pub(super) fn becomes_get(&self, status: u16) -> bool {
        status == 303 && &*self.method != "HEAD" || matches!(status, 301 | 302) && &*self.method == "POST"
    }
}

/// Memory for the request that is sent next.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    bytes: Vec<u8>,
    body: Vec<u8>,
}

impl Rendered {
    /// The request.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The body of `step` and its media type.
fn body(
    plan: &RunPlan,
    step: &Step,
    number: usize,
    text: Compile<'_>,
) -> Result<(Text, Option<String>), RunError> {
    let mut body = Text::default();
    let content_type = match &step.body {
        StepBody::None => None,
        StepBody::Text(template) => {
            body.append(&text(template, Goes::Plain)?);
            None
        }
        StepBody::Json(template) => {
            body.append(&text(template, Goes::Json)?);
            Some("application/json".to_owned())
        }
        StepBody::File(file) => {
            body.push_bytes(&file.content.bytes);
            None
        }
        StepBody::Form(fields) => {
            for (at, (name, value)) in fields.iter().enumerate() {
                let separator = if at == 0 { "" } else { "&" };
                body.push_bytes(format!("{separator}{}=", percent_encoded(name)).as_bytes());
                body.append(&text(value, Goes::Form)?);
            }
            Some("application/x-www-form-urlencoded".to_owned())
        }
        StepBody::Multipart(parts) => {
            // Nobody who fills a feed knows the seed of the run.
            let boundary = format!("prony-{:016x}-{number}", plan.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let quoted = |text: &str| text.replace('"', "%22");
            for part in parts {
                let mut head = format!(
                    "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
                    quoted(&part.name)
                );
                if let Some(name) = &part.file_name {
                    head.extend(["; filename=\"", &quoted(name), "\""]);
                }
                head.push_str("\r\n");
                if let Some(content_type) = &part.content_type {
                    head.extend(["Content-Type: ", content_type, "\r\n"]);
                }
                head.push_str("\r\n");
                body.push_bytes(head.as_bytes());
                match &part.content {
                    PartContent::Text(template) => body.append(&text(template, Goes::Plain)?),
                    PartContent::File(file) => body.push_bytes(&file.content.bytes),
                }
                body.push_bytes(b"\r\n");
            }
            body.push_bytes(format!("--{boundary}--\r\n").as_bytes());
            Some(format!("multipart/form-data; boundary={boundary}"))
        }
    };
    Ok((body, content_type))
}
