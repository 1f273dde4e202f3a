//! Paths that belong together: a path without its query, and with `*` for what looks like an identifier.

/// Segments of a path that a pattern keeps.
const SEGMENTS_MAX: usize = 6;
/// Letters of a segment that a pattern keeps.
const SEGMENT_MAX: usize = 40;

/// The pattern of `target`. Nothing of its query is in it.
pub(crate) fn pattern(target: &[u8]) -> String {
    let path = target.split(|byte| matches!(byte, b'?' | b';')).next().unwrap_or_default();
    let path = String::from_utf8_lossy(path);
    let mut pattern = String::new();
    for (at, segment) in path.split('/').skip(1).enumerate() {
        if at == SEGMENTS_MAX {
            pattern.push_str("/**");
            break;
        }
        pattern.push('/');
        if segment.len() > SEGMENT_MAX
            || segment.contains(['%', '@', '=', '{', '}'])
            || is_identifier(segment)
        {
            pattern.push('*');
        } else {
            let parts: Vec<&str> =
                segment.split('.').map(|part| if is_identifier(part) { "*" } else { part }).collect();
            pattern.push_str(&parts.join("."));
        }
    }
    if pattern.is_empty() { "/".to_owned() } else { pattern }
}

/// Whether a segment is a number, a hash, a UUID or a long token rather than a word.
fn is_identifier(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return false;
    }
    let is_hex = segment.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    digits == segment.len() || (is_hex && segment.len() >= 6) || segment.len() >= 16
}

/// A name for thresholds and files, of letters, digits and hyphens, unlike those in `taken`.
pub(super) fn name(method: &str, pattern: &str, taken: &[String]) -> String {
    /// Bytes, without what makes a name unlike the others.
    const NAME_MAX: usize = 48;
    let spelled = format!("{method}{pattern}").to_ascii_lowercase().replace('*', "x");
    let mut name = String::new();
    for character in spelled.chars() {
        let is_kept = character.is_ascii_alphanumeric() || character == '_';
        match character {
            character if is_kept => name.push(character),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(NAME_MAX);
    let name = name.trim_matches(['-', '_']).to_owned();
    let name =
        if name.starts_with(|first: char| first.is_ascii_alphabetic()) { name } else { format!("r-{name}") };
    let is_free = |name: &str| !taken.iter().any(|other| other == name);
    if is_free(&name) {
        return name;
    }
    let numbered = (2..=u32::MAX).map(|number| format!("{name}-{number}")).find(|name| is_free(name));
    numbered.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_queries_are_not_part_of_a_pattern() {
        let check =
            |target: &str, expected: &str| assert_eq!(pattern(target.as_bytes()), expected, "{target}");
        check("/", "/");
        check("/?a=b", "/");
        check("/users/17/posts", "/users/*/posts");
        check("/users/17?token=secret", "/users/*");
        check("/a/550e8400-e29b-41d4-a716-446655440000", "/a/*");
        check("/static/app.3f2a1bc9.js", "/static/app.*.js");
        check("/v2/list", "/v2/list");
        check("/reset/Zk3nAbCdEfGhIjKlMn", "/reset/*");
        check("/q/caf%C3%A9", "/q/*");
        check("/a;jsessionid=1/b", "/a");
        check("/1/2/3/4/5/6/7/8", "/*/*/*/*/*/*/**");
        check("/deadbeef", "/deadbeef");
        check("/dead-beef1", "/*");
    }

    #[test]
    fn names_are_unlike_each_other() {
        let mut taken: Vec<String> = Vec::new();
        for (pattern, expected) in [
            ("/", "get"),
            ("/users/*", "get-users-x"),
            ("/users/x", "get-users-x-2"),
            ("/", "get-2"),
            ("/Ä/ö", "get-3"),
        ] {
            let name = name("GET", pattern, &taken);
            assert_eq!(name, expected, "{pattern}");
            taken.push(name);
        }
    }
}
