//! Normals on the weights that are played, everything measured against the frames once more, and the result.

use super::solution::{Solution, column};
use super::{BLOCK_BYTES, Run};
use crate::directions::Fit;
use crate::field::{Field, Kind};
use crate::matrix::Tall;
use crate::pulled::{Wanted, each_frame};
use crate::report::{AngleError, Error, Report};
use crate::{BakeFailure, Baked, BakedPart, PrimitiveTarget};
use glam::Vec3;

/// What the last look at all frames found in a group.
#[derive(Default)]
pub(super) struct Measured {
    pub error: Error,
    pub between: f64,
    pub sum: f64,
    pub count: usize,
    pub per_clip: Vec<f64>,
    pub angles: Vec<AngleError>,
    pub angle_counts: Vec<usize>,
}

impl Run<'_> {
    /// One pass over all samples: normals and tangents on the weights of the frames.
    pub(super) fn fit_directions(&self, solutions: &mut [Solution]) -> Result<(), BakeFailure> {
        let fields: Vec<Vec<Field>> = self
            .groups
            .iter()
            .zip(&*solutions)
            .map(|(group, solution)| match solution.count {
                0 => Vec::new(),
                _ => Kind::ALL.iter().filter_map(|&kind| Field::new(self.subject, &group.group.parts, kind)).collect(),
            })
            .collect();
        if fields.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let mut fits: Vec<Vec<Fit>> = fields
            .iter()
            .zip(&*solutions)
            .map(|(fields, solution)| fields.iter().map(|field| Fit::new(field.len(), solution.count)).collect())
            .collect();
        let largest: usize = fields.iter().flatten().map(|field| 12 * field.len()).sum();
        let block = (BLOCK_BYTES / largest.max(1)).clamp(4, 64);
        for (index, grid) in self.grids.iter().enumerate() {
            let motion = self.motion(index)?;
            let samples: Vec<f64> = grid.times.iter().step_by(2).map(|&time| grid.look(time)).collect();
            for (piece, times) in samples.chunks(block).enumerate() {
                let frames = each_frame(&motion, times, Wanted::Directions, |_, workspace| {
                    self.meter.frame("fitting normals");
                    let morphs = &workspace.pose().morph_weights[..];
                    let deltas = |field: &Field| field.deltas(self.rig(), workspace, morphs);
                    Ok(fields.iter().map(|fields| fields.iter().map(deltas).collect::<Vec<_>>()).collect::<Vec<_>>())
                })?;
                for (group, (fits, solution)) in fits.iter_mut().zip(&*solutions).enumerate() {
                    let weights = solution.weights[index].iter().step_by(2).skip(piece * block).take(times.len());
                    let weights: Vec<&[f32]> = weights.map(Vec::as_slice).collect();
                    for (field, fit) in fits.iter_mut().enumerate() {
                        fit.add(frames.iter().flat_map(|frame| &frame[group][field]).copied().collect(), &weights);
                    }
                }
            }
        }
        for ((solution, fields), fits) in solutions.iter_mut().zip(fields).zip(fits) {
            for (field, fit) in fields.into_iter().zip(fits) {
                solution.fields.push((field, fit.solve()?));
            }
        }
        Ok(())
    }

    /// The last pass: what is played against what is wanted, at samples, midpoints, and the moments in `refined`.
    pub(super) fn measure(&self, solutions: &[Solution], refined: &[Vec<f64>]) -> Result<Vec<Measured>, BakeFailure> {
        let mut measured: Vec<Measured> = solutions
            .iter()
            .map(|solution| Measured {
                angles: vec![AngleError::default(); solution.fields.len()],
                angle_counts: vec![0; solution.fields.len()],
                ..Measured::default()
            })
            .collect();
        let wanted = if solutions.iter().all(|solution| solution.fields.is_empty()) {
            Wanted::Positions
        } else {
            Wanted::Directions
        };
        for (index, grid) in self.grids.iter().enumerate() {
            let motion = self.motion(index)?;
            let mut times = [&grid.times[..], &refined[index]].concat();
            times.sort_by(f64::total_cmp);
            let looks: Vec<f64> = times.iter().map(|&time| grid.look(time)).collect();
            let frames = each_frame(&motion, &looks, wanted, |place, workspace| {
                self.meter.frame("checking the result");
                let mut found = Vec::with_capacity(solutions.len());
                for (group, solution) in self.groups.iter().zip(solutions) {
                    let pulled = self.pull(group, index, times[place], workspace)?;
                    let weights = solution.curves[index].at(times[place]);
                    let mut error = pulled.x.clone();
                    solution.played.add_product(-1.0, column(&weights), &mut error);
                    let morphs = &workspace.pose().morph_weights[..];
                    let angle = |(field, targets): &(Field, Tall)| {
                        field.angles(self.rig(), workspace, morphs, targets.times(column(&weights)).data())
                    };
                    found.push((pulled.world_error(&error), solution.fields.iter().map(angle).collect::<Vec<_>>()));
                }
                Ok(found)
            })?;
            for measured in &mut measured {
                measured.per_clip.push(0.0);
            }
            for (&time, found) in times.iter().zip(frames) {
                for ((measured, (error, angles)), group) in measured.iter_mut().zip(found).zip(&self.groups) {
                    let largest = f64::from(error.largest);
                    if grid.place(time).is_none() {
                        measured.between = measured.between.max(largest);
                        continue;
                    }
                    measured.sum += error.sum;
                    measured.count += group.group.points.len();
                    measured.per_clip[index] = measured.per_clip[index].max(largest);
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
        for measured in &mut measured {
            measured.error.mean = measured.sum / measured.count.max(1) as f64;
            for (sums, &count) in measured.angles.iter_mut().zip(&measured.angle_counts) {
                sums.mean /= count.max(1) as f64;
                sums.mean_before /= count.max(1) as f64;
            }
        }
        Ok(measured)
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
                                let (field, targets) =
                                    solution.fields.iter().find(|(field, _)| field.kind() == kind)?;
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
