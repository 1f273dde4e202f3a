//! Messages, through a command that takes them as sendmail does.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::body::Notification;
use prony_lab_model::clock;

/// A command that hands a message over to a queue takes a moment; one that talks to a server far away, some seconds.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often to check whether the command has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long its last output may take to arrive after its end.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How much is kept of its stderr.
const WORDS_MAX: u64 = 300;
/// RFC 5322, 2.1.1 allows 998 bytes in a line; a character has four at most.
const LINE_CHARS: usize = 240;
/// RFC 2047, 2: an encoded word has at most 75 characters, 12 of them `=?UTF-8?B?` and `?=`; 45 bytes make 60.
const WORD_BYTES: usize = 45;

/// A command that takes a message on its standard input and the address as its last argument, as `sendmail -i` does.
#[derive(Debug, Clone)]
pub struct Mailer {
    /// The command, word by word.
    pub command: Vec<String>,
    /// Where to search for commands, as in `PATH`.
    pub search_path: String,
}

impl Mailer {
    /// Hands a message over. An error is a text for the outbox.
    pub(super) fn send(&self, to: &str, message: &str) -> Result<(), String> {
        let (program, arguments) = self.command.split_first().ok_or("the mail command is empty")?;
        let mut child = Command::new(program)
            .args(arguments)
            .arg(to)
            .env_clear()
            .env("PATH", &self.search_path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{program} can't be started ({error})"))?;
        // Threads of their own: what the command left behind may hold the pipes for ever.
        if let Some(mut input) = child.stdin.take() {
            let message = message.to_owned();
            // A command that doesn't read reports that by its exit code.
            std::thread::spawn(move || drop(input.write_all(message.as_bytes())));
        }
        let (done, output) = sync_channel(1);
        if let Some(mut errors) = child.stderr.take() {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = errors.by_ref().take(WORDS_MAX).read_to_end(&mut bytes);
                // The caller may no longer wait.
                let _ = done.send(String::from_utf8_lossy(&bytes).trim().replace(char::is_control, " "));
                // The rest must have somewhere to go.
                let _ = std::io::copy(&mut errors, &mut std::io::sink());
            });
        }
        let how = match wait(&mut child) {
            Ok(()) => return Ok(()),
            Err(how) => how,
        };
        match output.recv_timeout(LAST_WORDS) {
            Ok(text) if !text.is_empty() => Err(format!("{program} {how}: {text}")),
            _ => Err(format!("{program} {how}")),
        }
    }
}

/// Waits for the end of the command, and ends it when its time is over.
fn wait(child: &mut Child) -> Result<(), String> {
    let start = clock::steady();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("ended with {status}")),
            Ok(None) if clock::steady().saturating_sub(start) < TIMEOUT => {
                std::thread::park_timeout(POLL_INTERVAL);
            }
            Ok(None) => {
                // It may have ended meanwhile; either way it is gone then.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("did not end in {} s", TIMEOUT.as_secs()));
            }
            Err(error) => return Err(format!("can't be waited for ({error})")),
        }
    }
}

/// The message about an event.
pub(super) fn message(to: &str, notification: &Notification) -> String {
    let (subject, mut lines) = match (&notification.alert, &notification.build) {
        (Some(alert), _) => {
            let why = alert.note.clone().filter(|_| !alert.state.is_open());
            let lines = vec![alert.words.clone(), why.unwrap_or_default()];
            (format!("{}: {}", alert.state.name(), alert.words), lines)
        }
        (None, Some(build)) => {
            let project = build.project_name.clone().unwrap_or_else(|| "a load".to_owned());
            let outcome = build.verdict.map_or(build.state.name(), |verdict| verdict.name());
            let mut lines = vec![
                format!("Build {} of {project} ({}) is {}.", build.id, build.reference, build.state.name()),
                build.reason.clone().unwrap_or_default(),
            ];
            lines.extend(
                build.verdict.map(|verdict| format!("Its verdict: {}.", verdict.name().replace('-', " "))),
            );
            lines.push(format!("Its page on the lab: /build/{}", build.id));
            (format!("build {} of {project}: {}", build.id, outcome.replace('-', " ")), lines)
        }
        (None, None) => (notification.kind.clone(), Vec::new()),
    };
    lines.retain(|line| !line.is_empty());
    lines.push(format!("{} ({})", notification.at, notification.kind));
    let date = jiff::Timestamp::from_millisecond(clock::wall().0).unwrap_or_default();
    format!(
        "To: {to}\r\nSubject: {}\r\nDate: {}\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{}\r\n",
        encoded(&format!("prony lab: {subject}")),
        date.strftime("%a, %d %b %Y %H:%M:%S +0000"),
        lines.iter().flat_map(|line| pieces(line)).collect::<Vec<_>>().join("\r\n"),
    )
}

/// A header's text: as it is where it is plain and short, else in encoded words. No line break of the text survives.
fn encoded(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LINE_CHARS).collect();
    if text.is_ascii() && !text.contains("=?") {
        return text;
    }
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if word.len() + c.len_utf8() > WORD_BYTES {
            words.push(std::mem::take(&mut word));
        }
        word.push(c);
    }
    words.push(word);
    let words: Vec<String> =
        words.iter().map(|word| format!("=?UTF-8?B?{}?=", STANDARD.encode(word))).collect();
    words.join("\r\n ")
}

/// The lines of a text, none too long for mail, and none that ends the message early (`.`).
fn pieces(text: &str) -> Vec<String> {
    let lines = text.split(['\n', '\r']).flat_map(|line| {
        let chars: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        chars.chunks(LINE_CHARS).map(|chunk| chunk.iter().collect::<String>()).collect::<Vec<_>>()
    });
    lines.map(|line| if line.starts_with('.') { format!(" {line}") } else { line }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_header_or_the_end() {
        assert_eq!(encoded("a\r\nBcc: kim@a.example"), "a  Bcc: kim@a.example");
        let header = encoded(&"ü".repeat(60));
        assert!(header.starts_with("=?UTF-8?B?") && header.lines().count() == 3, "{header}");
        assert!(header.lines().all(|line| line.len() <= 76), "{header}");
        assert_eq!(pieces("a\n.\nb"), ["a", " .", "b"]);
        assert_eq!(pieces(&"x".repeat(LINE_CHARS + 1)).len(), 2);
    }

    #[test]
    fn a_command_gets_the_message_and_says_what_went_wrong() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mail");
        let sh = |script: &str| Mailer {
            command: ["/bin/sh", "-c", script, "sh"].map(str::to_owned).to_vec(),
            search_path: "/usr/bin:/bin".to_owned(),
        };
        let script = format!("echo \"$1\" > {0}; cat >> {0}; test -z \"$HOME\"", file.display());
        assert_eq!(sh(&script).send("kim@a.example", "Subject: x\r\n\r\ny"), Ok(()));
        assert_eq!(std::fs::read_to_string(&file).expect("written"), "kim@a.example\nSubject: x\r\n\r\ny");
        let error = sh("echo no such user >&2; exit 67").send("a@b.example", "x").expect_err("failed");
        assert!(error.contains("67") && error.ends_with("no such user"), "{error}");
        // One that reads nothing of much is no trouble.
        assert_eq!(sh("exit 0").send("a@b.example", &"x".repeat(1 << 20)), Ok(()));
        let nothing = Mailer { command: vec!["/nowhere/sendmail".to_owned()], search_path: String::new() };
        assert!(nothing.send("a@b.example", "x").expect_err("failed").contains("can't be started"));
    }
}
