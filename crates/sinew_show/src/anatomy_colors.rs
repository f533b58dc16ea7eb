//! The colours of parts of a body: firm parts blue to violet, soft ones yellow to red, stiff ones green, black, grey
//! and white. The three families, and neighbours within each, differ in lightness, so that they are told apart without
//! telling red from green.

use sinew::anatomy::Role;
use sinew::{Anatomy, Rig};
use sinew_render::linear_rgb;

/// Colours of all vertices, and what they stand for.
#[derive(Clone, Debug)]
pub struct AnatomyColors {
    /// Linear RGBA.
    pub of_vertex: Vec<[f32; 4]>,
    /// Roles the skin has.
    pub key: Vec<([u8; 3], &'static str)>,
}

impl AnatomyColors {
    /// Those of a rig.
    pub fn new(rig: &Rig) -> Self {
        let anatomy = Anatomy::of(rig);
        let roles: Vec<Role> = rig.point_of_vertex().iter().map(|&slot| anatomy.role_of_point(slot as usize)).collect();
        let linear = |role: &Role| {
            let [r, g, b] = linear_rgb(color(*role));
            [r, g, b, 1.0]
        };
        let present = Role::ALL.into_iter().filter(|role| roles.contains(role));
        Self {
            of_vertex: roles.iter().map(linear).collect(),
            key: present.map(|role| (color(role), role.name())).collect(),
        }
    }
}

fn color(role: Role) -> [u8; 3] {
    match role {
        Role::Spine => [0x44, 0x77, 0xaa],
        Role::Neck => [0x66, 0xaa, 0xcc],
        Role::Head => [0x99, 0xcc, 0xee],
        Role::Jaw => [0xcc, 0xdd, 0xff],
        Role::Arm => [0x44, 0x33, 0x99],
        Role::Hand => [0x99, 0x88, 0xdd],
        Role::Leg => [0x22, 0x44, 0x77],
        Role::Foot => [0x55, 0xbb, 0xbb],
        Role::Tongue => [0xbb, 0x33, 0x22],
        Role::Ear => [0xee, 0x66, 0x77],
        Role::Hair => [0xaa, 0x44, 0x99],
        Role::Tail => [0xee, 0x77, 0x33],
        Role::Wing => [0xdd, 0xcc, 0x88],
        Role::Fin => [0xaa, 0x99, 0x33],
        Role::Cloth => [0xff, 0xdd, 0x44],
        Role::Flesh => [0xff, 0xbb, 0xaa],
        Role::Teeth => [0xff, 0xff, 0xff],
        Role::Eye => [0x10, 0x10, 0x10],
        Role::Horn => [0x55, 0x44, 0x33],
        Role::Prop => [0x11, 0x66, 0x33],
        Role::Mechanical => [0x66, 0x70, 0x78],
        Role::Helper => [0x99, 0x99, 0x99],
        Role::Unknown => [0xcc, 0xcc, 0xcc],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_a_colour_of_its_own() {
        for (i, a) in Role::ALL.into_iter().enumerate() {
            assert!(Role::ALL[i + 1..].iter().all(|&b| color(a) != color(b)), "{a}");
        }
    }
}
