//! The smallest tolerance with which a file has no more bytes than it may.
//!
//! Bytes fall as the tolerance grows, though not at every step: 1, 2, 5, 10, 20 … times the tolerance asked for are tried until
//! one fits, then the way back is halved a few times.

use crate::{BakedFile, ExportError};
use sinew_bake::{Options, Tolerance};
use std::fmt;

/// How often the way between a tolerance that fits and one that does not is halved.
const HALVINGS: usize = 4;
/// Tolerances beyond this many times the one asked for are not tried.
const MOST_TIMES: f64 = 1e4;

/// What a tolerance gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizePoint {
    /// The tolerance.
    pub tolerance: Tolerance,
    /// The most targets of any mesh.
    pub targets: usize,
    /// The largest error, as a share of the size.
    pub largest_share: f64,
    /// Of the file.
    pub bytes: u64,
}

/// The file has more bytes than it may.
#[derive(Clone, Debug, PartialEq)]
pub struct Oversize {
    /// Most bytes allowed.
    pub max_bytes: u64,
    /// What was tried, from the tolerance asked for on.
    pub tried: Vec<SizePoint>,
}

impl std::error::Error for Oversize {}

impl fmt::Display for Oversize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_bytes, tried } = self;
        let asked = tried.first().map_or(0, |point| point.bytes);
        write!(f, "the file would have {asked} bytes, where {max_bytes} are allowed")?;
        match tried.last() {
            Some(point) if point.bytes > *max_bytes && point.targets == 0 => {
                write!(f, "; without any effect it has {}", point.bytes)?;
            }
            _ => {}
        }
        write!(f, "\n  {:>12}  targets  largest error      bytes", "tolerance")?;
        for SizePoint { tolerance, targets, largest_share, bytes } in tried {
            let tolerance = match tolerance {
                Tolerance::OfSize(share) => format!("{:.3} %", 100.0 * share),
                Tolerance::Units(units) => format!("{units:.3e} units"),
            };
            write!(f, "\n  {tolerance:>12}  {targets:>7}  {:>11.4} %  {bytes:>9}", 100.0 * largest_share)?;
        }
        Ok(())
    }
}

/// The way to a file that fits.
pub struct Search {
    asked: Tolerance,
    best_effort: bool,
    max_bytes: Option<u64>,
    /// Tolerances in units of the one asked for: the one looked at, the largest that does not fit, the smallest that does.
    at: f64,
    too_large: f64,
    fits: Option<f64>,
    halvings: usize,
    tried: Vec<SizePoint>,
    best: Option<BakedFile>,
    failure: Option<ExportError>,
}

impl Search {
    pub fn new(options: &Options, max_bytes: Option<u64>) -> Self {
        Self {
            asked: options.tolerance,
            best_effort: options.best_effort,
            max_bytes,
            at: 1.0,
            too_large: 1.0,
            fits: None,
            halvings: HALVINGS,
            tried: Vec::new(),
            best: None,
            failure: None,
        }
    }

    /// Takes in a bake and the bytes of its file; tells at what tolerance to bake next.
    pub fn look(&mut self, made: Result<(BakedFile, Option<u64>), ExportError>) -> Option<Tolerance> {
        let (baked, bytes) = match made {
            Ok(made) => made,
            Err(failure) => {
                self.failure = self.best.is_none().then_some(failure);
                return None;
            }
        };
        let (Some(most), Some(bytes)) = (self.max_bytes, bytes) else {
            self.best = Some(baked);
            return None;
        };
        let targets = baked.report.most_targets();
        let largest_share = baked.report.largest_share();
        self.tried.push(SizePoint { tolerance: self.asked.times(self.at), targets, largest_share, bytes });
        if bytes <= most {
            self.best = Some(baked).filter(|_| self.best_effort || self.at == 1.0);
            self.fits = Some(self.at);
        } else {
            self.too_large = self.at;
        }
        self.at = match self.fits {
            Some(fits) if self.best_effort && fits > 1.0 && self.halvings > 0 => {
                self.halvings -= 1;
                (self.too_large * fits).sqrt()
            }
            None if targets > 0 && self.at < MOST_TIMES => next_round(self.at),
            _ => return None,
        };
        Some(self.asked.times(self.at))
    }

    /// What came of it.
    pub fn found(self, file: &str) -> Result<BakedFile, ExportError> {
        let Self { max_bytes, mut tried, best, failure, .. } = self;
        if let Some(failure) = failure {
            return Err(failure);
        }
        tried.sort_by(|a, b| a.tolerance.units(1.0).total_cmp(&b.tolerance.units(1.0)));
        match best {
            Some(best) => Ok(BakedFile { sizes: tried, ..best }),
            None => Err(ExportError::TooLarge {
                file: file.to_owned(),
                source: Box::new(Oversize { max_bytes: max_bytes.unwrap_or(0), tried }),
            }),
        }
    }
}

/// 1, 2, 5, 10, 20 …
fn next_round(at: f64) -> f64 {
    let decade = 10f64.powf((at * 1.01).log10().floor());
    let digit = (at / decade).round();
    decade
        * if digit < 2.0 {
            2.0
        } else if digit < 5.0 {
            5.0
        } else {
            10.0
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        let mut at = 1.0;
        for expected in [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0] {
            at = next_round(at);
            assert!((at - expected).abs() < 1e-9 * expected, "{at}, {expected}");
        }
    }
}
