//! How the loads of a build went: the distribution of their response times and their timelines, drawn from the
//! report that its study left.

use askama::Template;
use prony_model::study_from_json;
use prony_report::study::{LoadCharts, load_charts};

use super::REPORT;
use prony_lab_model::BuildId;
use prony_lab_store::{StoreError, Tx, files};

/// A longer report is looked at as a page of its own. Read and drawn, this one needs some tens of MiB for a moment.
const REPORT_BYTES_MAX: u64 = 8 << 20;
/// Loads that are drawn; the report has all of them.
const LOADS_MAX: usize = 12;
/// Points of all timelines together, about ten bytes each.
const POINTS_MAX: usize = 24_000;

#[derive(Template)]
#[template(path = "build_charts.html")]
pub(super) struct Charts {
    drawn: LoadCharts,
    report: String,
}

impl Charts {
    /// Draws them; nothing where the build left no report, or one that can't be read. It names no table but that of
    /// files, so that the charts are drawn once, whatever happens to builds.
    pub(super) fn read(tx: &mut Tx<'_>, id: BuildId) -> Result<Self, StoreError> {
        let report = format!("/build/{id}/files/{REPORT}");
        let found = files::bytes_up_to(tx, id, "report.json", REPORT_BYTES_MAX)?;
        let result = found
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .and_then(|text| study_from_json(&text).ok());
        let drawn = result.map(|result| load_charts(result, LOADS_MAX, POINTS_MAX)).unwrap_or_default();
        Ok(Self { drawn, report })
    }
}
