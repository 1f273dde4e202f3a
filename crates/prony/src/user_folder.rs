//! Where files of the user's are, by the XDG Base Directory Specification 0.8.

use std::path::PathBuf;

/// A kind of file, and with it a folder.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UserFolder {
    /// Settings and tokens.
    Config,
    /// What users would miss.
    Data,
    /// What can be made again.
    State,
}

impl UserFolder {
    /// Prony's part of it; `None` where neither the variable nor HOME names a folder.
    pub(crate) fn path(self) -> Option<PathBuf> {
        Some(self.of_all_programs()?.join("prony"))
    }

    /// The whole of it.
    pub(crate) fn of_all_programs(self) -> Option<PathBuf> {
        self.by(|name| std::env::var_os(name).map(PathBuf::from))
    }

    /// The same with other variables. A relative path is as good as none, by the specification.
    fn by(self, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        let (name, at_home) = match self {
            Self::Config => ("XDG_CONFIG_HOME", ".config"),
            Self::Data => ("XDG_DATA_HOME", ".local/share"),
            Self::State => ("XDG_STATE_HOME", ".local/state"),
        };
        let absolute = |name| variable(name).filter(|path| path.is_absolute());
        absolute(name).or_else(|| Some(absolute("HOME")?.join(at_home)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(folder: UserFolder, set: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        assert_eq!(folder.by(variable), expected.map(PathBuf::from), "{folder:?} {set:?}");
    }

    #[test]
    fn the_folder_is_the_one_of_the_specification() {
        let home = ("HOME", "/home/me");
        check(UserFolder::State, &[("XDG_STATE_HOME", "/state"), home], Some("/state"));
        check(UserFolder::State, &[home], Some("/home/me/.local/state"));
        check(UserFolder::State, &[("XDG_STATE_HOME", ""), home], Some("/home/me/.local/state"));
        check(UserFolder::State, &[("XDG_STATE_HOME", "state"), home], Some("/home/me/.local/state"));
        check(UserFolder::Config, &[("XDG_STATE_HOME", "/state"), home], Some("/home/me/.config"));
        check(UserFolder::Data, &[("XDG_DATA_HOME", "/data"), home], Some("/data"));
        check(UserFolder::Data, &[("HOME", "")], None);
        check(UserFolder::Data, &[], None);
    }
}
