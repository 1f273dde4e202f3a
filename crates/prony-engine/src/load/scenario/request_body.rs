//! The body of a step, and what it is.

use prony_model::{PartContent, RunPlan, Step, StepBody};

use super::request::Compile;
use super::text::{Goes, Text, percent_encoded};
use crate::RunError;

/// The body of `step` and its media type.
pub(super) fn body(
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
