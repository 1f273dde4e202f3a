//! The few files of /etc that list the users of a system: in a sandbox nobody but its own user does.

use std::fs;
use std::io;
use std::path::Path;

/// Names and contents; `{uid}`, `{gid}` and `{home}` are those of the sandbox's user.
pub(super) const FILES: [(&str, &str); 5] = [
    ("passwd", "build:x:{uid}:{gid}:build:{home}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    ("group", "build:x:{gid}:\nnogroup:x:65534:\n"),
    ("hosts", "127.0.0.1 localhost prony-lab\n::1 localhost\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"),
    ("resolv.conf", ""),
];

/// Writes them into the new folder `folder`.
pub(super) fn write(folder: &Path, user: (u32, u32)) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir(folder)?;
    let (uid, gid) = (user.0.to_string(), user.1.to_string());
    for (name, text) in FILES {
        let text = text.replace("{uid}", &uid).replace("{gid}", &gid).replace("{home}", "/tmp");
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
