//! What bones and skin are, as `sinew inspect --anatomy` writes it.

use crate::load::Scene;
use crate::text::{Align, count, printable, table, wrap};
use serde::Serialize;
use sinew::anatomy::{Firmness, Role, Side};
use sinew::{Anatomy, BoneId};
use std::io::{self, Write};

/// The whole of it. Field names are the JSON keys.
#[derive(Serialize)]
pub struct AnatomyReport<'a> {
    bones: Vec<BoneRow<'a>>,
    pieces: Vec<PieceRow>,
    places: Vec<PlaceRow>,
    skin: Vec<SkinRow>,
}

#[derive(Serialize)]
struct BoneRow<'a> {
    node: usize,
    name: &'a str,
    role: &'static str,
    side: &'static str,
    /// Upper or lower, of arms and legs where that is clear.
    segment: Option<&'static str>,
    /// Soft, firm or rigid.
    firmness: &'static str,
    /// From 0 to 1.
    confidence: f64,
    reason: String,
    #[serde(skip)]
    depth: usize,
}

/// A connected piece of skin, or a mesh that rides on a bone.
#[derive(Serialize)]
struct PieceRow {
    mesh: String,
    material: String,
    /// Node of the bone that moves it most.
    bone: usize,
    /// `null` for the body itself.
    role: Option<&'static str>,
    confidence: f64,
    reason: String,
    /// Whether one bone alone moves it.
    one_bone: bool,
    rider: bool,
    control_points: usize,
    /// Part of the character's surface.
    share: f64,
    /// Pieces it lies on, by their place in this list.
    touches: Vec<usize>,
}

/// A part of the skin that its shape tells, not its bones.
#[derive(Serialize)]
struct PlaceRow {
    role: &'static str,
    side: &'static str,
    confidence: f64,
    reason: String,
    control_points: usize,
}

/// How much of the skin is what.
#[derive(Serialize)]
struct SkinRow {
    role: &'static str,
    firmness: &'static str,
    control_points: usize,
}

fn firmness(role: Role) -> &'static str {
    match role.firmness() {
        Firmness::Soft => "soft",
        Firmness::Firm => "firm",
        Firmness::Rigid => "rigid",
    }
}

impl<'a> AnatomyReport<'a> {
    pub fn new(scene: &'a Scene) -> Self {
        let rig = &scene.rig;
        let skeleton = rig.skeleton();
        let anatomy = Anatomy::of(rig);
        // As a tree is read: each bone before all it carries.
        let way = |bone: BoneId| -> Vec<usize> {
            let mut way: Vec<usize> = skeleton.ancestors(bone).map(|above| skeleton.node(above)).collect();
            way.reverse();
            way
        };
        let mut order: Vec<_> = skeleton.bones().collect();
        order.sort_by_cached_key(|&bone| way(bone));
        let bones = order.into_iter().map(|bone| (skeleton.node(bone), bone));
        let bones = bones.map(|(node, bone)| {
            let finding = anatomy.bone(bone);
            BoneRow {
                node,
                name: skeleton.name(bone),
                role: finding.role.name(),
                side: finding.side.name(),
                segment: finding.segment.map(|segment| segment.name()),
                firmness: firmness(finding.role),
                confidence: finding.confidence,
                reason: finding.reason.clone(),
                depth: skeleton.depth(bone) as usize,
            }
        });
        let pieces = anatomy.pieces().iter().map(|piece| PieceRow {
            mesh: piece.mesh.clone(),
            material: piece.material.clone(),
            bone: skeleton.node(piece.bone),
            role: piece.role.map(Role::name),
            confidence: piece.confidence,
            reason: piece.reason.clone(),
            one_bone: piece.rigid,
            rider: piece.rider,
            control_points: piece.points,
            share: piece.share,
            touches: piece.touches.clone(),
        });
        let places = anatomy.places().iter().map(|place| PlaceRow {
            role: place.role.name(),
            side: place.side.name(),
            confidence: place.confidence,
            reason: place.reason.clone(),
            control_points: place.points.len(),
        });
        let mut points = [0usize; Role::ALL.len()];
        for slot in (0..rig.slots()).filter(|&slot| anatomy.piece_of_point(slot).is_some()) {
            points[anatomy.role_of_point(slot) as usize] += 1;
        }
        let skin = Role::ALL.into_iter().zip(points).filter(|&(_, points)| points > 0);
        let skin =
            skin.map(|(role, points)| SkinRow { role: role.name(), firmness: firmness(role), control_points: points });
        Self { bones: bones.collect(), pieces: pieces.collect(), places: places.collect(), skin: skin.collect() }
    }

    /// For human eyes.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let whole: usize = self.skin.iter().map(|row| row.control_points).sum();
        writeln!(out, "\nSkin")?;
        for row in &self.skin {
            let share = 100.0 * row.control_points as f64 / whole.max(1) as f64;
            writeln!(out, "  {:<11} {:<6} {share:5.1} % of the points", row.role, row.firmness)?;
        }
        let moving: Vec<_> = self.bones.iter().filter(|row| row.role != Role::Helper.name()).collect();
        if !moving.is_empty() {
            writeln!(out, "\nBones")?;
            let sure = |confidence: f64| format!("{:.0} %", 100.0 * confidence);
            let rows: Vec<Vec<String>> = moving
                .iter()
                .map(|row| {
                    let side = if row.side == Side::Middle.name() { "" } else { row.side };
                    let words = [side, row.segment.unwrap_or(""), row.role];
                    let what: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
                    let name = if row.name.is_empty() { "(unnamed)".to_owned() } else { printable(row.name) };
                    let indent = " ".repeat(row.depth.min(16));
                    vec![format!("{indent}{name}"), what.join(" "), sure(row.confidence), printable(&row.reason)]
                })
                .collect();
            let columns =
                [("name", Align::Left), ("is", Align::Left), ("sure", Align::Right), ("because", Align::Left)];
            table(&columns, &rows).into_iter().try_for_each(|line| writeln!(out, "{}", line.trim_end()))?;
        }
        let helpers: Vec<String> =
            self.bones.iter().filter(|row| row.role == Role::Helper.name()).map(|row| printable(row.name)).collect();
        if !helpers.is_empty() {
            let words = format!("{} no skin: {}", count(helpers.len(), "bone moves", "bones move"), helpers.join(", "));
            writeln!(out)?;
            wrap(&words, 2).into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        self.print_places(out)?;
        self.print_pieces(out)
    }

    fn print_places(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.places.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nParts without bones")?;
        let row = |place: &PlaceRow| {
            vec![
                format!("{} {}", place.side, place.role),
                format!("{:.0} %", 100.0 * place.confidence),
                count(place.control_points, "point", "points"),
                place.reason.clone(),
            ]
        };
        let rows: Vec<Vec<String>> = self.places.iter().map(row).collect();
        let columns = [("is", Align::Left), ("sure", Align::Right), ("with", Align::Right), ("because", Align::Left)];
        table(&columns, &rows).into_iter().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
    }

    fn print_pieces(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\nPieces")?;
        let name = |node: usize| self.bones.iter().find(|row| row.node == node).map_or("", |row| row.name);
        let rows: Vec<Vec<String>> = self
            .pieces
            .iter()
            .map(|piece| {
                vec![
                    printable(&piece.mesh),
                    piece.role.unwrap_or("body").to_owned(),
                    format!("{:.1} %", 100.0 * piece.share),
                    if piece.one_bone { "one bone" } else { "several" }.to_owned(),
                    printable(name(piece.bone)),
                    printable(&piece.reason),
                ]
            })
            .collect();
        let columns = [
            ("mesh", Align::Left),
            ("is", Align::Left),
            ("surface", Align::Right),
            ("moved by", Align::Left),
            ("mostly", Align::Left),
            ("because", Align::Left),
        ];
        table(&columns, &rows).into_iter().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
    }
}
