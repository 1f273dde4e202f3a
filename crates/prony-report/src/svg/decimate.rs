//! Fewer points that look the same: of each stretch the least and the greatest, never a mean.

/// `points` themselves if they are at most `most`; otherwise at most as many of them, in order, with both extremes of
/// each of `most / 2` equal stretches. What is not a number is left out.
pub(crate) fn decimated(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let finite: Vec<(f64, f64)> =
        points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    if finite.len() <= most {
        return finite;
    }
    let stretch = finite.len().div_ceil((most / 2).max(1));
    let mut kept = Vec::with_capacity(most);
    for stretch in finite.chunks(stretch) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (Some(least), Some(greatest)) =
            (stretch.iter().min_by(by_value), stretch.iter().max_by(by_value))
        else {
            continue;
        };
        let mut pair = [*least, *greatest];
        pair.sort_by(|a, b| a.0.total_cmp(&b.0));
        kept.extend_from_slice(if least == greatest { &pair[..1] } else { &pair });
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_extremes_stay() {
        let points: Vec<(f64, f64)> = (0..1000)
            .map(|index| (f64::from(index), if index == 503 { 9.0 } else { f64::from(index % 3) }))
            .collect();
        let kept = decimated(&points, 100);
        assert!(kept.len() <= 100 && kept.contains(&(503.0, 9.0)), "{kept:?}");
        assert_eq!(decimated(&points[..50], 100), points[..50]);
        assert_eq!(decimated(&[(0.0, f64::NAN), (1.0, 2.0)], 100), [(1.0, 2.0)]);
    }

    proptest! {
        #[test]
        fn extremes_and_order_are_kept(values in proptest::collection::vec(0.0..1e6_f64, 1..400), most in 2_usize..50) {
            let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
            let kept = decimated(&points, most);
            prop_assert!(kept.len() <= most.max(2));
            prop_assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let most_of = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(f64::MIN, f64::max);
            let least_of = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(f64::MAX, f64::min);
            prop_assert_eq!((most_of(&kept), least_of(&kept)), (most_of(&points), least_of(&points)));
        }
    }
}
