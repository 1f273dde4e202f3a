//! Guessing what a mistyped word was meant to be.

/// The candidate nearest to `typed`, if it is near enough to be a slip of the hand.
pub(crate) fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    // Two slips in a short word are another word.
    let most = if typed.chars().count() <= 4 { 1 } else { 2 };
    candidates
        .into_iter()
        .map(|candidate| (distance(&typed, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits from `a` to `b`: letters put in, left out, replaced, or two neighbours swapped
/// (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
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
