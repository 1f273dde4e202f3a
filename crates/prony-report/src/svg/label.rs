//! Labels side by side on one line that don't overlap, each as near to its place as the others let it.

/// Places for labels that want to be at `wanted`, with at least `gap` between neighbours, from `low` to `high`, in the
/// same order as `wanted`. Where they don't all fit they are spread evenly and overlap.
pub(crate) fn apart(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let Some(steps) = wanted.len().checked_sub(1).filter(|steps| *steps > 0) else {
        return wanted.iter().map(|place| place.clamp(low, high)).collect();
    };
    let gap = gap.min((high - low) / steps as f64);
    // Each label less the room that those before it take: then "not nearer than the gap" is "not before", and what
    // is best is the mean of those that are in each other's way (pool adjacent violators).
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for (rank, index) in order.iter().enumerate() {
        let mut group = (wanted[*index] - gap * rank as f64, 1);
        while let Some((mean, size)) = groups.pop_if(|(mean, _)| *mean > group.0) {
            let total = size + group.1;
            group = ((mean * size as f64 + group.0 * group.1 as f64) / total as f64, total);
        }
        groups.push(group);
    }
    let means = groups.iter().flat_map(|(mean, size)| std::iter::repeat_n(*mean, *size));
    let mut places = vec![0.0; wanted.len()];
    for ((rank, index), mean) in order.iter().enumerate().zip(means) {
        places[*index] = mean.clamp(low, high - gap * steps as f64) + gap * rank as f64;
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(wanted: &[f64], expected: &[f64]) {
        assert_eq!(apart(wanted, 10.0, 0.0, 100.0), expected, "{wanted:?}");
    }

    #[test]
    fn labels_move_no_more_than_they_must() {
        check(&[], &[]);
        check(&[120.0], &[100.0]);
        check(&[20.0, 50.0], &[20.0, 50.0]);
        check(&[50.0, 50.0], &[45.0, 55.0]);
        check(&[52.0, 48.0, 90.0], &[55.0, 45.0, 90.0]);
        check(&[0.0, 0.0, 0.0], &[0.0, 10.0, 20.0]);
        check(&[100.0, 99.0], &[100.0, 90.0]);
    }

    proptest! {
        #[test]
        fn never_nearer_than_the_gap(wanted in proptest::collection::vec(-50.0..150.0_f64, 0..10)) {
            let mut places = apart(&wanted, 10.0, 0.0, 100.0);
            places.sort_by(f64::total_cmp);
            prop_assert!(places.iter().all(|place| (-1e-9..=100.0 + 1e-9).contains(place)));
            prop_assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 10.0 - 1e-9));
        }
    }
}
