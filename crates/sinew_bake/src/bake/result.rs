//! Everything measured against the frames once more, and the result.

use super::Run;
use super::frames::{Frame, Frames};
use super::solution::{Refined, Solution};
use crate::field::{Angles, Kind};
use crate::matrix::Tall;
use crate::pulled::{Pulled, PulledGroup, WorldError};
use crate::report::{AngleError, Error, Report};
use crate::{BakeFailure, Baked, BakedPart, PrimitiveTarget};
use faer::Mat;
use glam::Vec3;
use rayon::prelude::*;
use std::sync::Arc;

/// What the last look at all frames of a clip found in a group.
#[derive(Clone, Default)]
pub(super) struct Measured {
    /// The mean is not filled in.
    pub error: Error,
    pub between: f64,
    pub sum: f64,
    pub count: usize,
    pub angles: Vec<AngleError>,
    pub angle_counts: Vec<usize>,
}

impl Measured {
    /// Takes in what was found in another clip.
    pub(super) fn merge(&mut self, other: &Self) {
        if other.error.largest > self.error.largest {
            self.error = other.error.clone();
        }
        self.between = self.between.max(other.between);
        self.sum += other.sum;
        self.count += other.count;
        self.angles.resize(other.angles.len(), AngleError::default());
        self.angle_counts.resize(other.angles.len(), 0);
        for (angle, here) in self.angles.iter_mut().zip(&other.angles) {
            angle.largest = angle.largest.max(here.largest);
            angle.largest_before = angle.largest_before.max(here.largest_before);
            angle.mean += here.mean;
            angle.mean_before += here.mean_before;
        }
        self.angle_counts.iter_mut().zip(&other.angle_counts).for_each(|(sum, here)| *sum += here);
    }

    /// Makes means of sums.
    pub(super) fn averaged(mut self) -> Self {
        self.error.mean = self.sum / self.count.max(1) as f64;
        for (angle, &count) in self.angles.iter_mut().zip(&self.angle_counts) {
            angle.mean /= count.max(1) as f64;
            angle.mean_before /= count.max(1) as f64;
        }
        self
    }
}

impl Run<'_> {
    /// What is played in a clip against what is wanted: at samples, midpoints, and the moments in `refined`; normals where
    /// they are looked at.
    pub(super) fn measure(
        &self,
        frames: &mut Frames,
        index: usize,
        solutions: &[Solution],
        refined: &[Refined],
    ) -> Result<Vec<Measured>, BakeFailure> {
        let grid = &self.grids[index];
        let of_solution = |solution: &Solution| Measured {
            angles: vec![AngleError::default(); solution.fields.len()],
            angle_counts: vec![0; solution.fields.len()],
            ..Measured::default()
        };
        let mut measured: Vec<Measured> = solutions.iter().map(of_solution).collect();
        let block = self.block();
        let places: Vec<usize> = (0..grid.times.len()).collect();
        for places in places.chunks(block) {
            let times: Vec<f64> = places.iter().map(|&place| grid.times[place]).collect();
            let found = self.look(frames, index, places, "checking the result")?;
            let found = self.off(index, &times, &found, solutions);
            for (&time, found) in times.iter().zip(found) {
                for ((measured, (error, angles)), group) in measured.iter_mut().zip(found).zip(&self.groups) {
                    let largest = f64::from(error.largest);
                    measured.sum += error.sum;
                    measured.count += group.group.points.len();
                    if largest > measured.error.largest {
                        measured.error.largest = largest;
                        measured.error.at = self.locate(group, largest, index, time, error.point);
                    }
                    for ((sums, count), angle) in measured.angles.iter_mut().zip(&mut measured.angle_counts).zip(angles)
                    {
                        *count += angle.vertices;
                        sums.largest = sums.largest.max(angle.largest);
                        sums.largest_before = sums.largest_before.max(angle.largest_before);
                        sums.mean += angle.sum;
                        sums.mean_before += angle.sum_before;
                    }
                }
            }
        }
        for refined in refined.chunks(block) {
            let (times, frames): (Vec<f64>, Vec<Arc<Frame>>) = refined.iter().cloned().unzip();
            for found in self.off(index, &times, &frames, solutions) {
                let between = measured.iter_mut().zip(found);
                between.for_each(|(here, (error, _))| here.between = here.between.max(f64::from(error.largest)));
            }
        }
        Ok(measured)
    }

    /// By frame and group, how far points are off, and directions.
    fn off(
        &self,
        clip: usize,
        times: &[f64],
        frames: &[Arc<Frame>],
        solutions: &[Solution],
    ) -> Vec<Vec<(WorldError, Vec<Angles>)>> {
        let played: Vec<Played> = solutions.iter().map(|solution| Played::new(solution, clip, times)).collect();
        let of_frame = |(at, frame): (usize, &Arc<Frame>)| {
            let of_group = |(group, (pulled, played)): (&PulledGroup, (&Pulled, &Played))| {
                let mut error = pulled.x.clone();
                error.iter_mut().zip(played.positions.column(at)).for_each(|(x, played)| *x -= played);
                let directions = group.fields.iter().zip(&pulled.deltas).zip(&played.directions);
                let angles = directions
                    .map(|((field, wanted), played)| field.angles(pulled, &frame.morphs, wanted, played.column(at)));
                (pulled.world_error(&error), angles.collect())
            };
            self.groups.iter().zip(frame.groups.iter().zip(&played)).map(of_group).collect()
        };
        frames.par_iter().enumerate().map(of_frame).collect()
    }

    pub(super) fn result(&self, solutions: Vec<Solution>, report: Report) -> Baked {
        let rig = self.rig();
        let mut parts: Vec<(BakedPart, usize)> = Vec::new();
        for (index, (group, solution)) in self.groups.iter().zip(&solutions).enumerate() {
            if solution.count == 0 {
                continue;
            }
            for &part in &group.group.parts {
                let target = |target: usize| -> Vec<PrimitiveTarget> {
                    let count = group.group.points.len();
                    let written = solution.written.column(target);
                    let form = solution.forms[target];
                    let scaled = |x: f32| (f64::from(x) / form.scale) as f32;
                    let delta = |vertex: usize| {
                        let place = self.place_of_slot[rig.point(vertex)] as usize;
                        Vec3::new(written[place], written[count + place], written[2 * count + place]).map(scaled)
                    };
                    let primitives = rig.parts()[part].primitives.iter().enumerate();
                    primitives
                        .map(|(number, primitive)| {
                            let directions = |kind: Kind| {
                                let mut fields = group.fields.iter().zip(&solution.fields);
                                let (field, targets) = fields.find(|(field, _)| field.kind() == kind)?;
                                let mut directions = field.of_primitive(part, number, targets.column(target))?;
                                directions.iter_mut().for_each(|direction| *direction = direction.map(scaled));
                                Some(directions)
                            };
                            PrimitiveTarget {
                                positions: primitive.vertices.clone().map(delta).collect(),
                                normals: directions(Kind::Normal),
                                tangents: directions(Kind::Tangent),
                                position_storage: form.positions,
                                direction_storage: form.directions,
                            }
                        })
                        .collect()
                };
                parts.push((BakedPart { part, targets: (0..solution.count).map(target).collect() }, index));
            }
        }
        parts.sort_by_key(|(part, _)| part.part);
        let curves = |clip: usize| parts.iter().map(|&(_, group)| solutions[group].written_curve(clip)).collect();
        let clips = (0..self.clips.len()).map(curves).collect();
        Baked { parts: parts.into_iter().map(|(part, _)| part).collect(), clips, report }
    }
}

/// What targets do to a group at some moments, one column each.
struct Played {
    positions: Tall,
    /// Per field; zero where its targets are.
    directions: Vec<Tall>,
}

impl Played {
    fn new(solution: &Solution, clip: usize, times: &[f64]) -> Self {
        let weights: Vec<Vec<f32>> = times.iter().map(|&time| solution.curves[clip].at(time)).collect();
        let matrix = Mat::from_fn(solution.count, times.len(), |row, column| weights[column][row]);
        let directions = |(used, targets): &(Vec<usize>, Tall)| {
            targets.times(Mat::from_fn(used.len(), times.len(), |row, column| weights[column][used[row]]).as_ref())
        };
        Self {
            positions: solution.played.times(matrix.as_ref()),
            directions: solution.used.iter().map(directions).collect(),
        }
    }
}
