//! Plans to start from, and a folder for what commands write.

use std::path::PathBuf;
use std::time::Duration;

use prony_exec::{Control, ExecError};
use prony_model::{
    Environment, ExecCommand, ExecOrder, ExecOutput, ExecPlan, ExecResult, ExecRuns, ExpectedExits,
};

/// `lines` in a shell, `rounds` times, without start-up commands.
pub(crate) fn plan(lines: &[&str], rounds: u32) -> ExecPlan {
    let command = |line: &&str| ExecCommand {
        name: (*line).to_owned(),
        line: (*line).to_owned(),
        ..ExecCommand::default()
    };
    ExecPlan {
        commands: lines.iter().map(command).collect(),
        shell: Some(vec!["sh".to_owned(), "-c".to_owned()]),
        runs: ExecRuns { warmup: 0, least: rounds, most: rounds, least_time: Duration::ZERO },
        order: ExecOrder::Interleaved,
        reference: None,
        exits: ExpectedExits { good: Vec::new(), go_on: false },
        input: None,
        output: ExecOutput::Null,
        timeout: Duration::from_mins(1),
        seed: 42,
    }
}

/// The same without a shell.
pub(crate) fn direct(lines: &[&str], rounds: u32) -> ExecPlan {
    ExecPlan { shell: None, ..plan(lines, rounds) }
}

pub(crate) fn run(plan: &ExecPlan) -> Result<ExecResult, ExecError> {
    let control = Control::new().expect("descriptors are left");
    prony_exec::run(plan, Environment::default(), &control, &mut |_| {})
}

/// A folder of its own for a test, gone afterwards.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        // What an aborted run may have left.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the target folder can be written");
        Self(path)
    }

    /// A path in it, for a shell.
    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// The lines of a file in it; none if there is no file.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
