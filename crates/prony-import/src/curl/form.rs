//! The body that `-F` makes: multipart/form-data (RFC 7578).

use std::path::Path;

use prony_model::Problem;

use super::body::{file, path_text};
use crate::shell::Word;

/// One part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    name: String,
    file_name: Option<String>,
    content_type: Option<String>,
    content: Vec<u8>,
}

impl Part {
    /// `name=content`, `name=@file`, `name=<file`, with `;type=…` and `;filename=…`; as it stands where `literal`.
    pub(super) fn read(word: &Word, literal: bool) -> Result<Self, Problem> {
        let wrong = |what: &str| {
            Problem::new(
                format!("line {}: this part of a form {what}", word.line),
                "write it as -F 'name=content' or -F 'name=@FILE'",
            )
        };
        let at = word.bytes.iter().position(|byte| *byte == b'=').ok_or_else(|| wrong("has no `=`"))?;
        let name = std::str::from_utf8(&word.bytes[..at]).ok().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| wrong("has no name"))?.to_owned();
        let value = &word.bytes[at + 1..];
        let plain = |content: &[u8]| Self {
            name: name.clone(),
            file_name: None,
            content_type: None,
            content: content.to_vec(),
        };
        if literal {
            return Ok(plain(value));
        }
        let (from_file, rest) = match value.split_first() {
            Some((sign @ (b'@' | b'<'), rest)) => (Some(*sign), rest),
            _ => (None, value),
        };
        let (content, settings) = split_settings(rest);
        let mut part = plain(content);
        if let Some(sign) = from_file {
            let path = path_text(content, word.line)?;
            part.content = file(path, word.line)?;
            if sign == b'@' {
                let last = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
                part.file_name = last;
                part.content_type = Some(by_extension(path).to_owned());
            }
        }
        for setting in settings {
            let setting = std::str::from_utf8(setting).map_err(|_| wrong("is not UTF-8"))?.trim();
            match setting.split_once('=') {
                Some(("type", kind)) => part.content_type = Some(kind.trim_matches('"').to_owned()),
                Some(("filename", name)) => part.file_name = Some(name.trim_matches('"').to_owned()),
                _ => return Err(wrong("has a setting other than type and filename")),
            }
        }
        let header_safe =
            |text: &Option<String>| text.as_ref().is_none_or(|text| !text.contains(['\r', '\n']));
        if !header_safe(&part.content_type)
            || !header_safe(&part.file_name)
            || part.name.contains(['\r', '\n'])
        {
            return Err(wrong("has a line end in its head"));
        }
        Ok(part)
    }
}

/// The content and the settings behind `;`: only where they are settings, a content may hold a semicolon.
fn split_settings(value: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let is_setting = |piece: &[u8]| {
        let trimmed = piece.trim_ascii_start();
        trimmed.starts_with(b"type=") || trimmed.starts_with(b"filename=")
    };
    let mut end = value.len();
    let mut settings = Vec::new();
    while let Some(at) = value[..end].iter().rposition(|byte| *byte == b';') {
        let piece = &value[at + 1..end];
        if !is_setting(piece) {
            break;
        }
        settings.insert(0, piece);
        end = at;
    }
    (&value[..end], settings)
}

/// The types that curl knows by a file's name.
fn by_extension(path: &str) -> &'static str {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}

/// The boundary and the body of `parts`. The same parts make the same bytes, and the boundary is in none of them.
pub(super) fn encode(parts: &[Part]) -> (String, Vec<u8>) {
    let boundary = boundary(parts);
    let mut body = Vec::new();
    for part in parts {
        body.extend_from_slice(format!("--{boundary}\r\nContent-Disposition: form-data; name=\"").as_bytes());
        body.extend_from_slice(quoted(&part.name).as_bytes());
        body.push(b'"');
        if let Some(name) = &part.file_name {
            body.extend_from_slice(format!("; filename=\"{}\"", quoted(name)).as_bytes());
        }
        body.extend_from_slice(b"\r\n");
        if let Some(kind) = &part.content_type {
            body.extend_from_slice(format!("Content-Type: {kind}\r\n").as_bytes());
        }
        body.extend_from_slice(b"\r\n");
        body.extend_from_slice(&part.content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (boundary, body)
}

/// A line that no part holds.
fn boundary(parts: &[Part]) -> String {
    let mut number = 0_u64;
    loop {
        let boundary = format!("------------------------prony{number:016x}");
        let taken =
            |content: &[u8]| content.windows(boundary.len()).any(|window| window == boundary.as_bytes());
        if !parts.iter().any(|part| taken(&part.content)) {
            return boundary;
        }
        number += 1;
    }
}

/// A name within quotes, as the WHATWG's form encoding has it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
}
