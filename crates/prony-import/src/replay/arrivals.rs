//! A file of moments: seconds from the start, one on each line.

use std::io::{BufRead as _, Read as _};

use prony_model::{Problem, RecordedArrivals};

use super::error::{ReplayError, shown};
use super::open::Opened;

/// Bytes of a line.
const LINE_BYTES_MAX: u64 = 256;
/// The greatest moment: a year.
const SECONDS_MAX: f64 = 366.0 * 86_400.0;

/// Reads numbers of seconds, `0.25`, in any order; empty lines and those that begin with `#` are comments.
///
/// # Errors
/// Lines that are no such number, and files without one.
pub fn read(opened: &mut Opened) -> Result<RecordedArrivals, ReplayError> {
    let mut moments = Vec::new();
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let mut bounded = (&mut opened.content).take(LINE_BYTES_MAX + 1);
        let read = bounded.read_until(b'\n', &mut line);
        if read.map_err(|error| opened.unreadable(error))? == 0 {
            break;
        }
        let text = line.trim_ascii();
        if text.is_empty() || text.starts_with(b"#") {
            continue;
        }
        let seconds = std::str::from_utf8(text).ok().filter(|_| line.len() as u64 <= LINE_BYTES_MAX);
        let seconds = seconds.and_then(|text| text.parse::<f64>().ok());
        let Some(seconds) = seconds.filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds)) else {
            let what = format!("line {number} of {} is no moment: {}", opened.file, shown(text));
            let advice = "write seconds from the start of the load, one number on each line: 0.25";
            return Err(Problem::new(what, advice).about("arrivals-file").into());
        };
        if moments.len() >= RecordedArrivals::COUNT_MAX {
            let what = format!("{} has more than {} moments", opened.file, RecordedArrivals::COUNT_MAX);
            return Err(Problem::new(what, "use a part of it").about("arrivals-file").into());
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and SECONDS_MAX"
        )]
        moments.push((seconds * 1e9).round() as u64);
    }
    if moments.is_empty() {
        let what = format!("{} has no moments", opened.file);
        let advice = "write seconds from the start of the load, one number on each line: 0.25";
        return Err(Problem::new(what, advice).about("arrivals-file").into());
    }
    Ok(RecordedArrivals::new(opened.file.clone(), opened.sha256(), moments))
}
