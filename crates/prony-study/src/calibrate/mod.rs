//! What a machine can do as a client: which settings are measured against a server that does nothing, and what is known
//! of each from its run. The caller starts that server.
//!
//! Reading order: `grid` (which settings), `load` (the load of one), `point` (what is known of it), `noise` (how much two
//! loads of the same server differ).

mod grid;
mod load;
mod noise;
mod point;

pub use grid::{CalibrationOptions, CalibrationStep, calibration_steps};
pub use load::{CALIBRATION_PAUSE, calibration_load};
pub use noise::{NOISE_BLOCKS, NoiseBlocks, calibration_noise, noise_step};
pub use point::{NullServerUse, calibration_point};
