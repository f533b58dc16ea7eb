//! The gallery of expressive skinning, a sheet per subject:
//! `cargo run --release -p sinew_render --example expressive -- FOLDER`.

use glam::{DQuat, DVec3};
use sinew::base::centres_of_rotation::CENTRES_OF_ROTATION;
use sinew::base::incremental_rotation::INCREMENTAL_ROTATION;
use sinew::base::stretchable_twistable::STRETCHABLE_TWISTABLE;
use sinew::base::{DQS, RIGID};
use sinew::correct::surface_edit::Profile;
use sinew::recipe::{BaseSpec, CorrectionSpec, Drive, EditShape, EditSpec, KeyCurve};
use sinew::strokes::posing::Posing;
use sinew::strokes::{Fit, Reach, Sample, Selection, Stroke, pose_by_offset};
use sinew::*;
use sinew_author::{EditStage, Solve};
use sinew_render::*;
use std::path::Path;
use std::sync::Arc;

type Error = Box<dyn std::error::Error>;

const TUBE: &str = "tube:vertices=2400,bones=2";

/// A character with a pose of its own.
struct Subject {
    raw: RawRig,
    rig: Arc<Rig>,
    pose: Pose,
}

impl Subject {
    fn new(spec: &str) -> Result<Self, Error> {
        Self::of(sinew_zoo::build(spec)?.raw)
    }

    fn of(raw: RawRig) -> Result<Self, Error> {
        let rig = Arc::new(Rig::build(&raw)?.0);
        Ok(Self { pose: rig.rest_pose(), raw, rig })
    }

    fn bone(&self, name: &str) -> Result<BoneId, Error> {
        let skeleton = self.rig.skeleton();
        Ok(skeleton.bones().find(|&bone| skeleton.name(bone) == name).ok_or("no such bone")?)
    }

    fn changed(mut self, bone: &str, change: impl Fn(&mut Trs)) -> Result<Self, Error> {
        let bone = self.bone(bone)?;
        if let LocalTransform::Trs(trs) = &mut self.pose.locals[bone.index()] {
            change(trs);
        }
        Ok(self)
    }

    fn turned(self, bone: &str, turn: DQuat) -> Result<Self, Error> {
        self.changed(bone, |trs| trs.rotation *= turn)
    }

    fn world(&self) -> WorldPose {
        let mut world = WorldPose::default();
        world.compose(self.rig.skeleton(), &self.pose);
        world
    }

    fn evaluate(&self, recipe: &Recipe, time: f64) -> Result<DeformedMesh, Error> {
        let stage = Stage::new(&self.rig, recipe)?;
        let mut workspace = Workspace::default();
        stage.posed(&self.pose, &stage.at_rest(), time, &mut workspace)?.deform(&Cpu::serial());
        Ok(workspace.take_mesh())
    }
}

/// How a cell is drawn.
struct Shot<'a> {
    view: View,
    size: Size,
    /// Vertex values from 0 to 1 to colour by.
    heat: Option<&'a [f32]>,
    lines: Vec<Line>,
}

impl Shot<'_> {
    fn new(view: View) -> Result<Self, Error> {
        Ok(Self { view, size: Size::new(210, 230).ok_or("size")?, heat: None, lines: Vec::new() })
    }

    fn draw(self, subject: &Subject, deformed: &DeformedMesh) -> Image {
        let colors = self.heat.map(|values| Scale::fit([0.0, 1.0], Palette::default()).colors(values));
        let mut mesh = Mesh::new(&deformed.positions, &deformed.normals, subject.rig.triangles());
        mesh.transform = glam::DAffine3::from_translation(deformed.origins[0]);
        mesh.material.base_color = subject.raw.meshes[0].primitives[0].color;
        if let Some(colors) = &colors {
            mesh.material = Material { base_color: [1.0; 4], finish: Finish::Chart, ..mesh.material };
            mesh.colors = Some(colors);
        }
        mesh.wire = Some(Wire { opacity: 0.35, ..Wire::default() });
        let mut framing = Framing::new(self.view, FramingLens::default(), self.size);
        (0..deformed.positions.len()).for_each(|v| framing.include(deformed.world_position(0, v)));
        let scene = Scene { meshes: vec![mesh], lines: self.lines, ..Scene::default() };
        draw(&scene, &framing.camera(), self.size, Antialias::Eight, &Look::default())
    }
}

fn springs(values: &[(&str, f64)]) -> Result<CorrectionSpec, Error> {
    let mut spec = CorrectionSpec::new("springs").ok_or("no springs")?;
    for (name, value) in values {
        spec.values.set(name, *value).map_err(|_| "a value out of range")?;
    }
    Ok(spec)
}

fn on(base: BaseSpec, corrections: Vec<CorrectionSpec>) -> Recipe {
    Recipe { base, corrections, ..Recipe::default() }
}

fn irs(influence: f64, keep_distance: bool) -> Result<BaseSpec, Error> {
    let mut base = BaseSpec::of(&INCREMENTAL_ROTATION);
    for (name, value) in [("influence", influence), ("keep_distance", f64::from(u8::from(keep_distance)))] {
        base.values.set(name, value).map_err(|_| "a value out of range")?;
    }
    Ok(base)
}

fn stroke(points: &[DVec3]) -> Result<Stroke, Error> {
    let samples: Vec<Sample> = points.iter().map(|&position| Sample { position, time_secs: 0.0 }).collect();
    Ok(Stroke::new(&samples)?)
}

fn red(points: impl IntoIterator<Item = DVec3>) -> Line {
    Line::new(points, [0.9, 0.05, 0.05, 1.0], 3.0, 0.5)
}

fn bend(degrees: f64) -> DQuat {
    DQuat::from_rotation_z(-degrees.to_radians())
}

/// A sheet of pictures with words above and beside them.
struct Board<'a> {
    file: &'a str,
    title: &'a str,
    columns: Vec<String>,
    rows: Vec<String>,
    cells: Vec<Vec<Image>>,
}

impl<'a> Board<'a> {
    fn new(file: &'a str, title: &'a str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|word| (*word).to_owned()).collect();
        Self { file, title, columns, rows: Vec::new(), cells: Vec::new() }
    }

    fn row(&mut self, name: &str, cells: Vec<Image>) {
        self.rows.push(name.to_owned());
        self.cells.push(cells);
    }

    fn save(&self, folder: &Path) -> Result<(), Error> {
        let sheet = Sheet { title: self.title, columns: &self.columns, rows: &self.rows, cells: &self.cells };
        let file = std::fs::File::create(folder.join(self.file))?;
        Ok(encode::write_png(std::io::BufWriter::new(file), &sheet.compose()?)?)
    }
}

fn cell(subject: &Subject, recipe: &Recipe, view: View) -> Result<Image, Error> {
    Ok(Shot::new(view)?.draw(subject, &subject.evaluate(recipe, 0.0)?))
}

/// A cell of a large sheet.
fn small_cell(subject: &Subject, recipe: &Recipe) -> Result<Image, Error> {
    let size = Size::new(150, 165).ok_or("size")?;
    Ok(Shot { size, ..Shot::new(View::Front)? }.draw(subject, &subject.evaluate(recipe, 0.0)?))
}

/// A pointed bend, and how the length correction rounds it.
fn length_correction(folder: &Path) -> Result<(), Error> {
    let subject = Subject::new(TUBE)?.turned("tube.2", bend(110.0))?;
    let mut board =
        Board::new("13-length-correction.png", "incremental rotation, 110°", &["lengths left", "distance kept"]);
    let cells = [irs(0.5, false), irs(0.5, true)].map(|base| cell(&subject, &on(base?, vec![]), View::Front));
    board.row("", cells.into_iter().collect::<Result<_, _>>()?);
    board.save(folder)
}

/// Bones that change their length, squashed ones, and scale vectors that grow.
fn incremental_rotation(folder: &Path) -> Result<(), Error> {
    let plain = Subject::new(TUBE)?.turned("tube.2", bend(60.0))?;
    let long = Subject::new(TUBE)?.changed("tube.2", |trs| {
        trs.rotation *= bend(60.0);
        trs.translation *= 1.5;
    })?;
    let squashed = Subject::new(TUBE)?.changed("tube.2", |trs| {
        trs.rotation *= bend(60.0);
        trs.scale = DVec3::new(1.4, 0.6, 1.4);
    })?;
    let bulged = Recipe {
        edits: vec![EditSpec { amount: KeyCurve::constant(0.6), ..EditSpec::new(EditShape::Radial(Profile::Bulge)) }],
        ..on(irs(0.5, true)?, vec![])
    };
    let base = on(irs(0.5, true)?, vec![]);
    let columns = ["as it is", "longer bone", "squashed bone", "longer scale vectors"];
    let mut board = Board::new("14-incremental-rotation.png", "incremental rotation", &columns);
    board.row(
        "",
        vec![
            cell(&plain, &base, View::Front)?,
            cell(&long, &base, View::Front)?,
            cell(&squashed, &base, View::Front)?,
            cell(&plain, &bulged, View::Front)?,
        ],
    );
    board.save(folder)
}

/// A right angle by incremental rotation and by ARAP on scale vectors.
fn right_angle(folder: &Path) -> Result<(), Error> {
    let subject = Subject::new(TUBE)?.turned("tube.2", bend(90.0))?;
    let stage = EditStage::new(&subject.rig, 0).ok_or("no surface")?;
    let by_vectors = |keep: bool| -> Result<Image, Error> {
        let mut mesh = subject.evaluate(&Recipe::default(), 0.0)?;
        let nodes = stage.skin_by_scale_vectors(&subject.rig, &subject.world(), keep)?;
        stage.skin().put(&subject.rig, &nodes, &mut mesh);
        Ok(Shot::new(View::Front)?.draw(&subject, &mesh))
    };
    let columns = ["rigid", "incremental rotation", "ARAP on scale vectors", "lengths kept"];
    let mut board = Board::new("16-right-angle.png", "a right angle", &columns);
    board.row(
        "",
        vec![
            cell(&subject, &on(irs(0.0, false)?, vec![]), View::Front)?,
            cell(&subject, &on(irs(0.5, true)?, vec![]), View::Front)?,
            by_vectors(false)?,
            by_vectors(true)?,
        ],
    );
    board.save(folder)
}

/// What each spring adds.
fn one_spring_after_the_other(folder: &Path) -> Result<(), Error> {
    let subject = Subject::new(TUBE)?.turned("tube.2", bend(90.0))?;
    let only = |surface: f64, bone: f64| {
        let spec = springs(&[("surface", surface), ("bone", bone), ("iterations", 400.0)])?;
        cell(&subject, &on(BaseSpec::of(&RIGID), vec![spec]), View::Front)
    };
    let columns = ["rigid", "bone", "+ surface", "surface × 10"];
    let mut board = Board::new("18-springs.png", "springs, one after the other", &columns);
    board.row(
        "",
        vec![
            cell(&subject, &on(BaseSpec::of(&RIGID), vec![]), View::Front)?,
            only(0.0, 1.0)?,
            only(1.0, 1.0)?,
            only(10.0, 1.0)?,
        ],
    );
    board.save(folder)
}

/// All bases, bent and twisted.
fn methods(folder: &Path) -> Result<(), Error> {
    let converged = springs(&[("iterations", 400.0)])?;
    let recipes = [
        ("linear", on(BaseSpec::default(), vec![])),
        ("dual quaternions", on(BaseSpec::of(&DQS), vec![])),
        ("incremental", on(irs(0.5, true)?, vec![])),
        ("centres", on(BaseSpec::of(&CENTRES_OF_ROTATION), vec![])),
        ("twistable", on(BaseSpec::of(&STRETCHABLE_TWISTABLE), vec![])),
        ("springs", on(BaseSpec::of(&DQS), vec![converged])),
    ];
    let columns: Vec<&str> = recipes.iter().map(|recipe| recipe.0).collect();
    let mut board = Board::new("19-methods.png", "a bend of 90° and a twist of 135°", &columns);
    for (name, turn) in [("bend", bend(90.0)), ("twist", DQuat::from_rotation_y(135f64.to_radians()))] {
        let subject = Subject::new(TUBE)?.turned("tube.2", turn)?;
        let cells = recipes.iter().map(|(_, recipe)| small_cell(&subject, recipe));
        board.row(name, cells.collect::<Result<_, _>>()?);
    }
    board.save(folder)
}

/// Stiffness and iterations.
fn stiffness_and_iterations(folder: &Path) -> Result<(), Error> {
    let settings = [
        ("k 0.25, 10", 0.25, 10.0),
        ("k 1, 10", 1.0, 10.0),
        ("k 1, 50", 1.0, 50.0),
        ("k 1, 400", 1.0, 400.0),
        ("k 10, 400", 10.0, 400.0),
    ];
    let columns: Vec<&str> = settings.iter().map(|setting| setting.0).collect();
    let mut board = Board::new("21-stiffness.png", "surface k and plain iterations, from linear blending", &columns);
    for (name, turn) in [("swing", bend(90.0)), ("twist", DQuat::from_rotation_y(135f64.to_radians()))] {
        let subject = Subject::new(TUBE)?.turned("tube.2", turn)?;
        let draw = |&(_, surface, iterations): &(&str, f64, f64)| {
            let values = [("surface", surface), ("iterations", iterations), ("tolerance", 0.0), ("scheme", 1.0)];
            small_cell(&subject, &on(BaseSpec::default(), vec![springs(&values)?]))
        };
        board.row(name, settings.iter().map(draw).collect::<Result<_, _>>()?);
    }
    board.save(folder)
}

/// Easing functions along a bone.
fn easing(folder: &Path) -> Result<(), Error> {
    let subject = Subject::new("tube:vertices=2400,bones=1")?;
    let columns: Vec<&str> = Profile::NAMES.iter().map(|profile| profile.0).collect();
    let mut board = Board::new("22-easing.png", "growth along a bone", &columns);
    let draw = |&(_, profile): &(&str, Profile)| {
        let edit = EditSpec { amount: KeyCurve::constant(0.8), ..EditSpec::new(EditShape::Radial(profile)) };
        cell(&subject, &Recipe { edits: vec![edit], ..Recipe::default() }, View::Front)
    };
    board.row("", Profile::NAMES.iter().map(draw).collect::<Result<_, _>>()?);
    board.save(folder)
}

/// A stroke on the skin, its region, the edit put there and drawn there by springs, and the edit in another pose.
fn drawn_on_the_skin(folder: &Path) -> Result<(), Error> {
    let bare = Subject::new("calf")?;
    let stage = EditStage::new(&bare.rig, 0).ok_or("no surface")?;
    let mesh = bare.evaluate(&Recipe::default(), 0.0)?;
    let before = stage.skin().points(&bare.rig, &mesh);
    // Along the back: the highest points between the hips and the shoulders.
    let (low, high) = before.iter().fold((DVec3::MAX, DVec3::MIN), |(l, h), p| (l.min(*p), h.max(*p)));
    let (middle, sides) = (0.5 * (low + high), high - low);
    let along = |share: f64| {
        let z = middle.z + share * sides.z;
        let near = before.iter().filter(|p| (p.z - z).abs() < 0.03 * sides.z && p.x.abs() < 0.1 * sides.x);
        near.copied().max_by(|a, b| a.y.total_cmp(&b.y)).unwrap_or(middle)
    };
    let drawn: Vec<DVec3> = [-0.25, -0.12, 0.0].map(along).to_vec();
    let lifted: Vec<DVec3> = drawn.iter().map(|p| *p + DVec3::Y * (0.1 * sides.y)).collect();
    let (from, to) = (stroke(&drawn)?, stroke(&lifted)?);
    let world = bare.world();
    let pulled = stage.pull(&world, &bare.rig, &before, [&from, &to], Reach::Rings(4), Solve::Arap(20))?;
    let changes = stage.encode(&world, &bare.rig, &before, &pulled.points);
    let mut raw = bare.raw.clone();
    let maps = stage.maps(&bare.rig, &changes, &pulled.inside);
    for (part, mesh) in bare.rig.parts().iter().zip(&mut raw.meshes) {
        for (primitive, raw) in part.primitives.iter().zip(&mut mesh.primitives) {
            for (ending, values) in &maps {
                raw.maps.push((format!("hump{ending}"), values[primitive.vertices.clone()].to_vec()));
            }
        }
    }
    let subject = Subject::of(raw.clone())?;
    let hump = |drive| EditSpec { drive, ..EditSpec::new(EditShape::Shape(vec![(0.0, "hump".to_owned())])) };
    let direct = Recipe { edits: vec![hump(Drive::Direct)], ..Recipe::default() };
    let sprung = Recipe {
        edits: vec![hump(Drive::Springs)],
        ..on(BaseSpec::default(), vec![springs(&[("iterations", 200.0)])?])
    };
    let mut turned = Subject::of(raw)?;
    let clips = sinew_zoo::build("calf")?.clips;
    let clip = clips.last().ok_or("no clip")?;
    let settings = MotionSettings::default();
    let motion = Motion::new(turned.rig.puppet(), clip, &settings, &[])?;
    let (start, end) = clip.span().ok_or("no keys")?;
    motion.pose(start + 0.25 * (end - start), &mut turned.pose);
    let view = View::Side;
    let mut first = Shot::new(view)?;
    first.lines = vec![red(drawn.iter().copied())];
    let inside = &maps[0].1;
    let mut region = Shot { heat: Some(inside), ..Shot::new(view)? };
    region.lines = vec![red(drawn)];
    let mut offset = Shot::new(view)?;
    offset.lines = vec![red(lifted)];
    let columns = ["drawn", "region", "direct", "by springs", "another pose"];
    let mut board = Board::new("24-drawn-on-the-skin.png", "an edit drawn on the skin", &columns);
    board.row(
        "",
        vec![
            first.draw(&bare, &mesh),
            region.draw(&bare, &mesh),
            offset.draw(&subject, &subject.evaluate(&direct, 0.0)?),
            cell(&subject, &sprung, view)?,
            cell(&turned, &direct, view)?,
        ],
    );
    board.save(folder)
}

/// A wave along the tube.
fn wave(folder: &Path) -> Result<(), Error> {
    let subject = Subject::new("tube:vertices=6000,bones=4")?;
    let shape = EditShape::Wave {
        along: vec![DVec3::new(0.0, 0.1, 0.0), DVec3::new(0.0, 1.9, 0.0)],
        reach: 0.25,
        crests: 2.5,
        frequency_hz: 1.0,
    };
    let edit = EditSpec { amount: KeyCurve::constant(0.7), ..EditSpec::new(shape) };
    let recipe = Recipe { edits: vec![edit], ..Recipe::default() };
    let times = [0.0, 0.2, 0.4, 0.6, 0.8];
    let columns: Vec<String> = times.iter().map(|time| format!("{time} s")).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut board = Board::new("26-wave.png", "a wave that travels along a stroke", &columns);
    let draw = |&time: &f64| Ok::<_, Error>(Shot::new(View::Front)?.draw(&subject, &subject.evaluate(&recipe, time)?));
    board.row("", times.iter().map(draw).collect::<Result<_, _>>()?);
    board.save(folder)
}

/// Bones chosen by a baseline and posed by an offset.
fn posed_by_strokes(folder: &Path) -> Result<(), Error> {
    let mut subject = Subject::new("tube:vertices=3000,bones=10")?;
    let baseline = [DVec3::ZERO, DVec3::Y * 2.0];
    let arcs = [
        (
            "an arc",
            (0..=20).map(|i| f64::from(i) / 20.0 * 2.0).map(|a| DVec3::new(1.0 - a.cos(), a.sin(), 0.0)).collect(),
        ),
        (
            "an S",
            (0..=20).map(|i| f64::from(i) / 10.0).map(|y| DVec3::new(0.35 * (3.0 * y).sin(), 0.85 * y, 0.0)).collect(),
        ),
        (
            "a hook",
            vec![
                DVec3::ZERO,
                DVec3::Y,
                DVec3::new(0.3, 1.45, 0.0),
                DVec3::new(0.75, 1.3, 0.0),
                DVec3::new(0.8, 0.8, 0.0),
            ],
        ),
    ];
    let rest = subject.rig.rest_pose();
    let mut shot = Shot::new(View::Front)?;
    shot.lines = vec![red(baseline)];
    let mut cells = vec![shot.draw(&subject, &subject.evaluate(&Recipe::default(), 0.0)?)];
    let mut columns = vec!["baseline"];
    for (name, points) in &arcs {
        let points: &Vec<DVec3> = points;
        let strokes = [stroke(&baseline)?, stroke(points)?];
        let rig = &subject.rig;
        let joints = rig.palette().iter().map(|entry| entry.bone);
        subject.pose = rest.clone();
        let selection = Selection::by_baseline(&subject.world(), joints, &strokes[0], 0.1);
        let posing = Posing { up: DVec3::Z, stretch: false, fit: Fit::Offset, is_free: &|bone| rig.is_root(bone) };
        subject.pose = pose_by_offset(rig.skeleton(), &rest, &selection, [&strokes[0], &strokes[1]], &posing);
        let mut shot = Shot::new(View::Front)?;
        shot.lines = vec![red((0..=100).map(|i| strokes[1].at(f64::from(i) / 100.0)))];
        cells.push(shot.draw(&subject, &subject.evaluate(&on(irs(0.5, true)?, vec![]), 0.0)?));
        columns.push(name);
    }
    let mut board = Board::new("29-posed-by-strokes.png", "bones follow a stroke", &columns);
    board.row("", cells);
    board.save(folder)
}

fn main() -> Result<(), Error> {
    let folder = std::env::args().nth(1).ok_or("name a folder to write to")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let boards = [
        length_correction,
        incremental_rotation,
        right_angle,
        one_spring_after_the_other,
        methods,
        stiffness_and_iterations,
        easing,
        drawn_on_the_skin,
        wave,
        posed_by_strokes,
    ];
    boards.iter().try_for_each(|board| board(folder))
}
