//! The report of a bake, and of one that did not come about.

use super::Run;
use super::result::Measured;
use super::solution::Solution;
use super::trade::Trade;
use crate::BakeFailure;
use crate::field::Kind;
use crate::groups::vertices;
use crate::pulled::PulledGroup;
use crate::report::{
    ClipReport, FlattenedReport, GroupReport, GroupShortfall, Located, Report, Seam, Shortfall, listed,
};
use std::collections::BTreeSet;

impl Run<'_> {
    /// `measured` is per clip and group.
    pub(super) fn report(&self, solutions: &[Solution], measured: &[Vec<Measured>]) -> Report {
        let mut clips: Vec<ClipReport> = Vec::new();
        for (index, (clip, grid)) in self.clips.iter().zip(&self.grids).enumerate() {
            let mut report = ClipReport {
                name: clip.clip.name.clone(),
                samples: grid.samples(),
                keys: 0,
                keys_between: 0,
                largest_share: 0.0,
                seam: grid.closes.then(Seam::default),
            };
            for ((group, solution), measured) in self.groups.iter().zip(solutions).zip(&measured[index]) {
                report.largest_share = report.largest_share.max(measured.error.largest / group.group.size);
                if solution.count == 0 {
                    continue;
                }
                let keys = &solution.curves[index].times;
                report.keys += keys.len();
                report.keys_between += keys.iter().filter(|&&key| !grid.is_sample(key)).count();
                if let Some(seam) = &mut report.seam {
                    let here = solution.seam(index);
                    seam.position = seam.position.max(here.position / group.group.size);
                    seam.velocity = seam.velocity.max(here.velocity / group.group.size);
                }
            }
            clips.push(report);
        }
        let mut groups: Vec<GroupReport> = Vec::new();
        for (index, (group, solution)) in self.groups.iter().zip(solutions).enumerate() {
            let mut found = Measured::default();
            measured.iter().for_each(|clip| found.merge(&clip[index]));
            let measured = found.averaged();
            let mut displacement = (0.0, 0, 0, 0);
            for (clip, fits) in solution.trade.fits.iter().enumerate() {
                for (place, fit) in fits.iter().enumerate() {
                    if fit.largest.0 > displacement.0 {
                        displacement = (fit.largest.0, clip, place, fit.largest.1);
                    }
                }
            }
            let (length, clip, place, point) = displacement;
            let angle = |kind: Kind| {
                let found = group.fields.iter().position(|field| field.kind() == kind)?;
                measured.angles.get(found).copied()
            };
            groups.push(GroupReport {
                parts: group.group.parts.clone(),
                names: self.names(group),
                size: group.group.size,
                points: group.group.points.len(),
                targets: solution.count,
                displacement: self.locate(group, length, clip, self.grids[clip].times[place], point),
                normals: angle(Kind::Normal),
                tangents: angle(Kind::Tangent),
                error: measured.error.clone(),
                error_between: measured.between,
                curve: solution.trade.curve.clone(),
                flattened: self.flattened(group, &solution.trade),
            });
        }
        Report { frames: self.samples(), tolerance: self.options.tolerance, groups, clips }
    }

    pub(super) fn shortfall(&self, group: &PulledGroup, trade: &Trade, would_do: Option<usize>) -> GroupShortfall {
        let flattened = self.flattened(group, trade).filter(|_| would_do.is_none());
        let obstacle = flattened.map(|flat| {
            format!(
                "skinning squeezes {} points flat (bones {}; first in clip \"{}\" at {:.3} s), where no morph shows; \
                 weaken the effects there or spread the skin weights",
                flat.points,
                listed(&flat.bones),
                self.clips[flat.clip].clip.name,
                flat.time
            )
        });
        GroupShortfall {
            names: self.names(group),
            size: group.group.size,
            would_do,
            obstacle,
            curve: trade.curve.clone(),
        }
    }

    /// What is played exceeds what was promised.
    pub(super) fn missed(&self, report: &Report) -> BakeFailure {
        let tolerance = self.options.tolerance;
        let short = report.groups.iter().filter(|group| group.error.largest > tolerance.units(group.size));
        let groups = short.map(|group| GroupShortfall {
            names: group.names.clone(),
            size: group.size,
            would_do: None,
            obstacle: Some(format!(
                "played with f32 numbers, clip \"{}\" at {:.4} s is off by {:.4} % of the size; allow slightly more",
                self.clips[group.error.at.clip].clip.name,
                group.error.at.time,
                100.0 * group.error.largest / group.size,
            )),
            curve: group.curve.clone(),
        });
        let groups = groups.collect();
        BakeFailure::Shortfall(Box::new(Shortfall { tolerance, max_targets: self.options.max_targets, groups }))
    }

    pub(super) fn locate(&self, group: &PulledGroup, length: f64, clip: usize, time: f64, point: usize) -> Located {
        let vertex = group.group.points.get(point).map_or(0, |point| point.vertex as usize);
        let holds = |&&part: &&usize| vertices(&self.rig().parts()[part]).any(|other| other == vertex);
        let part = group.group.parts.iter().find(holds).copied().unwrap_or(0);
        let vertex = vertices(&self.rig().parts()[part]).position(|other| other == vertex).unwrap_or(0);
        Located { length, clip, time, part, vertex }
    }

    fn flattened(&self, group: &PulledGroup, trade: &Trade) -> Option<FlattenedReport> {
        let mut flat = vec![false; group.group.points.len()];
        let (mut times, mut left, mut first) = (0, 0.0f64, None);
        for (clip, fits) in trade.fits.iter().enumerate() {
            for (place, fit) in fits.iter().enumerate() {
                for &(point, distance) in &fit.flattened {
                    flat[point] = true;
                    times += 1;
                    left = left.max(f64::from(distance));
                    first.get_or_insert((clip, self.grids[clip].times[place]));
                }
            }
        }
        let (clip, time) = first?;
        let points = flat.iter().filter(|flat| **flat).count();
        let slots =
            group.group.points.iter().zip(&flat).filter(|(_, flat)| **flat).map(|(point, _)| point.slot as usize);
        let bones = slots.filter_map(|slot| self.rig().main_bone(slot));
        let bones: BTreeSet<String> = bones.map(|bone| self.rig().skeleton().name(bone).to_owned()).collect();
        Some(FlattenedReport { points, times, bones: bones.into_iter().take(8).collect(), clip, time, left })
    }

    fn names(&self, group: &PulledGroup) -> Vec<String> {
        group.group.parts.iter().map(|&part| self.rig().parts()[part].name.clone()).collect()
    }
}
