//! Kinodynamic skinning (KD, METHODS 6).

mod fold_over_free;
mod fractional;
mod pose_path;
#[cfg(test)]
mod tests;
mod tissue;
