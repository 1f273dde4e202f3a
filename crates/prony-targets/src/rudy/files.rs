//! Files that are served by their path, with type and length. They are read once, at the start: no request can name
//! anything else, and none waits for a disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use percent_encoding::percent_decode_str;

use crate::StartError;

/// The most files; a folder with more is a mistake, as of `/`.
const COUNT_LIMIT: usize = 10_000;
/// The most bytes of all files together: they are held in memory.
const BYTES_LIMIT: u64 = 64 << 20;
/// What stands for its folder.
const INDEX: &str = "index.html";

/// A folder's files, by path.
#[derive(Debug, Default)]
pub(super) struct Files {
    by_path: HashMap<String, File>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct File {
    pub(super) content_type: &'static str,
    pub(super) bytes: Vec<u8>,
}

impl Files {
    /// Reads all files in `folder` and below. Links and names that begin with a dot are left out.
    pub(super) fn read(folder: &Path) -> Result<Self, StartError> {
        let failed = |path: &Path, source: io::Error| StartError::Files { path: path.to_owned(), source };
        let mut files = Self::default();
        let mut bytes = 0;
        let mut folders = vec![(folder.to_owned(), String::from("/"))];
        while let Some((folder, prefix)) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(|error| failed(&folder, error))? {
                let entry = entry.map_err(|error| failed(&folder, error))?;
                let kind = entry.file_type().map_err(|error| failed(&entry.path(), error))?;
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
                if name.starts_with('.') {
                    continue;
                }
                if kind.is_dir() {
                    folders.push((entry.path(), format!("{prefix}{name}/")));
                } else if kind.is_file() {
                    bytes += entry.metadata().map_err(|error| failed(&entry.path(), error))?.len();
                    if files.by_path.len() == COUNT_LIMIT || bytes > BYTES_LIMIT {
                        return Err(too_much(folder));
                    }
                    let content = fs::read(entry.path()).map_err(|error| failed(&entry.path(), error))?;
                    let file = File { content_type: content_type(&name), bytes: content };
                    files.by_path.insert(format!("{prefix}{name}"), file);
                }
            }
        }
        Ok(files)
    }

    /// The file that a request's target names, if there is one; a folder is its `index.html`.
    pub(super) fn find(&self, target: &str) -> Option<&File> {
        let path = percent_decode_str(target.split('?').next().unwrap_or_default()).decode_utf8().ok()?;
        self.by_path.get(path.as_ref()).or_else(|| {
            let folder = path.strip_suffix('/')?;
            self.by_path.get(&format!("{folder}/{INDEX}"))
        })
    }
}

fn too_much(path: PathBuf) -> StartError {
    let reason =
        format!("more than {COUNT_LIMIT} files or {} MiB: choose a smaller folder", BYTES_LIMIT >> 20);
    StartError::Files { path, source: io::Error::new(io::ErrorKind::FileTooLarge, reason) }
}

/// By the name's ending; what is not known here is bytes.
fn content_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "txt" | "md" => "text/plain; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "wasm" => "application/wasm",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a b")).unwrap();
        fs::write(folder.path().join("index.html"), "start").unwrap();
        fs::write(folder.path().join("a b/ü.CSS"), "style").unwrap();
        fs::write(folder.path().join(".hidden"), "secret").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        let files = Files::read(folder.path()).unwrap();
        (folder, files)
    }

    fn check(target: &str, expected: Option<(&str, &str)>) {
        let (_folder, files) = files();
        let found = files.find(target).map(|file| (file.content_type, str::from_utf8(&file.bytes).unwrap()));
        assert_eq!(found, expected, "{target}");
    }

    #[test]
    fn files_by_path() {
        let index = Some(("text/html; charset=utf-8", "start"));
        check("/", index);
        check("/index.html?x=1", index);
        check("/a%20b/%C3%BC.CSS", Some(("text/css; charset=utf-8", "style")));
        check("/a%20b/", None);
        check("/nothing", None);
    }

    #[test]
    fn nothing_but_the_folders_own_files() {
        for target in
            ["/.hidden", "/link", "/../etc/passwd", "/%2e%2e/etc/passwd", "//index.html", "", "/%ff"]
        {
            check(target, None);
        }
        let error = Files::read(Path::new("/no/such/folder")).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
