//! Bases that place the skin point by point in f64, bound to a rig: [`super::incremental_rotation`],
//! [`super::centres_of_rotation`] and [`super::stretchable_twistable`].
//!
//! They work on the welded surface in bind space, as corrections do; what is not skin rides on its bones as in every
//! base. Points are placed independently of each other, and what looks at neighbours runs on one thread: the same bits at
//! any thread count.

use super::evenly_carried::EvenlyCarried;
use crate::attach::Gap;
use crate::correct::surface::{Surface, Surfaces};
use crate::graph::LineMotion;
use crate::kinodynamic::FreeFrame;
use crate::memory::Memory;
use crate::rig::Rig;
use crate::simd::{LANES, Points};
use glam::{DAffine3, DVec3};
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

/// A base that places points one by one, bound to the skin of one character.
pub(crate) trait Placing: fmt::Debug + Send + Sync {
    /// The bones of a frame, as the base wants them.
    type Posed: Default + Send + Sync + 'static;

    /// Makes them ready to place any point, in memory that is reused; per palette entry, the transform from bind space.
    fn pose(&self, from_bind: &[DAffine3], posed: &mut Self::Posed);

    /// Where a node of the surface goes from `bind`; anything but a finite place is linear blending's.
    fn place(&self, posed: &Self::Posed, node: usize, bind: DVec3, influences: &[(u32, f64)]) -> DVec3;

    /// Told where all nodes go, may put some elsewhere.
    fn finish(&self, _posed: &mut Self::Posed, _bind: &[DVec3], _nodes: &mut [DVec3]) {}

    /// What carries its nodes, for one that blends what lines do ([`Placing::tell`]).
    fn evenly(&self) -> Option<&EvenlyCarried> {
        None
    }

    /// Its lines as plain data.
    fn tell(&self, _posed: &Self::Posed, _out: &mut Vec<LineMotion>) {}

    /// The widest gap of its attachments, where it has any.
    fn gap(&self) -> Option<Gap> {
        None
    }
}

/// The same of any type.
trait AnyPlacing: fmt::Debug + Send + Sync {
    /// Places all nodes of a skin.
    fn carry(&self, skin: &Skin, pool: Option<&rayon::ThreadPool>, scratch: &mut PointwiseScratch);
    fn evenly(&self) -> Option<&EvenlyCarried>;
    fn tell(&self, scratch: &mut PointwiseScratch, out: &mut Vec<LineMotion>);
    fn gap(&self) -> Option<Gap>;
}

/// One of these bases, bound to a rig.
#[derive(Clone, Debug)]
pub struct Pointwise {
    /// Per character; none where there are no faces or no bones.
    skins: Vec<Option<Skin>>,
}

#[derive(Clone, Debug)]
struct Skin {
    surface: Arc<Surface>,
    /// Nodes that ride on a bone.
    is_rider: Vec<bool>,
    placing: Arc<dyn AnyPlacing>,
}

/// Memory of a frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointwiseScratch {
    from_bind: Vec<DAffine3>,
    bind: Vec<DVec3>,
    nodes: Vec<DVec3>,
    posed: Memory,
}

impl Pointwise {
    /// Binds a base to the surface of every character; one that cannot be bound follows its bones linearly.
    pub(crate) fn new<P: Placing + 'static>(rig: &Rig, bind: impl Fn(&Surface) -> Option<P>) -> Self {
        let skin = |character: usize| {
            let surface = Arc::clone(rig.kept::<Surfaces>().of(character)?);
            let placing = Arc::new(bind(&surface)?);
            let rides = |slots: &[u32]| slots.iter().any(|&slot| rig.is_rider(slot as usize));
            Some(Skin { is_rider: surface.members.iter().map(rides).collect(), surface, placing })
        };
        Self { skins: (0..rig.characters().len()).map(skin).collect() }
    }

    /// The widest gaps of the attachments, by character; none for bases without.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> {
        self.skins.iter().flatten().filter_map(|skin| skin.placing.gap())
    }

    /// Whether all its skins are carried by lines, as plain data has them.
    pub(crate) fn is_even(&self) -> bool {
        self.skins.iter().flatten().all(|skin| skin.placing.evenly().is_some())
    }

    /// What carries the nodes of a character.
    pub(crate) fn evenly(&self, character: usize) -> Option<&EvenlyCarried> {
        self.skins.get(character)?.as_ref()?.placing.evenly()
    }

    /// The lines of a frame, and nodes at rest in bind space where morph targets are at work.
    pub(crate) fn tell(
        &self,
        frame: &FreeFrame<'_>,
        morphed: bool,
        scratch: &mut PointwiseScratch,
        (lines, bind): (&mut Vec<LineMotion>, &mut Vec<[f32; 3]>),
    ) {
        lines.clear();
        bind.clear();
        for surface in frame.rig.kept::<Surfaces>().iter() {
            if morphed {
                surface.bind_points(frame.rest, &mut scratch.bind);
                bind.extend(scratch.bind.iter().map(|p| p.as_vec3().to_array()));
            }
            let Some(skin) = &self.skins[surface.character] else { continue };
            let entries = 0..frame.world_from_rest.len() as u32;
            scratch.from_bind.clear();
            scratch.from_bind.extend(entries.map(|entry| surface.world_from_bind(entry, frame.world_from_rest)));
            skin.placing.tell(scratch, lines);
        }
    }

    /// Where the frame has all points, relative to their characters' origins.
    pub(crate) fn carry(
        &self,
        frame: &FreeFrame<'_>,
        pool: Option<&rayon::ThreadPool>,
        scratch: &mut PointwiseScratch,
        out: &mut Points,
    ) {
        let rig = frame.rig;
        out.resize(rig.rows().len());
        for slot in 0..rig.rows().len() * LANES {
            let (row, lane) = (&rig.rows()[slot / LANES], slot % LANES);
            if self.skins[row.character as usize].is_none() {
                let rest = frame.rest.get(slot).as_dvec3();
                let follow = |i: usize| {
                    let weight = f64::from(rig.skin_weights()[i][lane]);
                    frame.world_from_rest[rig.skin_entries()[i] as usize].transform_point3(rest) * weight
                };
                let p: DVec3 = (row.skin.start as usize..row.skin.end as usize).map(follow).sum();
                out.set(slot, p.as_vec3());
            }
        }
        for skin in self.skins.iter().flatten() {
            let surface = &skin.surface;
            let entries = 0..frame.world_from_rest.len() as u32;
            scratch.from_bind.clear();
            scratch.from_bind.extend(entries.map(|entry| surface.world_from_bind(entry, frame.world_from_rest)));
            surface.bind_points(frame.rest, &mut scratch.bind);
            skin.placing.carry(skin, pool, scratch);
            for (slots, p) in surface.members.iter().zip(&scratch.nodes) {
                slots.iter().for_each(|&slot| out.set(slot as usize, p.as_vec3()));
            }
            // Lanes that are not in use repeat the last point.
            for row in rig.characters()[skin.surface.character].rows.clone() {
                let filled = rig.rows()[row].filled as usize;
                for lane in filled.max(1)..LANES {
                    let last = out.get(row * LANES + filled.max(1) - 1);
                    out.set(row * LANES + lane, last);
                }
            }
        }
    }
}

impl<P: Placing> AnyPlacing for P {
    fn carry(&self, skin: &Skin, pool: Option<&rayon::ThreadPool>, scratch: &mut PointwiseScratch) {
        let PointwiseScratch { from_bind, bind, nodes, posed } = scratch;
        let (surface, from_bind, bind) = (&skin.surface, &from_bind[..], &bind[..]);
        nodes.resize(surface.nodes(), DVec3::ZERO);
        posed.with(|posed: &mut P::Posed| {
            self.pose(from_bind, posed);
            let place = |node: usize| {
                let blend = || -> DVec3 {
                    let of = |&(entry, w): &(u32, f64)| from_bind[entry as usize].transform_point3(bind[node]) * w;
                    surface.influences_of(node).iter().map(of).sum()
                };
                if skin.is_rider[node] {
                    return blend();
                }
                let p = self.place(posed, node, bind[node], surface.influences_of(node));
                if p.is_finite() { p } else { blend() }
            };
            match pool {
                None => nodes.iter_mut().enumerate().for_each(|(node, p)| *p = place(node)),
                Some(pool) => {
                    pool.install(|| nodes.par_iter_mut().enumerate().for_each(|(node, p)| *p = place(node)));
                }
            }
            self.finish(posed, bind, nodes);
        });
    }

    fn evenly(&self) -> Option<&EvenlyCarried> {
        Placing::evenly(self)
    }

    fn tell(&self, scratch: &mut PointwiseScratch, out: &mut Vec<LineMotion>) {
        let PointwiseScratch { from_bind, posed, .. } = scratch;
        posed.with(|posed: &mut P::Posed| {
            self.pose(from_bind, posed);
            Placing::tell(self, posed, out);
        });
    }

    fn gap(&self) -> Option<Gap> {
        Placing::gap(self)
    }
}
