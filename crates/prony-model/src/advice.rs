//! Advice on what was typed: the word that was probably meant.

/// The candidate nearest to `typed`, if it is near enough to be a slip of the hand.
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let length = typed.chars().count();
    // Two slips in a short word are another word, and so is one letter for another.
    let most = match length {
        0 | 1 => 0,
        2..=4 => 1,
        _ => 2,
    };
    candidates
        .into_iter()
        // Words of other lengths are further away than that; typed text has no bound, so they are left out first.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= most)
        .map(|candidate| (strsim::osa_distance(&typed, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, expected: Option<&str>) {
        assert_eq!(nearest(typed, ["run", "serve", "demo", "completions", "man"]), expected, "{typed}");
    }

    #[test]
    fn slips_of_the_hand() {
        check("sevre", Some("serve"));
        check("server", Some("serve"));
        check("Serve", Some("serve"));
        check("dmeo", Some("demo"));
        check("completion", Some("completions"));
        check("localhost", None);
        check("web", None);
        check("api", None);
    }
}
