//! As whom PostgreSQL runs.

use rustix::process::geteuid;

use super::PostgresError;

/// Who may run it instead of root, the better one first.
const NAMES: [&str; 2] = ["postgres", "nobody"];

/// The user and the group that PostgreSQL runs as, where it isn't those of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Owner {
    /// PostgreSQL refuses to be run by root: then it is another user, else the current user.
    pub(super) fn find() -> Result<Option<Self>, PostgresError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        // Without the file there are no users to choose from.
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let owner = NAMES.iter().find_map(|name| among(&users, name));
        owner.map(Some).ok_or(PostgresError::NoUser)
    }
}

/// The user `name` of a file such as /etc/passwd (passwd(5)), unless it is root by another name.
fn among(users: &str, name: &str) -> Option<Owner> {
    let line = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut fields = line.split(':').skip(1).map(str::parse);
    let (user, group) = (fields.next()?.ok()?, fields.next()?.ok()?);
    (user != 0).then_some(Owner { user, group })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name() {
        let users = "root:x:0:0:root:/root:/bin/sh\npostgresql:x:7:7::/:/bin/sh\npostgres:x:101:104::/:/bin/sh\n\
                     nobody:x:65534\ntoor:x:0:0::/:/bin/sh\n";
        let check = |name, expected| assert_eq!(among(users, name), expected, "{name}");
        check("postgres", Some(Owner { user: 101, group: 104 }));
        check("post", None);
        check("nobody", None);
        check("toor", None);
    }
}
