//! Where calibrations are kept: one file for each machine, in the user's folder for state.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use prony_model::{Calibration, Environment, RunResult};
use prony_report::clean;
use rustix::fs::{Access, access};

use crate::cli_error::CliError;
use crate::output::{self, Destination};
use crate::user_folder::UserFolder;

/// A calibration with as many settings as it may have takes a tenth of this.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Compares `result` with what is known of this machine, if anything is.
pub(crate) fn compare(result: &mut RunResult) {
    if let Some(calibration) = load(&result.environment) {
        result.compare_with(&calibration);
    }
}

/// What is known of this machine. A file that can't be used is reported on stderr and counts as none: no run fails for
/// it.
pub(crate) fn load(environment: &Environment) -> Option<Calibration> {
    read(&file(environment)?, environment).unwrap_or_else(|why| {
        warn(&why);
        None
    })
}

/// The file of one machine.
pub(crate) struct Place(PathBuf);

impl Place {
    /// The one for the machine of `environment`.
    pub(crate) fn of(environment: &Environment) -> Result<Self, CliError> {
        file(environment).map(Self).ok_or_else(|| {
            CliError::usage("there is no folder for calibrations: neither XDG_STATE_HOME nor HOME is set")
                .hint("set one of them: HOME=/tmp prony calibrate")
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the folder, and finds out whether it can be written.
    pub(crate) fn prepare(&self) -> Result<(), CliError> {
        let folder = self.0.parent().unwrap_or(Path::new("/"));
        let made = fs::create_dir_all(folder)
            .and_then(|()| access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(Into::into));
        made.map_err(|error| {
            CliError::usage(format!("can't keep a calibration in {} ({error})", folder.display()))
                .hint("nothing was measured: set XDG_STATE_HOME to a folder that can be written")
        })
    }

    /// Keeps `calibration` for the runs to come, whole or not at all.
    pub(crate) fn keep(&self, calibration: &Calibration) -> Result<(), CliError> {
        Destination::prepare("XDG_STATE_HOME", &self.0, true)?.write(calibration.to_json())
    }
}

/// The file for the machine of `environment`; `None` where there is no folder for it.
fn file(environment: &Environment) -> Option<PathBuf> {
    Some(UserFolder::State.path()?.join(format!("calibration-{}.json", environment.fingerprint())))
}

/// The calibration in `path`, `None` if there is no such file, or why it can't be used.
fn read(path: &Path, environment: &Environment) -> Result<Option<Calibration>, String> {
    let message = |why: &dyn std::fmt::Display| format!("{} ({why})", path.display());
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(message(&error)),
        Ok(bytes) if bytes as u64 > FILE_BYTES_MAX => return Err(message(&"it is larger than 4 MiB")),
        Ok(_) => {}
    }
    let calibration = Calibration::from_json(&text).map_err(|error| message(&error))?;
    if calibration.fingerprint == environment.fingerprint() {
        Ok(Some(calibration))
    } else {
        Err(message(&"it is of another machine"))
    }
}

fn warn(why: &str) {
    let text = format!(
        "warning: the calibration {} is ignored\n         `prony calibrate` makes a new one\n",
        clean(why)
    );
    output::write_stderr(&text);
}
