//! `prony study FILE --dry-run`: the plan, and what is wrong in a file.

use crate::binary::{Said, prony};
use crate::files::Folder;

