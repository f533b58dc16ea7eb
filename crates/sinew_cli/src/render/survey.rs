//! One look over a whole clip before anything is drawn: where the camera must stand to see all of it, where the ground
//! is, how far effects move the skin, and the paths of some vertices.

use super::scenery::{Moment, Scenery, Span};
use glam::DVec3;
use rayon::prelude::*;
use sinew::DeformedMesh;
use sinew_render::{Framing, Line};

/// Moments per second at which a clip is looked over, and how many at most.
const RATE: f64 = 60.0;
const MOST: f64 = 600.0;
/// Seconds of a path behind its vertex.
const TAIL_SECS: f64 = 0.5;

const RESULT: [f32; 3] = [0.80, 0.05, 0.06];
const BASE: [f32; 3] = [0.08, 0.26, 0.75];

/// What was seen.
pub struct Survey {
    /// Everything, with and without effects.
    pub framing: Framing,
    /// Lowest point without effects: where the character stands.
    pub ground: f64,
    /// Farthest move of the skin, as a part of the character's size.
    pub farthest: f64,
    paths: Paths,
}

/// Places of tracked vertices at even times over the clip: without effects, with them.
struct Paths {
    span: Span,
    vertices: Vec<(usize, usize)>,
    places: Vec<Vec<[DVec3; 2]>>,
}

struct Glance {
    framing: Framing,
    ground: f64,
    farthest: f64,
    places: Vec<[DVec3; 2]>,
}

impl Survey {
    /// Looks at the clip and at the moments to be drawn; `empty` is a framing without points.
    pub fn new(stage: &Scenery<'_>, drawn: &[f64], empty: &Framing, paths: usize) -> Self {
        let span = stage.span();
        let count = (span.length * RATE).ceil().clamp(1.0, MOST) as usize + usize::from(!span.loops);
        let grid = span.spread(count);
        let vertices = spread_vertices(stage, &stage.moment(span.start), paths);
        let times: Vec<f64> = grid.iter().chain(drawn).copied().collect();
        let glances: Vec<Glance> =
            times.par_iter().map(|&time| Glance::new(stage, &stage.moment(time), empty, &vertices)).collect();
        let (mut framing, mut ground, mut farthest) = (empty.clone(), f64::INFINITY, 0.0_f64);
        for glance in &glances {
            framing.join(&glance.framing);
            ground = ground.min(glance.ground);
            farthest = farthest.max(glance.farthest);
        }
        let places = glances.into_iter().take(grid.len()).map(|glance| glance.places).collect();
        Self { framing, ground, farthest, paths: Paths { span, vertices, places } }
    }

    /// Paths of the tracked vertices up to a moment.
    pub fn trails(&self, moment: &Moment) -> Vec<Line> {
        let Paths { span, vertices, places } = &self.paths;
        let step = if places.len() > 1 { self.paths.places_step() } else { return Vec::new() };
        let now = ((moment.time - span.start) / step).floor() as i64;
        let back = (TAIL_SECS.min(span.length) / step) as i64;
        let mut lines = Vec::new();
        for (tracked, &(character, vertex)) in vertices.iter().enumerate() {
            for (side, rgb, width) in [(0, BASE, 1.5), (1, RESULT, 2.2)] {
                let mesh = if side == 0 { &moment.base } else { &moment.result };
                let mut trail = vec![mesh.world_position(character, vertex)];
                for index in (now - back..=now).rev() {
                    let wrapped = index.rem_euclid(places.len() as i64) as usize;
                    // Across its seam a loop that travels is elsewhere.
                    let crosses = index < 0 && (!span.loops || self.paths.travels(tracked));
                    if crosses {
                        break;
                    }
                    trail.push(places[wrapped][tracked][side]);
                }
                trail.reverse();
                lines.push(Line::trajectory(&trail, rgb, width));
            }
        }
        lines
    }
}

impl Paths {
    fn places_step(&self) -> f64 {
        let steps = if self.span.loops { self.places.len() } else { self.places.len() - 1 };
        self.span.length / steps as f64
    }

    /// Whether a vertex is farther from its first place at the loop's end than its steps are long.
    fn travels(&self, tracked: usize) -> bool {
        let at = |i: usize| self.places[i][tracked][0];
        let longest = (1..self.places.len()).map(|i| at(i).distance(at(i - 1))).fold(0.0, f64::max);
        at(self.places.len() - 1).distance(at(0)) > 2.0 * longest
    }
}

impl Glance {
    fn new(stage: &Scenery<'_>, moment: &Moment, empty: &Framing, tracked: &[(usize, usize)]) -> Self {
        let rig = &stage.scene.rig;
        let mut framing = empty.clone();
        let (mut ground, mut farthest) = (f64::INFINITY, 0.0_f64);
        for part in rig.parts() {
            let size = rig.characters()[part.character].size;
            for vertex in part.primitives.iter().flat_map(|primitive| primitive.vertices.clone()) {
                let [base, result] = both(moment).map(|mesh| mesh.world_position(part.character, vertex));
                framing.include(base);
                framing.include(result);
                if base.y.is_finite() {
                    ground = ground.min(base.y);
                }
                farthest = farthest.max(base.distance(result) / size);
            }
        }
        let places = tracked.iter().map(|&(c, v)| both(moment).map(|mesh| mesh.world_position(c, v))).collect();
        Self { framing, ground, farthest, places }
    }
}

fn both(moment: &Moment) -> [&DeformedMesh; 2] {
    [&moment.base, &moment.result]
}

/// `count` vertices far from one another (Gonzalez 1985): tips of limbs, ears and tails come first.
fn spread_vertices(stage: &Scenery<'_>, moment: &Moment, count: usize) -> Vec<(usize, usize)> {
    let drawn = stage.scene.rig.parts().iter().flat_map(|part| {
        part.primitives.iter().flat_map(|p| p.vertices.clone()).map(|vertex| (part.character, vertex))
    });
    let all: Vec<((usize, usize), DVec3)> = drawn
        .map(|(character, vertex)| ((character, vertex), moment.base.world_position(character, vertex)))
        .filter(|(_, p)| p.is_finite())
        .collect();
    let middle = all.iter().map(|(_, p)| *p).sum::<DVec3>() / all.len().max(1) as f64;
    let mut apart: Vec<f64> = all.iter().map(|(_, p)| p.distance_squared(middle)).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count.min(all.len()) {
        let (next, far) = apart.iter().enumerate().fold((0, -1.0), |a, (i, &d)| if d > a.1 { (i, d) } else { a });
        if far <= 0.0 {
            break;
        }
        if chosen.is_empty() {
            apart.fill(f64::INFINITY);
        }
        chosen.push(all[next].0);
        for (distance, (_, p)) in apart.iter_mut().zip(&all) {
            *distance = distance.min(p.distance_squared(all[next].1));
        }
    }
    chosen
}
