//! Bodies of requests, also from files.

use std::io::Read as _;
use std::path::Path;

use super::mistake::Mistakes;
use super::template::plain;
use super::tree::Section;

/// A body stands in every plan of its cells: what is larger is no load for a study.
const BODY_BYTES_MAX: u64 = 1 << 20;

/// The body of a request, if it has one; `None` where there can't be one, which is reported.
#[expect(clippy::option_option, reason = "a body that can't be read is something else than no body")]
pub(super) fn body(
    section: &Section<'_>,
    text: Option<String>,
    file: Option<String>,
    folder: &Path,
    mistakes: &mut Mistakes,
) -> Option<Option<Vec<u8>>> {
    match (text, file) {
        (Some(_), Some(_)) => {
            let message = "`body` and `body-file` are two bodies for one request";
            mistakes.add(section.span("body-file"), message, "leave out one of them");
            None
        }
        (Some(text), None) => Some(Some(plain(&text).into_bytes())),
        (None, Some(file)) => match read(&folder.join(plain(&file))) {
            Ok(bytes) => Some(Some(bytes)),
            Err(why) => {
                let message = format!("can't read the body from {file} ({why})");
                mistakes.add(section.span("body-file"), message, "paths begin at the study file");
                None
            }
        },
        (None, None) => Some(None),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let metadata = path.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(BODY_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > BODY_BYTES_MAX {
        return Err("it is larger than 1 MiB".to_owned());
    }
    Ok(bytes)
}
