//! The request of a step in HTTP/2: a field block that leaves the server's table alone, so that it is the same on any
//! connection. A request that was refused is sent again as it is, with no value made again.

use std::io::Write as _;
use std::sync::Arc;

use prony_http::RequestKind;
use prony_http::h2::OneRequest;
use prony_http::h2::plain_fields::{write_field, write_name, write_value};

use super::cookies::Cookies;
use super::fault::StepFault;
use super::request::Field;
use super::text::{Goes, Text, Values};
use crate::load::trace::{self, write_traceparent};

/// The fields of a step with places for values.
#[derive(Debug, Clone)]
pub(super) struct BlockTemplate {
    /// `:method`, of the step and of a redirect that becomes a GET.
    method: Box<[u8]>,
    get: Box<[u8]>,
    /// `:scheme` and `:authority`.
    server: Box<[Part]>,
    /// The names of fields whose values follow from the session and the body.
    path_name: Box<[u8]>,
    cookie_name: Box<[u8]>,
    length_name: Box<[u8]>,
    fields: Box<[Part]>,
    has_length: bool,
    /// Whether a traceparent follows them.
    is_traced: bool,
    /// All but the cookies, where nothing is filled in, and where the traceparent stands in it.
    whole: Option<(Arc<[u8]>, usize)>,
}

/// A part of a field block.
#[derive(Debug, Clone)]
enum Part {
    /// Whole fields.
    Bytes(Arc<[u8]>),
    /// A field whose value is made for each request.
    Field { name: Box<[u8]>, value: Text },
}

/// The request that a session sends on a stream, kept until its answer has come.
#[derive(Debug, Default)]
pub(super) struct StreamRequest {
    block: Vec<u8>,
    pub(super) body: Option<Arc<[u8]>>,
}

impl StreamRequest {
    /// As the core sends it.
    pub(super) fn for_core(&self, kind: RequestKind) -> OneRequest<'_> {
        OneRequest { block: &self.block, body: self.body.as_ref(), kind }
    }

    /// Its fields, to overwrite its traceparent.
    pub(super) fn block_mut(&mut self) -> &mut [u8] {
        &mut self.block
    }
}

impl BlockTemplate {
    /// For the `fields` of a step, which were checked.
    pub(super) fn new(
        method: &str,
        is_secure: bool,
        path: &Text,
        fields: Vec<Field>,
        body: &Text,
        has_length: bool,
        is_traced: bool,
    ) -> Self {
        let name = |name: &str| {
            let mut bytes = Vec::new();
            write_name(&mut bytes, name);
            bytes.into_boxed_slice()
        };
        let method_field = |method: &str| {
            let mut bytes = Vec::new();
            write_field(&mut bytes, ":method", method.as_bytes());
            bytes.into_boxed_slice()
        };
        let mut server = Vec::new();
        push_static(&mut server, ":scheme", if is_secure { b"https" } else { b"http" });
        let mut others = Vec::new();
        for (field, value) in fields {
            if field.eq_ignore_ascii_case("host") {
                push(&mut server, ":authority", value);
            } else if !field.eq_ignore_ascii_case("connection") {
                // Prony's own wish to close, which HTTP/2 has no field for: a step can't have one.
                push(&mut others, &field.to_ascii_lowercase(), value);
            }
        }
        let mut template = Self {
            method: method_field(method),
            get: method_field("GET"),
            server: server.into(),
            path_name: name(":path"),
            cookie_name: name("cookie"),
            length_name: name("content-length"),
            fields: others.into(),
            has_length,
            is_traced,
            whole: None,
        };
        template.whole = template.known(path, body);
        template
    }

    /// All but the cookies, if nothing is filled in.
    fn known(&self, path: &Text, body: &Text) -> Option<(Arc<[u8]>, usize)> {
        let (path, body) = (path.as_static()?, body.as_static()?);
        let mut block = self.method.to_vec();
        let (server, fields) = (as_static(&self.server)?, as_static(&self.fields)?);
        block.extend_from_slice(server);
        write_field(&mut block, ":path", path);
        block.extend_from_slice(fields);
        let trace_at = self.add_trace(&mut block);
        if self.has_length {
            write_field(&mut block, "content-length", body.len().to_string().as_bytes());
        }
        Some((block.into(), trace_at))
    }

    /// Bytes that are known before the run.
    pub(super) fn known_bytes(&self) -> usize {
        self.whole.as_ref().map_or(0, |(block, _)| block.len())
    }

    /// Writes the fields of the request for `path` into `out`, whose body is there already. `scratch` is memory.
    /// Returns where its traceparent stands, if it has one.
    pub(super) fn render(
        &self,
        values: &mut Values<'_>,
        cookies: &Cookies,
        path: &[u8],
        scratch: &mut Vec<u8>,
        out: &mut StreamRequest,
    ) -> Result<usize, StepFault> {
        let Some((whole, trace_at)) = &self.whole else {
            return self.render_redirected(values, cookies, path, false, scratch, out);
        };
        out.block.clear();
        out.block.extend_from_slice(whole);
        self.add_cookies(cookies, path, scratch, &mut out.block);
        Ok(*trace_at)
    }

    /// The same for a `path` that a redirect leads to, and perhaps `as_get`.
    pub(super) fn render_redirected(
        &self,
        values: &mut Values<'_>,
        cookies: &Cookies,
        path: &[u8],
        as_get: bool,
        scratch: &mut Vec<u8>,
        out: &mut StreamRequest,
    ) -> Result<usize, StepFault> {
        let StreamRequest { block, body } = out;
        block.clear();
        block.extend_from_slice(if as_get { &self.get } else { &self.method });
        add(&self.server, values, scratch, block)?;
        block.extend_from_slice(&self.path_name);
        write_value(block, path);
        add(&self.fields, values, scratch, block)?;
        let trace_at = self.add_trace(block);
        if self.has_length && !as_get {
            scratch.clear();
            let _written = write!(scratch, "{}", body.as_ref().map_or(0, |body| body.len()));
            block.extend_from_slice(&self.length_name);
            write_value(block, scratch);
        }
        self.add_cookies(cookies, path, scratch, block);
        Ok(trace_at)
    }

    /// Adds a traceparent to be overwritten, if there is to be one; returns where it stands.
    fn add_trace(&self, block: &mut Vec<u8>) -> usize {
        if self.is_traced {
            write_traceparent(block);
        }
        block.len().saturating_sub(trace::LENGTH)
    }

    fn add_cookies(&self, cookies: &Cookies, path: &[u8], scratch: &mut Vec<u8>, block: &mut Vec<u8>) {
        scratch.clear();
        cookies.write_pairs(path, scratch);
        if !scratch.is_empty() {
            block.extend_from_slice(&self.cookie_name);
            write_value(block, scratch);
        }
    }
}

/// Adds a field, made now where its value is known.
fn push(parts: &mut Vec<Part>, name: &str, value: Text) {
    if let Some(value) = value.as_static() {
        return push_static(parts, name, value);
    }
    let mut bytes = Vec::new();
    write_name(&mut bytes, name);
    parts.push(Part::Field { name: bytes.into(), value });
}

fn push_static(parts: &mut Vec<Part>, name: &str, value: &[u8]) {
    let mut bytes = match parts.pop_if(|part| matches!(part, Part::Bytes(_))) {
        Some(Part::Bytes(bytes)) => bytes.to_vec(),
        _ => Vec::new(),
    };
    write_field(&mut bytes, name, value);
    parts.push(Part::Bytes(bytes.into()));
}

/// The bytes of `parts`, if nothing is filled in.
fn as_static(parts: &[Part]) -> Option<&[u8]> {
    match parts {
        [] => Some(&[]),
        [Part::Bytes(bytes)] => Some(bytes),
        _ => None,
    }
}

/// Adds `parts` with their values to `block`.
fn add(
    parts: &[Part],
    values: &mut Values<'_>,
    scratch: &mut Vec<u8>,
    block: &mut Vec<u8>,
) -> Result<(), StepFault> {
    for part in parts {
        match part {
            Part::Bytes(bytes) => block.extend_from_slice(bytes),
            Part::Field { name, value } => {
                scratch.clear();
                value.render(Goes::Header, values, scratch)?;
                block.extend_from_slice(name);
                write_value(block, scratch);
            }
        }
    }
    Ok(())
}
