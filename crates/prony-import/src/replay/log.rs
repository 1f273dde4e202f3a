//! A whole access log, read line by line.

use std::io::{BufRead, Read as _};

use prony_model::Problem;

use super::error::{ReplayError, shown};
use super::format::LogFormat;
use super::lines;
use super::open::Opened;
use super::recording::{Recorded, Recording, Selection};

/// Bytes of a line; a longer one can't be read.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// Lines by which the format is found.
const GUESSED_FROM: usize = 50;

/// Reads a log of `format`, or of the one that its first lines have.
///
/// # Errors
/// Files that can't be read, without a line that can be replayed, and first lines in no known format.
pub fn read(
    opened: &mut Opened,
    format: Option<&LogFormat>,
    selection: &Selection,
) -> Result<Recording, ReplayError> {
    if let Some(host) = selection.hosts.first() {
        let what = format!("{} is a log, whose lines name no host: {host} can't be selected", opened.file);
        return Err(Problem::new(what, "leave out --host: it is for HAR files").into());
    }
    let mut source = Lines { number: 0, line: Vec::new() };
    let mut first: Vec<(u64, Vec<u8>)> = Vec::new();
    while first.len() < GUESSED_FROM && source.next(opened)? {
        first.push((source.number, source.line.clone()));
    }
    let format = match format {
        Some(format) => format.clone(),
        None => guess(&opened.file, &first)?,
    };
    let mut recording = Recording::new(format.name(), 0);
    for (number, line) in &first {
        add(&mut recording, &format, *number, line, selection)?;
    }
    while source.next(opened)? {
        add(&mut recording, &format, source.number, &source.line, selection)?;
    }
    recording.finish(selection);
    if recording.is_empty() {
        return Err(nothing(&opened.file, &recording, &first).into());
    }
    Ok(recording)
}

fn add(
    recording: &mut Recording,
    format: &LogFormat,
    number: u64,
    line: &[u8],
    selection: &Selection,
) -> Result<(), Problem> {
    recording.lines += 1;
    if line.is_empty() {
        recording.leave_out("empty line");
        return Ok(());
    }
    if line.starts_with(b"#") {
        recording.leave_out("comment");
        return Ok(());
    }
    let read = if line.len() as u64 > LINE_BYTES_MAX { None } else { lines::read(format, line) };
    let Some(read) = read else {
        recording.unreadable(number);
        return Ok(());
    };
    let recorded = Recorded {
        stamp: read.stamp,
        method: &read.method,
        target: &read.target,
        values: &[],
        status: read.status,
        took: read.took,
    };
    recording.add(&recorded, selection)
}

/// The format that most of the first lines have.
fn guess(file: &str, first: &[(u64, Vec<u8>)]) -> Result<LogFormat, Problem> {
    let is_line = |line: &[u8]| !line.is_empty() && !line.starts_with(b"#");
    let read_by = |format: &LogFormat| {
        first.iter().filter(|(_, line)| is_line(line) && lines::read(format, line).is_some()).count()
    };
    let formats = [LogFormat::combined(), LogFormat::common(), LogFormat::Json];
    // Of equals the first: whatever is combined is common, too.
    let best =
        formats.into_iter().map(|format| (read_by(&format), format)).rev().max_by_key(|(count, _)| *count);
    let total = first.iter().filter(|(_, line)| is_line(line)).count();
    match best {
        Some((count, format)) if count > 0 && 2 * count >= total => Ok(format),
        _ => Err(match first.iter().find(|(_, line)| is_line(line)) {
            None => Problem::new(format!("{file} has no lines"), "name the log of a time with requests"),
            Some((number, line)) => Problem::new(
                format!("line {number} of {file} is in no known format: {}", shown(line)),
                "give the log's format: --format '$remote_addr … [$time_local] \"$request\" $status', as nginx's \
                 log_format has it, or combined, common, json, har",
            )
            .about("format"),
        }),
    }
}

/// Why nothing is left.
fn nothing(file: &str, recording: &Recording, first: &[(u64, Vec<u8>)]) -> Problem {
    let Some((reason, count)) = recording.left_out.iter().max_by_key(|(_, count)| **count) else {
        return Problem::new(format!("{file} has no lines"), "name the log of a time with requests");
    };
    let lines = recording.lines;
    if reason == "not in the format" {
        let line = recording.unreadable_lines.first().copied().unwrap_or_default();
        let text = first.iter().find(|(number, _)| *number == line).map(|(_, text)| shown(text));
        return Problem::new(
            format!(
                "no line of {file} is in the format {}; line {line}: {}",
                recording.format,
                text.unwrap_or_default()
            ),
            "compare it with the log_format of the server, or leave out --format",
        )
        .about("format");
    }
    let advice = match reason.as_str() {
        "outside of the window" => "choose another part, with --since, --until or --for",
        reason if reason.starts_with("method") => "choose methods that it has: --methods GET,POST, or all",
        _ => "name a log with requests",
    };
    Problem::new(format!("none of the {lines} lines of {file} can be replayed ({reason}: {count})"), advice)
}

/// The lines of a file, without their ends.
struct Lines {
    /// Of the current line, from 1.
    number: u64,
    line: Vec<u8>,
}

impl Lines {
    /// Reads the next line; whether there is one. A line that is too long is cut one byte behind the bound.
    fn next(&mut self, opened: &mut Opened) -> Result<bool, ReplayError> {
        self.line.clear();
        let mut bounded = (&mut opened.content).take(LINE_BYTES_MAX + 1);
        let read = bounded.read_until(b'\n', &mut self.line);
        match read {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) => return Err(opened.unreadable(error)),
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            self.line.pop_if(|byte| *byte == b'\r');
        } else if self.line.len() as u64 > LINE_BYTES_MAX {
            skip_line(opened)?;
        }
        Ok(true)
    }
}

/// Reads on until the next line begins, without keeping what it reads.
fn skip_line(opened: &mut Opened) -> Result<(), ReplayError> {
    loop {
        let buffer = match opened.content.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) => return Err(opened.unreadable(error)),
        };
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        opened.content.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}
