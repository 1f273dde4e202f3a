//! `/build/{id}`: one build, a block for each of its tasks.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Html;

use super::Frame;
use crate::lab::Lab;
use crate::model::{BuildDetail, BuildId, Task};
use crate::store::{builds, tasks};
use crate::web::error::WebError;
use crate::web::principal::Principal;

/// Pieces of one task's output on the page; the rest is one link away.
const PIECES: u32 = 256;

#[derive(Template)]
#[template(path = "build.html")]
struct Page {
    frame: Frame,
    detail: BuildDetail,
    blocks: Vec<Block>,
}

struct Block {
    task: Task,
    output: String,
}

/// Shows it.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    Path(id): Path<BuildId>,
) -> Result<Html<String>, WebError> {
    let found = lab
        .store
        .read(move |tx| {
            let Some(detail) = builds::one(tx, id)? else { return Ok(None) };
            let mut blocks = Vec::new();
            for task in &detail.tasks {
                let pieces = tasks::output(tx, task.id, 0, PIECES)?;
                let bytes: Vec<u8> = pieces.into_iter().flat_map(|(_, bytes)| bytes).collect();
                blocks
                    .push(Block { task: task.clone(), output: String::from_utf8_lossy(&bytes).into_owned() });
            }
            Ok(Some((detail, blocks)))
        })
        .await?;
    let (detail, blocks) = found.ok_or_else(|| WebError::Missing(format!("build {id}")))?;
    Ok(Html(Page { frame: Frame::of(&principal), detail, blocks }.render()?))
}
