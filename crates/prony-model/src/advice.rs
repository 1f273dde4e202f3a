//! Advice on what was typed: the word that was probably meant, and the part of an error that says what to try.

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

/// An error in the words of a library, `what: what to try`, in its two parts. Colons within backquotes, which hold what
/// was typed, don't count.
pub fn what_and_advice(text: &str) -> (&str, Option<&str>) {
    let mut quoted = false;
    let at = text.char_indices().find_map(|(at, character)| {
        quoted ^= character == '`';
        (!quoted && text[at..].starts_with(": ")).then_some(at)
    });
    at.map_or((text, None), |at| (&text[..at], Some(&text[at + 2..])))
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

    #[test]
    fn advice_stands_behind_a_colon() {
        let check = |text: &str, expected: (&str, Option<&str>)| assert_eq!(what_and_advice(text), expected);
        check("0 runs: use 1", ("0 runs", Some("use 1")));
        check("`a: b` is no count: write 5", ("`a: b` is no count", Some("write 5")));
        check("`a: b` is odd", ("`a: b` is odd", None));
    }
}
