//! What the GPU makes is what the processor makes: one comparison for whatever adapter there is, in tests and for users
//! (`sinew gpu-check`).
//!
//! Positions agree within [`POSITIONS`] of the size and normals within [`NORMALS`] where two instruction sets of the
//! processor agree within [`CERTAIN`] about them: elsewhere, on crumpled faces, no direction is the right one. Points that
//! the processor makes in double precision are the same on all of them; their normals are certain where rounding the points
//! to single precision turns no face by more than that.

use crate::{Gpu, GpuCharacter, GpuError, gpu_support};
use glam::Vec3;
use sinew::{Cpu, DeformedMesh, Level, NoPlan, Playing, RawRig, RecipeFile, Rig, Stage, Workspace};
use std::sync::Arc;

/// Of a character's size.
pub const POSITIONS: f64 = 2e-6;
/// Of a unit.
pub const NORMALS: f32 = 1e-4;
/// How far apart normals of two instruction sets may be to be compared at all.
pub const CERTAIN: f32 = 1e-5;
/// Faults that are told.
const TOLD: usize = 20;

/// Paints the map that cases read, with zeros, signs and everything between.
pub fn paint(raw: &mut RawRig) {
    for primitive in raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
        let values = (0..primitive.positions.len()).map(|vertex| match vertex % 7 {
            0 => 0.0,
            step => (step as f32 * 2.4).sin() * 1.2,
        });
        primitive.maps.push(("spots".to_owned(), values.collect()));
    }
}

/// A recipe by name.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is told of it.
    pub name: String,
    /// The recipe.
    pub text: String,
}

fn case(name: impl Into<String>, text: impl Into<String>) -> Case {
    Case { name: name.into(), text: format!("version = 1\n{}", text.into()) }
}

/// Every base, effect, correction and preset, and what else a recipe can ask for; maps are [`paint`]ed.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for base in sinew::base::BASES {
        cases.push(case(base.name, format!("base = '{}'", base.name)));
        cases.push(case(
            format!("{} with an effect", base.name),
            format!("base = '{}'\n[[effect]]\ntype = 'floppy'", base.name),
        ));
    }
    for base in ["dqs", "blend"] {
        let text = format!("base = {{ type = '{base}', pivot = true }}\n[[effect]]\ntype = 'squash'");
        cases.push(case(format!("{base} by pivots"), text));
    }
    cases.push(case(
        "blend by a map",
        "base = { type = 'blend', factor = 0.7, map = 'spots' }\n[[effect]]\ntype = 'floppy'",
    ));
    for effect in sinew::registry::EFFECTS {
        let name = effect.name();
        let head = format!("[[effect]]\ntype = '{name}'\n");
        if effect.needs_cone() {
            cases.push(case(name, format!("{head}cone = {{ bone = '*', axis = [0, 1, 0], apex = [0, 4, 0], half_angle = 0.2, base_radius = 0.01 }}")));
            continue;
        }
        cases.push(case(name, &*head));
        cases.push(case(format!("{name} by a map"), format!("{head}map = 'spots'\ngain = 1.5")));
        cases.push(case(format!("{name} backwards"), format!("{head}gain = -2.0")));
        cases.push(case(format!("{name}, raw and strong"), format!("{head}gain = 8.0\nraw = true")));
        cases.push(case(
            format!("{name} by bones"),
            format!("{head}map = 'spots'\n[effect.bones]\n'*' = {{ translation = 0.5, rotation = 2.0 }}"),
        ));
        cases.push(case(format!("{name}, composed"), format!("{head}compensate = true")));
        if effect.params().iter().any(|param| param.name == "soft") {
            cases.push(case(format!("{name}, cut"), format!("{head}soft = false\ngain = 3.0")));
        }
    }
    cases.push(case("wide turns", "[[effect]]\ntype = 'floppy'\nmax_angle = 12.0\nrotation = 4.0\ngain = 3.0"));
    cases.push(case("squash with ease", "[[effect]]\ntype = 'squash'\nease = 0.3\nmap = 'spots'"));
    cases.push(case(
        "limited in all",
        "max_total = 0.02\n[[effect]]\ntype = 'floppy'\ngain = 2.0\n[[effect]]\ntype = 'squash'",
    ));
    cases.push(case("normals of engines", "normals = 'engine'\n[[effect]]\ntype = 'floppy'"));
    cases.push(case(
        "everything bends",
        "rigid = 'none'\nsewn = 'none'\nplanted = 'none'\n[[effect]]\ntype = 'floppy'\n[[effect]]\ntype = 'wobble'",
    ));
    cases.push(case("by line", "base = { type = 'incremental-rotation', carried = 'by-line' }"));
    cases.push(case(
        "carried, with feet that stand",
        "base = 'incremental-rotation'\nplanted = 'auto'\n[[effect]]\ntype = 'floppy'\n[[effect]]\ntype = 'squash'",
    ));
    let radial = "[[edit]]\ntype = 'radial'\nprofile = 'bulge'\namount = [[0.0, -0.2], [0.7, 0.6]]\nbones = ['*']\n";
    let wave =
        "[[edit]]\ntype = 'wave'\nalong = [[0, 0.2, 0], [0, 1.8, 0]]\nreach = 0.2\ncrests = 3\nfrequency = 1.0\n";
    cases.push(case("an edit", radial));
    cases.push(case("edits over all else", format!("base = 'incremental-rotation'\n[[effect]]\ntype = 'floppy'\n[[correction]]\ntype = 'bulge'\namount = -0.5\nmap = 'spots'\n{radial}{wave}")));
    for base in ["lbs", "dqs", "blend", "rigid"] {
        let text = format!("normals = 'exact'\nbase = '{base}'");
        cases.push(case(format!("{base} with exact normals"), &*text));
        cases.push(case(
            format!("{base} with exact normals and effects"),
            format!("{text}\n[[effect]]\ntype = 'floppy'\nmap = 'spots'\n[[effect]]\ntype = 'squash'"),
        ));
    }
    cases.push(case(
        "blend by a map with exact normals",
        "normals = 'exact'\nbase = { type = 'blend', factor = 0.7, map = 'spots' }\n[[effect]]\ntype = 'wobble'",
    ));
    for effect in sinew::registry::EFFECTS {
        let name = effect.name();
        let cone = "cone = { bone = '*', axis = [0, 1, 0], apex = [0, 4, 0], half_angle = 0.2, base_radius = 0.01 }";
        let head = format!("normals = 'exact'\n[[effect]]\ntype = '{name}'\nmap = 'spots'\n");
        let cone = if effect.needs_cone() { cone } else { "" };
        cases.push(case(format!("{name} with exact normals"), format!("{head}{cone}")));
    }
    cases.push(case(
        "exact normals in a cone, limited in all",
        "normals = 'exact'\nmax_total = 0.05\n[[effect]]\ntype = 'floppy'\nmap = 'spots'\nsoft = false\ngain = 3.0\ncone = { bone = '*', axis = [0, 1, 0], apex = [0, 4, 0], half_angle = 0.2, base_radius = 0.01 }\n[[effect]]\ntype = 'squash'\nease = 0.3",
    ));
    for correction in sinew::correct::CORRECTIONS {
        cases.push(case(correction.name, format!("[[correction]]\ntype = '{}'", correction.name)));
    }
    cases.extend(
        sinew::presets::names().iter().map(|preset| Case { name: preset.name.into(), text: preset.text.into() }),
    );
    cases
}

/// What came of a case.
#[derive(Debug)]
pub enum Staged {
    /// The GPU makes its frames.
    Here(Box<(Stage, RecipeFile)>),
    /// The processor does, and why.
    Elsewhere(NoPlan),
    /// The character does not have what it names.
    Nowhere,
}

/// The stage of a case.
pub fn staged(rig: &Arc<Rig>, case: &Case) -> Staged {
    let Ok(file) = RecipeFile::parse(&case.text) else { return Staged::Nowhere };
    // Strengths ask for clips; a gain of 1 shows as much.
    let Ok(stage) = Stage::new(rig, &file.recipe().without_strength()) else { return Staged::Nowhere };
    match gpu_support(&stage) {
        Ok(()) => Staged::Here(Box::new((stage, file))),
        Err(why) => Staged::Elsewhere(why),
    }
}

/// What the comparison came to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Frames compared.
    pub frames: usize,
    /// Their vertices.
    pub vertices: usize,
    /// How far positions are apart at most, in sizes.
    pub position: f64,
    /// How far normals are apart at most, of those that the processor is certain of.
    pub normal: f32,
    /// Normals that it is not.
    pub uncertain: usize,
    /// What was farther apart than it may be.
    pub faults: usize,
    /// The first of each frame, a few of them.
    pub told: Vec<String>,
    last: usize,
}

impl Tally {
    fn note(&mut self, is_right: bool, say: impl FnOnce() -> String) {
        if is_right {
            return;
        }
        self.faults += 1;
        if self.told.len() < TOLD && self.last <= self.frames {
            self.last = self.frames + 1;
            self.told.push(say());
        }
    }

    /// Compares a frame; `what` names it.
    pub fn compare(
        &mut self,
        gpu: &Gpu,
        character: &mut GpuCharacter,
        playing: &Playing<'_>,
        time: f64,
        what: &str,
    ) -> Result<(), GpuError> {
        let mut workspace = Workspace::default();
        let made = |level: Level, workspace: &mut Workspace| {
            playing.at(time, workspace).deform(&Cpu { level, pool: None });
            workspace.take_mesh()
        };
        let wanted = made(Level::new(), &mut workspace);
        let other = made(Level::baseline(), &mut workspace);
        let mut found = DeformedMesh::default();
        let mut posed = playing.at(time, &mut workspace);
        let plan = posed.plan(&Cpu::serial())?;
        let in_doubles = !(plan.lines.is_empty() && plan.moves.is_empty());
        let settled: Vec<u32> = plan.settled.iter().map(|point| point.slot).collect();
        character.deform(gpu, &plan)?;
        character.read_back(gpu, &mut found)?;
        self.note(found.origins == wanted.origins, || format!("{what}: origins differ"));
        let rig = playing.stage().rig();
        let made_in_doubles =
            |vertex: u32| in_doubles || settled.binary_search(&rig.point_of_vertex()[vertex as usize]).is_ok();
        let turned = turned_by_rounding(rig, &wanted, made_in_doubles);
        for part in rig.parts() {
            let size = rig.characters()[part.character].size;
            for vertex in part.primitives.iter().flat_map(|primitive| primitive.vertices.clone()) {
                let apart = f64::from(found.positions[vertex].distance(wanted.positions[vertex])) / size;
                self.note(apart <= POSITIONS, || format!("{what}: vertex {vertex} is off by {apart:.1e} of the size"));
                self.position = self.position.max(apart);
                self.vertices += 1;
                if other.normals[vertex].distance(wanted.normals[vertex]).max(turned[vertex]) > CERTAIN {
                    self.uncertain += 1;
                    continue;
                }
                let turned = found.normals[vertex].distance(wanted.normals[vertex]);
                self.note(turned <= NORMALS, || {
                    format!("{what}: the normal of vertex {vertex} is off by {turned:.1e}")
                });
                self.normal = self.normal.max(turned);
                if let (Some(a), Some(b)) = (found.tangents.get(vertex), wanted.tangents.get(vertex)) {
                    let is_certain = other.tangents[vertex].distance(*b) <= CERTAIN;
                    let is_right = !is_certain || a.distance(*b) <= NORMALS;
                    self.note(is_right, || format!("{what}: the tangent of vertex {vertex} is off"));
                }
            }
        }
        self.frames += 1;
        Ok(())
    }
}

/// Per vertex: how far rounding its neighbours turns the faces around it, where they were made in double precision.
fn turned_by_rounding(rig: &Rig, mesh: &DeformedMesh, made_in_doubles: impl Fn(u32) -> bool) -> Vec<f32> {
    let mut turned = vec![0.0f32; mesh.positions.len()];
    for corners in rig.triangles().iter().filter(|corners| corners.iter().any(|&vertex| made_in_doubles(vertex))) {
        let [a, b, c] = corners.map(|vertex| mesh.positions[vertex as usize]);
        let longest = [b - a, c - b, a - c].into_iter().map(Vec3::length).fold(0.0, f32::max);
        let height = (b - a).cross(c - a).length() / longest;
        let farthest = [a, b, c].into_iter().map(|p| p.abs().max_element()).fold(0.0, f32::max);
        let by = farthest * f32::EPSILON / height;
        let by = if by.is_nan() { f32::INFINITY } else { by };
        corners.iter().for_each(|&vertex| turned[vertex as usize] = turned[vertex as usize].max(by));
    }
    turned
}
