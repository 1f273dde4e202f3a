//! The numbers of Prony: what was recorded, and how far it can be trusted.
//!
//! This crate turns recorded durations into statements: quantiles that know when they must not be
//! printed, intervals that survive autocorrelation, comparisons that say "too noisy" when they are.
//! It must never read a clock, do I/O, draw unseeded random numbers, or know a wire format other
//! than HdrHistogram's: values in, values out.
//!
//! Durations are whole nanoseconds (`u64`) here. Quantiles are in `0..=1`; percent is a matter of
//! printing.

// What is recorded.
mod histogram;
mod layout;
mod sparse;
mod wire;

// Statistics of one run.
mod bins;
mod curve;
mod describe;
mod interval;
mod quantile;
mod ratio;
mod rounds;

// Whether the run was fit to be measured.
mod little;
mod outliers;
mod steady;
mod drift;
mod warmup;

// Statistics of several at the same time.
mod agree;

// Statistics of two.
mod compare;
mod detect;
mod holm;
mod order;
mod pooled;
mod signed_rank;
mod swap;

// Statistics of many, one after the other.
mod capacity;
mod changes;
mod scalability;

// What they share, and what tests hold against them.
mod distribution;
mod freeze;
mod sample;

pub use agree::{Farthest, farthest};
pub use bins::Bin;
pub use capacity::{Capacity, Trial, capacity};
pub use changes::{
    CHANGE_WINDOW, Certainty, ChangePoint, ChangesError, LEAST_CHANGE, LEAST_POINTS, P_TO_ALERT,
    P_TO_SUSPECT, POINTS_MAX, POINTS_TO_CONFIRM, change_points,
};
pub use compare::{
    Aim, Better, CompareError, Comparison, Criteria, DEFAULT_MARGIN, DEFAULT_PAIRS, ERRORS_MAX, Errors,
    LEAST_PAIRS, LOOKS, Looks, NoVerdict, Verdict, compare, compare_differences, look_level, look_z,
};
pub use curve::{CurvePlace, curve_places};
pub use describe::{Description, describe};
pub use detect::{BlockNoise, DetectPlan, pair_deviation, plan_detection};
pub use drift::{DRIFT_VALUES_MAX, Drift, drift};
pub use freeze::freeze_quantile;
pub use histogram::{Bucket, Histogram};
pub use holm::holm;
pub use interval::{
    BATCHES, CLUSTERS_TO_INDICATE, CLUSTERS_TO_PRINT, Interval, NoInterval, Precision, RateInterval,
    clusters_of_slices, rate_interval, sectioning,
};
pub use layout::{HIGHEST_TRACKABLE_NANOS, SIGNIFICANT_DIGITS};
pub use little::{Impossible, LITTLE_TOLERANCE, LittleAudit, check_possible, little_edges};
pub use order::{PairOrder, pair_orders};
pub use outliers::{OUTLIER_DEVIATIONS, outliers};
pub use pooled::{Weighted, pooled_differences};
pub use quantile::{
    Censored, Estimate, LEAST_EXCEEDANCES, P99_COUNT_MIN, Quantile, QuantileError, Withheld, estimate,
};
pub use ratio::{mean_interval, ratio_interval};
pub use rounds::Rounds;
pub use sample::median;
pub use scalability::{
    Bounded, EXTRAPOLATION_MAX, LEAST_USERS, NoScalability, Scalability, ScalabilityFit, UsersRate,
    scalability,
};
pub use signed_rank::{Center, signed_rank_center, signed_rank_p};
pub use sparse::{Sparse, SparseError};
pub use steady::{NO_STEADY_STATE, Trend, mann_kendall};
pub use swap::{SWAPS, Swap, label_swap};
pub use warmup::{WARM_UP_SLICES, WarmUp, log_medians, warm_up};
pub use wire::DecodeError;
