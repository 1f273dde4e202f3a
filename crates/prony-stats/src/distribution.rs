//! The two distributions that intervals and tests here need: Student's t at 0.975 and the normal's
//! tails.

/// t(0.975, ν) for ν = 1 to 10, from the table of the NIST/SEMATECH e-Handbook of Statistical Methods,
/// 1.3.6.7.2, to one more digit; a test integrates the density up to each.
const T_975: [f64; 10] = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];

/// The normal's 0.975 quantile.
pub(crate) const Z_975: f64 = 1.959_963_985;

/// The half-width of a two-sided 95 % interval in standard errors: Student's t at 0.975 with
/// `degrees_of_freedom` (infinite for 0).
///
/// Up to ten degrees from a table, above by Fisher's expansion in 1/ν (Abramowitz and Stegun 26.7.5),
/// which is off by less than 1e-4 there.
pub(crate) fn t_975(degrees_of_freedom: usize) -> f64 {
    if degrees_of_freedom == 0 {
        return f64::INFINITY;
    }
    if let Some(&t) = T_975.get(degrees_of_freedom - 1) {
        return t;
    }
    let (nu, z) = (degrees_of_freedom as f64, Z_975);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / nu + second / nu.powi(2) + third / nu.powi(3)
}

/// The probability that a standard normal is at least as far from 0 as `z`.
///
/// By the Chebyshev fit of erfc in Press et al., Numerical Recipes (1992), 6.2: relative error below
/// 1.2e-7 everywhere, far less than anything printed with it needs.
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    let series = FIT.iter().rev().fold(0.0, |sum, term| sum * t + term);
    (t * (series - x * x).exp()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ over 0..=t of Student's density, by Simpson's rule.
    fn half_mass(t: f64, nu: usize) -> f64 {
        // Γ((ν+1)/2)/(Γ(ν/2)·√(νπ)) by the recursion in steps of two from ν = 1 and ν = 2.
        let start = if nu % 2 == 1 { 1.0 / std::f64::consts::PI } else { 0.5 / 2.0_f64.sqrt() };
        let scale = (1..=(nu - 1) / 2).fold(start, |scale, step| {
            let from = (nu - 2 * ((nu - 1) / 2) + 2 * (step - 1)) as f64;
            scale * (from + 1.0) / (from * (from + 2.0)).sqrt()
        });
        let density = |x: f64| scale * (1.0 + x * x / nu as f64).powf(-(nu as f64 + 1.0) / 2.0);
        let (steps, width) = (20_000, t / 20_000.0);
        let inner: f64 =
            (1..steps).map(|i| density(f64::from(i) * width) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
        (density(0.0) + inner + density(t)) * width / 3.0
    }

    #[test]
    fn t_cuts_off_five_percent() {
        for nu in (1..=40).chain([59, 100, 1000]) {
            let outside = 1.0 - 2.0 * half_mass(t_975(nu), nu);
            assert!((outside - 0.05).abs() < 2e-5, "ν = {nu}: {outside}");
        }
        assert!(t_975(0).is_infinite());
    }

    #[test]
    fn normal_tails() {
        let check = |z: f64, p: f64| {
            let actual = normal_two_sided(z);
            assert!((actual - p).abs() < 2e-7 * p.max(1e-3), "z = {z}: {actual} is not {p}");
        };
        check(0.0, 1.0);
        check(1.0, 0.317_310_508);
        check(Z_975, 0.05);
        check(-2.575_829_304, 0.01);
        check(5.0, 5.733_031e-7);
    }
}
