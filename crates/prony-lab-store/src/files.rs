//! What builds leave: reports, stored runs, logs. Kept deflated where that helps.

use std::io::{Cursor, Read, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Row, StoreError, Tx, checksum, values};
use prony_lab_model::BuildId;

/// A file of a build, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileInfo {
    /// With the folder before it, `runs/0001.json`.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its size.
    pub size_bytes: u64,
}

/// Keeps a file; one of the same name is replaced. What is in it comes from a build: never trust it.
pub fn put(tx: &mut Tx<'_>, build: BuildId, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let deflated = deflate(bytes);
    let is_smaller = deflated.len() < bytes.len();
    let kept = if is_smaller { &deflated } else { bytes };
    let mut row = values![build, name, media_type(name), bytes.len() as u64, is_smaller].to_vec();
    let checksum = checksum::of_row(&row, kept);
    row.extend_from_slice(values![kept, checksum]);
    tx.execute(
        "INSERT INTO files (build_id, name, media_type, size_bytes, deflated, bytes, checksum) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) \
         ON CONFLICT (build_id, name) DO UPDATE SET media_type = excluded.media_type, \
         size_bytes = excluded.size_bytes, deflated = excluded.deflated, bytes = excluded.bytes, \
         checksum = excluded.checksum",
        &row,
    )?;
    Ok(())
}

/// The files of a build, by name.
pub fn of_build(tx: &mut Tx<'_>, build: BuildId) -> Result<Vec<FileInfo>, StoreError> {
    tx.query(
        "SELECT name, media_type, size_bytes FROM files WHERE build_id = $1 ORDER BY name",
        values![build],
        info,
    )
}

/// One file with what is in it.
pub fn one(tx: &mut Tx<'_>, build: BuildId, name: &str) -> Result<Option<(FileInfo, Vec<u8>)>, StoreError> {
    tx.first(
        "SELECT name, media_type, size_bytes, deflated, bytes FROM files WHERE build_id = $1 AND name = $2",
        values![build, name],
        inflated,
    )
}

/// The bytes of one file, unless it is longer than `bytes_max`.
pub fn bytes_up_to(
    tx: &mut Tx<'_>,
    build: BuildId,
    name: &str,
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    let found = tx.first(
        "SELECT name, media_type, size_bytes, deflated, bytes FROM files WHERE build_id = $1 AND name = $2 \
         AND size_bytes <= $3",
        values![build, name, bytes_max],
        inflated,
    )?;
    Ok(found.map(|(_, bytes)| bytes))
}

fn inflated(row: &Row) -> Result<(FileInfo, Vec<u8>), StoreError> {
    let (info, bytes) = (info(row)?, row.bytes(4)?);
    let bytes = if row.int(3)? == 0 { bytes } else { inflate(&bytes, info.size_bytes)? };
    Ok((info, bytes))
}

/// The file `name` of the build, read as JSON; nothing where it is not there, longer than `bytes_max`, or something else:
/// a build wrote it.
pub fn json<T: DeserializeOwned>(
    tx: &mut Tx<'_>,
    build: BuildId,
    name: &str,
    bytes_max: u64,
) -> Result<Option<T>, StoreError> {
    let bytes = bytes_up_to(tx, build, name, bytes_max)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// A file as it is stored.
#[derive(Debug)]
pub struct Stored {
    /// What lists show of it.
    pub info: FileInfo,
    is_deflated: bool,
    bytes: Vec<u8>,
}

impl Stored {
    /// What is in it, as it was.
    pub fn reader(self) -> Box<dyn Read + Send> {
        // What grows beyond its length is none of ours.
        let size = self.info.size_bytes;
        if self.is_deflated {
            Box::new(ZlibDecoder::new(Cursor::new(self.bytes)).take(size))
        } else {
            Box::new(Cursor::new(self.bytes))
        }
    }
}

/// How many bytes a file takes in the store.
pub fn stored_bytes(tx: &mut Tx<'_>, build: BuildId, name: &str) -> Result<Option<u64>, StoreError> {
    let statement = "SELECT CAST(LENGTH(bytes) AS BIGINT) FROM files WHERE build_id = $1 AND name = $2";
    Ok(tx.first(statement, values![build, name], |row| row.int(0))?.map(i64::cast_unsigned))
}

/// One file as it is stored.
pub fn stored(tx: &mut Tx<'_>, build: BuildId, name: &str) -> Result<Option<Stored>, StoreError> {
    tx.first(
        "SELECT name, media_type, size_bytes, deflated, bytes FROM files WHERE build_id = $1 AND name = $2",
        values![build, name],
        |row| Ok(Stored { info: info(row)?, is_deflated: row.int(3)? != 0, bytes: row.bytes(4)? }),
    )
}

fn info(row: &Row) -> Result<FileInfo, StoreError> {
    Ok(FileInfo { name: row.text(0)?, media_type: row.text(1)?, size_bytes: row.int(2)?.cast_unsigned() })
}

/// By the end of its name; what nobody knows is bytes.
fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("json") => "application/json",
        Some("html") => "text/html; charset=utf-8",
        Some("md") => "text/markdown; charset=utf-8",
        Some("toml" | "log" | "txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("invariant: memory takes what it is given")
}

/// `size` is what it was before: what grows beyond that is none of ours.
fn inflate(bytes: &[u8], size: u64) -> Result<Vec<u8>, StoreError> {
    let mut inflated = Vec::new();
    let read = ZlibDecoder::new(bytes).take(size.saturating_add(1)).read_to_end(&mut inflated);
    match read {
        Ok(got) if got as u64 == size => Ok(inflated),
        _ => Err(StoreError::Damaged("a file is not what was kept".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::super::{builds, projects};
    use super::*;
    use prony_lab_model::clock::Moment;
    use prony_lab_model::{BuildRequest, Definition};

    #[test]
    fn files_come_back_as_they_were() {
        on_both(|store| {
            let build = store.write_blocking(|tx| {
                let text = "folder = \"/srv/a\"\nstudy = \"a.toml\"";
                let project = projects::register(tx, &"a".parse().expect("a name"), text, Moment(1))?;
                let definition = Definition::read(text).expect("a definition");
                let request = BuildRequest::default().checked(project, &definition, "kim", Moment(5));
                builds::accept(tx, &request.expect("good"))
            });
            let build = build.expect("accepted");
            let long = "a line\n".repeat(10_000).into_bytes();
            let kept = [("report.json", long.clone()), ("runs/1.json", b"x".to_vec()), ("empty", Vec::new())];
            for (name, bytes) in kept.clone() {
                store.write_blocking(move |tx| put(tx, build, name, &bytes)).expect("written");
            }
            for (name, bytes) in kept {
                let (info, found) =
                    store.read_blocking(|tx| one(tx, build, name)).expect("read").expect("there");
                assert_eq!((info.size_bytes, found == bytes), (bytes.len() as u64, true), "{name}");
            }
            let names: Vec<_> = store.read_blocking(|tx| of_build(tx, build)).expect("read");
            let listed: Vec<_> =
                names.iter().map(|info| (info.name.as_str(), info.media_type.as_str())).collect();
            let json = "application/json";
            assert_eq!(
                listed,
                [("empty", "application/octet-stream"), ("report.json", json), ("runs/1.json", json)]
            );
            assert_eq!(store.read_blocking(|tx| one(tx, build, "nothing")), Ok(None));
            let up_to =
                |bytes| store.read_blocking(|tx| bytes_up_to(tx, build, "report.json", bytes)).expect("read");
            assert_eq!(up_to(69_999), None, "one byte too long");
            assert_eq!(up_to(70_000).map(|bytes| bytes.len()), Some(70_000));
            let size = "SELECT SUM(LENGTH(bytes)) FROM files";
            assert!(store.read_blocking(|tx| tx.number(size, &[])).expect("read") < 1000);
        });
    }
}
