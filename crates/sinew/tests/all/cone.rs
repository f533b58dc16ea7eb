//! The cone fit against cones that are known.

use glam::{DAffine3, DQuat, DVec3};
use sinew::Rig;
use sinew::cone::{Cone, ConeError};
use sinew::maps::{PointMap, RestSurface};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    fn direction(&mut self) -> DVec3 {
        let (z, turn) = (self.between(-1.0, 1.0), self.between(0.0, TAU));
        let r = (1.0 - z * z).sqrt();
        DVec3::new(r * turn.cos(), r * turn.sin(), z)
    }

    fn place(&mut self) -> DAffine3 {
        let turn = DQuat::from_axis_angle(self.direction(), self.between(0.0, PI));
        let shift = self.direction() * self.between(0.0, 5.0);
        DAffine3::from_rotation_translation(turn, shift)
    }
}

#[derive(Default, Clone)]
struct Samples {
    points: Vec<DVec3>,
    normals: Vec<DVec3>,
    weights: Vec<f64>,
}

impl Samples {
    /// Of the cone with its apex at the origin and its axis up, at distances `from..to` from the apex along the surface,
    /// over `turn` radians.
    fn of_cone(random: &mut Random, half_angle: f64, from: f64, to: f64, turn: f64, count: usize) -> Self {
        let mut samples = Self::default();
        let (sin, cos) = half_angle.sin_cos();
        for _ in 0..count {
            let (s, angle) = (random.between(from, to), random.between(0.0, turn));
            let radial = DVec3::new(angle.cos(), 0.0, angle.sin());
            samples.points.push(radial * (s * sin) - DVec3::Y * (s * cos));
            samples.normals.push(radial * cos + DVec3::Y * sin);
            samples.weights.push(random.between(0.2, 1.0));
        }
        samples
    }

    fn moved(&self, place: DAffine3, scale: f64) -> Self {
        Self {
            points: self.points.iter().map(|&p| place.transform_point3(p) * scale).collect(),
            normals: self.normals.iter().map(|&n| place.transform_vector3(n)).collect(),
            weights: self.weights.clone(),
        }
    }

    fn fit(&self) -> Result<sinew::cone::ConeFit, ConeError> {
        Cone::fit(&self.points, &self.normals, &self.weights)
    }
}

#[test]
fn exact_cones_are_found_again() {
    let mut random = Random(1);
    for case in 0..600 {
        let half_angle = random.between(0.03, FRAC_PI_2 - 0.03);
        let from = random.between(0.0, 0.8);
        let turn = if case % 3 == 0 { random.between(1.5, 3.0) } else { TAU };
        let scale = [0.01, 1.0, 100.0][case % 3];
        let samples = Samples::of_cone(&mut random, half_angle, from, 1.0, turn, 150);
        let place = random.place();
        let fit = samples.moved(place, scale).fit().unwrap_or_else(|error| panic!("case {case}: {error}"));
        let axis = place.transform_vector3(DVec3::Y);
        let apex = place.transform_point3(DVec3::ZERO) * scale;
        let says = format!("case {case}, β {half_angle}, from {from}, turn {turn}: {fit:?}");
        assert!((fit.cone.half_angle() - half_angle).abs() < 1e-6, "{says}");
        assert!(fit.cone.axis().distance(axis) < 1e-6, "{says}");
        assert!(fit.cone.apex().distance(apex) < 1e-6 * scale, "{says}");
        assert!(fit.rms < 1e-7 && fit.largest < 1e-6, "{says}");
        let radius = from * half_angle.sin() * scale;
        assert!(fit.cone.base_radius() >= radius * (1.0 - 1e-6), "{says}");
        assert!(fit.cone.base_radius() < radius + 0.1 * scale * half_angle.sin(), "{says}");
    }
}

#[test]
fn cylinders_are_cones_with_a_far_apex() {
    let mut random = Random(2);
    for half_angle in [0.0, 1e-8, 1e-5, 1e-3] {
        for turn in [TAU, 2.0] {
            let mut samples = Samples::default();
            for _ in 0..300 {
                let (h, angle) = (random.between(-1.0, 1.0), random.between(0.0, turn));
                let radial = DVec3::new(angle.cos(), 0.0, angle.sin());
                samples.points.push(radial * (0.4 - h * f64::tan(half_angle)) + DVec3::Y * h);
                samples.normals.push(radial * half_angle.cos() + DVec3::Y * half_angle.sin());
                samples.weights.push(1.0);
            }
            let place = random.place();
            let fit = samples.moved(place, 3.0).fit().unwrap();
            assert!(fit.rms < 1e-6, "{half_angle} {fit:?}");
            assert!((fit.cone.half_angle() - half_angle).abs() < 2e-6, "{half_angle} {fit:?}");
            let axis = place.transform_vector3(DVec3::Y);
            assert!(fit.cone.axis().dot(axis).abs() > 1.0 - 1e-9);
            for (p, n) in samples.moved(place, 3.0).points.iter().zip(samples.moved(place, 3.0).normals) {
                assert!(fit.cone.normal_at(*p).distance(n) < 1e-5);
            }
        }
    }
}

#[test]
fn nearly_flat_skirts() {
    let mut random = Random(3);
    for degrees in [85.0, 89.0, 89.9] {
        let half_angle = f64::to_radians(degrees);
        let samples = Samples::of_cone(&mut random, half_angle, 0.2, 1.0, TAU, 300);
        let place = random.place();
        let fit = samples.moved(place, 0.02).fit().unwrap();
        assert!((fit.cone.half_angle() - half_angle).abs() < 1e-6, "{degrees} {fit:?}");
        assert!(fit.cone.axis().distance(place.transform_vector3(DVec3::Y)) < 1e-6, "{degrees} {fit:?}");
    }
}

#[test]
fn noise_moves_the_cone_by_no_more_than_itself() {
    let mut random = Random(4);
    for case in 0..60 {
        let half_angle = random.between(0.15, 1.3);
        let mut samples =
            Samples::of_cone(&mut random, half_angle, 0.3, 1.0, if case % 2 == 0 { TAU } else { PI }, 500);
        let noise = 0.01;
        for (p, n) in samples.points.iter_mut().zip(&mut samples.normals) {
            *p += random.direction() * (noise * random.unit());
            *n = (*n + random.direction() * 0.2).normalize();
        }
        let place = random.place();
        let fit = samples.moved(place, 50.0).fit().unwrap();
        let says = format!("case {case}, β {half_angle}: {fit:?}");
        assert!((fit.cone.half_angle() - half_angle).abs() < 2.0 * noise, "{says}");
        assert!(fit.cone.axis().distance(place.transform_vector3(DVec3::Y)) < 2.0 * noise, "{says}");
        assert!(fit.largest < 2.0 * noise && fit.rms < noise, "{says}");
    }
}

#[test]
fn rigid_motion_and_scale_move_the_cone_and_nothing_else() {
    let mut random = Random(5);
    let mut samples = Samples::of_cone(&mut random, 0.6, 0.3, 1.0, 5.0, 400);
    for p in &mut samples.points {
        *p += random.direction() * 0.02;
    }
    let here = samples.fit().unwrap();
    for scale in [0.01, 1.0, 100.0] {
        let place = random.place();
        let there = samples.moved(place, scale).fit().unwrap();
        assert!((there.cone.half_angle() - here.cone.half_angle()).abs() < 1e-6);
        assert!(there.cone.axis().distance(place.transform_vector3(here.cone.axis())) < 1e-6);
        assert!(there.cone.apex().distance(place.transform_point3(here.cone.apex()) * scale) < 1e-5 * scale);
        assert!((there.cone.base_radius() / scale - here.cone.base_radius()).abs() < 1e-6);
        assert!((there.rms - here.rms).abs() < 1e-6);
    }
    assert_eq!(samples.fit(), samples.fit());
}

#[test]
fn both_sides_of_a_cloth_and_inward_normals_do_as_well() {
    let mut random = Random(6);
    let mut samples = Samples::of_cone(&mut random, 0.7, 0.3, 1.0, TAU, 400);
    for (k, n) in samples.normals.iter_mut().enumerate() {
        *n *= if k % 2 == 0 { 1.0 } else { -1.0 };
    }
    assert!((samples.fit().unwrap().cone.half_angle() - 0.7).abs() < 1e-6);
    samples.normals.fill(DVec3::ZERO);
    assert!((samples.fit().unwrap().cone.half_angle() - 0.7).abs() < 1e-6);
}

#[test]
fn normals_and_distances_of_a_cone() {
    let cone = Cone::new(DVec3::Y * 3.0, DVec3::new(1.0, 2.0, 3.0), FRAC_PI_2 / 3.0, 0.1).unwrap();
    let p = DVec3::new(2.0, 0.5, 3.5);
    let h = 1e-6;
    let gradient = DVec3::from_array(
        DVec3::AXES.map(|axis| (cone.distance(p + axis * h) - cone.distance(p - axis * h)) / (2.0 * h)),
    );
    let inside = cone.radius_at(p) < (2.0 - p.y) * cone.half_angle().tan();
    assert!(gradient.distance(cone.normal_at(p) * if inside { -1.0 } else { 1.0 }) < 1e-8);
    assert!((cone.radius_at(p) - DVec3::new(1.0, 0.0, 0.5).length()).abs() < 1e-12);
    assert_eq!(cone.normal_at(cone.apex()), DVec3::Y);
    assert!((cone.distance(cone.apex() + DVec3::Y) - 1.0).abs() < 1e-12);
}

#[test]
fn regions_that_show_no_cone_are_told_why() {
    let fit = |points: &[DVec3]| Cone::fit(points, &vec![DVec3::Z; points.len()], &vec![1.0; points.len()]);
    let line: Vec<_> = (0..20).map(|k| DVec3::new(1.0, 2.0, 3.0) * f64::from(k)).collect();
    let sheet: Vec<_> = (0..40).map(|k| DVec3::new(f64::from(k % 7), f64::from(k / 7), 5.0)).collect();
    assert_eq!(fit(&line[..5]), Err(ConeError::TooFew(5)));
    assert_eq!(fit(&line), Err(ConeError::Straight));
    assert_eq!(fit(&[DVec3::splat(1e3); 9]), Err(ConeError::Straight));
    assert_eq!(fit(&sheet), Err(ConeError::Flat));
    assert_eq!(fit(&[DVec3::NAN; 9]), Err(ConeError::NotUsable(0)));
    assert_eq!(Cone::fit(&line, &line, &[0.0; 20]), Err(ConeError::TooFew(0)));
    assert_eq!(Cone::fit(&line, &line, &[-1.0; 20]), Err(ConeError::NotUsable(0)));
    assert!(matches!(Cone::fit(&line, &[], &[]), Err(ConeError::Lengths { .. })));
    assert!(Cone::new(DVec3::ZERO, DVec3::ZERO, 0.5, 0.0).is_err());
    assert!(Cone::new(DVec3::Y, DVec3::INFINITY, 0.5, 0.0).is_err());
    assert!(Cone::new(DVec3::Y, DVec3::ZERO, FRAC_PI_2, 0.0).is_err());
    assert!(Cone::new(DVec3::Y, DVec3::ZERO, 0.5, f64::NAN).is_err());
}

/// Whatever the points, the answer is a sound cone or a reason.
#[test]
fn any_cloud_gives_a_cone_or_a_reason() {
    let mut random = Random(8);
    for case in 0..2000 {
        let count = (random.unit() * 40.0) as usize;
        let scale = 10f64.powf(random.between(-30.0, 30.0));
        let flat = 10f64.powf(random.between(-8.0, 0.0));
        let squash = DVec3::new(1.0, flat, if case % 3 == 0 { flat } else { 1.0 });
        let points: Vec<_> = (0..count).map(|_| (random.direction() * squash * random.unit()) * scale).collect();
        let normals: Vec<_> = (0..count).map(|_| random.direction()).collect();
        let weights: Vec<_> = (0..count).map(|_| 10f64.powf(random.between(-300.0, 300.0))).collect();
        if let Ok(fit) = Cone::fit(&points, &normals, &weights) {
            assert!(fit.rms.is_finite() && fit.largest.is_finite() && fit.rms <= fit.largest * 1.000_001, "{fit:?}");
            assert!(fit.cone.apex().is_finite() && fit.cone.axis().is_normalized());
        }
    }
}

#[test]
fn the_dancers_skirt() {
    let character = sinew_zoo::build("dancer").unwrap();
    let (rig, _) = Rig::build(&character.raw).unwrap();
    let surface = RestSurface::new(&rig);
    let dress = &rig.parts()[0].primitives[1];
    let mut in_dress = vec![false; surface.points().len()];
    for &slot in &rig.point_of_vertex()[dress.vertices.clone()] {
        in_dress[slot as usize] = true;
    }
    let below = PointMap::from_fn(&rig, |slot| f32::from(u8::from(in_dress[slot] && surface.points()[slot].y < 1.0)));
    let hips = rig.skeleton().bones().find(|&bone| rig.skeleton().name(bone) == "hips").unwrap();
    let fit = Cone::fit_region(&surface, hips, &below).unwrap();
    // The outline runs from (0.138, 1.000) to (0.416, 0.560), with a lining 0.014 inside and pleats up to 0.034 deep: 4 % of its size.
    let slope = ((0.416f64 - 0.138) / (1.0 - 0.56)).atan();
    assert!((fit.cone.half_angle() - slope).abs() < 0.05, "{fit:?}");
    assert!(fit.cone.axis().distance(DVec3::Y) < 0.02, "{fit:?}");
    assert!(fit.rms < 0.02 && fit.largest < 0.05, "{fit:?}");
    assert!((0.11..0.16).contains(&fit.cone.base_radius()), "{fit:?}");
}
