//! Which program a command starts, and what that program does when it is asked for its version.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use prony_model::{StartUpSource, StartUpTry};

/// How executable files of the ELF format begin; a script begins with `#!`.
const ELF: [u8; 4] = *b"\x7fELF";

/// What may measure the time of the start of `line`'s program: its own `--version`, else a program that does nothing.
///
/// Scripts are not asked for their version: one that ignores its arguments would do its work instead. A line that
/// starts several programs has no start of its own.
pub(crate) fn start_ups(line: &str, has_shell: bool) -> Vec<StartUpTry> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let program = if has_shell { only_program(line) } else { first_word(line) };
    let version = program
        .and_then(|program| found(&program, &folders))
        .filter(|program| is_elf(program))
        .map(|program| (format!("{} --version", quoted(&program)), StartUpSource::Version));
    // By its path, or a shell would take its own `true`, which starts nothing.
    let least = found("true", &folders).map(|program| (quoted(&program), StartUpSource::Least));
    version.into_iter().chain(least).map(|(line, source)| StartUpTry { line, source }).collect()
}

/// The program that a shell starts for `line`, if it is one program with arguments and redirections.
fn only_program(line: &str) -> Option<String> {
    let mut quote = None;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None | Some('"'), '\\') => drop(characters.next()),
            (None | Some('"'), '$') if characters.peek() == Some(&'(') => return None,
            (None | Some('"'), '`') | (None, ';' | '|' | '&' | '(' | ')' | '\n') => return None,
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    // An assignment before a command is none.
    first_word(line).filter(|word| !word.contains(['=', '$', '*', '~']))
}

fn first_word(line: &str) -> Option<String> {
    shell_words::split(line).ok()?.into_iter().next()
}

/// Where `program` is, as a shell would look for it.
fn found(program: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_executable(path));
    }
    folders.iter().map(|folder| folder.join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    const ANY_EXECUTE: u32 = 0o111;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & ANY_EXECUTE != 0)
}

fn is_elf(path: &Path) -> bool {
    let mut start = [0; ELF.len()];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == ELF
}

fn quoted(path: &Path) -> String {
    shell_words::quote(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_one_program() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(only_program(line).as_deref(), expected, "{line}");
        };
        check("wget -qO- 'http://h/?a=1&b=2'", Some("wget"));
        check("sort < in > out", Some("sort"));
        check("'my tool' a", Some("my tool"));
        check("echo \"a;b\" 'c|d' e\\&f $HOME", Some("echo"));
        for line in
            ["a | b", "a; b", "a && b", "a & b", "(a)", "a $(b)", "a \"$(b)\"", "a `b`", "X=1 a", "$A b", ""]
        {
            check(line, None);
        }
    }

    #[test]
    fn only_binaries_are_asked_for_their_version() {
        let least = start_ups("no-such-program", true);
        assert!(least.iter().all(|start_up| start_up.source == StartUpSource::Least), "{least:?}");
        let binary = std::env::current_exe().expect("this test");
        let found = start_ups(&quoted(&binary), false);
        assert_eq!(found[0].source, StartUpSource::Version);
        assert!(found[0].line.ends_with(" --version"), "{found:?}");
    }
}
