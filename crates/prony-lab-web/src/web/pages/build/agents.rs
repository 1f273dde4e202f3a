//! What each agent of a load measured.

use prony_model::fleet_from_json;
use prony_report::fleet::{self, AgentTable};

use super::File;
use prony_lab_model::BuildDetail;
use prony_lab_store::{StoreError, Tx, files};

/// A longer one is looked at as a file. Read and drawn, this one needs some tens of MiB for a moment.
const RESULT_BYTES_MAX: u64 = 8 << 20;

/// The table of the newest revision among `files`; nothing where the load was not shared, or no agent left a result.
pub(super) fn table(
    tx: &mut Tx<'_>,
    detail: &BuildDetail,
    files: &[File],
) -> Result<Option<AgentTable>, StoreError> {
    if detail.load.as_ref().is_none_or(|load| load.agents.is_none()) {
        return Ok(None);
    }
    let newest =
        files.iter().filter_map(|file| Some((revision(&file.name)?, file))).max_by_key(|(number, _)| *number);
    let Some((_, file)) = newest else { return Ok(None) };
    let bytes = files::bytes_up_to(tx, detail.build.id, &file.name, RESULT_BYTES_MAX)?;
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(text.and_then(|text| fleet_from_json(&text).ok()).map(|result| fleet::table(&result)))
}

/// Which revision of the merged result the file `name` is.
fn revision(name: &str) -> Option<u32> {
    match name.strip_prefix("agents")?.strip_suffix(".json")? {
        "" => Some(1),
        number => number.strip_prefix('-')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_known_by_their_names() {
        let known = ["agents.json", "agents-2.json", "agents-10.json"].map(revision);
        assert_eq!(known, [Some(1), Some(2), Some(10)]);
        for other in ["agents/a.json", "run.json", "agents-x.json", "agents.txt"] {
            assert_eq!(revision(other), None, "{other}");
        }
    }
}
