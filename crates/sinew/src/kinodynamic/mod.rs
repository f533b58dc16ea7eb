//! Kinodynamic skinning (KD, METHODS 6).

mod fold_over_free;
mod fractional;
mod least_squares;
mod muscle;
mod pose_path;
#[cfg(test)]
mod tests;
mod tissue;
mod vortex_field;
