//! The derivative and the oscillator against integrals, differences and the equations they come from.

use super::scene::*;
use glam::{DQuat, DVec3, Vec3};
use sinew::clip::Track;
use sinew::{
    Curve, DerivativeFilter, Ends, Interpolation, LoopVerdict, Looping, MotionSettings, Oscillator, Signal, Smoothing,
    TimeFilter, Travel,
};
use std::f64::consts::{PI, TAU};

const KNOTS: usize = 16;
/// Exact in f32, and a node of the filters' grid at every knot.
const SPACING: f64 = 1.0 / 16.0;

/// One second of a path whose acceleration runs straight between knots, as CUBICSPLINE keys that hold it without
/// rounding: accelerations are multiples of 6.
struct Path {
    acceleration: Vec<DVec3>,
    velocity: Vec<DVec3>,
    position: Vec<DVec3>,
}

impl Path {
    /// `closed` comes back with the same velocity and acceleration.
    fn new(closed: bool) -> Self {
        let mut random = Random(7);
        let mut acceleration: Vec<DVec3> = (0..=KNOTS).map(|_| (10.0 * random.vector()).round() * 6.0).collect();
        let mut velocity = DVec3::new(1.0, -2.0, 0.5);
        if closed {
            acceleration[KNOTS] = acceleration[0];
            let sum: DVec3 = acceleration[..KNOTS].iter().sum();
            acceleration[5] -= sum;
            let shift = Self::integrate(acceleration.clone(), DVec3::ZERO).position[KNOTS];
            velocity = -shift;
        }
        Self::integrate(acceleration, velocity)
    }

    fn integrate(acceleration: Vec<DVec3>, start: DVec3) -> Self {
        let (mut velocity, mut position) = (vec![start], vec![DVec3::ZERO]);
        for (k, pair) in acceleration.windows(2).enumerate() {
            velocity.push(velocity[k] + (pair[0] + pair[1]) * (0.5 * SPACING));
            position.push(position[k] + velocity[k] * SPACING + (2.0 * pair[0] + pair[1]) * (SPACING * SPACING / 6.0));
        }
        Self { acceleration, velocity, position }
    }

    fn track(&self) -> Track {
        let times: Vec<f64> = (0..=KNOTS).map(|k| k as f64 * SPACING).collect();
        let exact = |v: DVec3| {
            assert_eq!(v.as_vec3().as_dvec3(), v, "rounded");
            v.as_vec3()
        };
        let values: Vec<Vec3> = (0..=KNOTS)
            .flat_map(|k| [exact(self.velocity[k]), exact(self.position[k]), exact(self.velocity[k])])
            .collect();
        moves(0, Curve::new(Interpolation::CubicSpline, times, values).unwrap())
    }

    /// Knot before `t` in [0, 1], and the time since.
    fn at(t: f64) -> (usize, f64) {
        let k = ((t / SPACING) as usize).min(KNOTS - 1);
        (k, t - k as f64 * SPACING)
    }

    fn jerk(&self, t: f64) -> DVec3 {
        let (k, _) = Self::at(t);
        (self.acceleration[k + 1] - self.acceleration[k]) / SPACING
    }

    fn acceleration(&self, t: f64) -> DVec3 {
        let (k, s) = Self::at(t);
        self.acceleration[k] + self.jerk(t) * s
    }

    fn velocity(&self, t: f64) -> DVec3 {
        let (k, s) = Self::at(t);
        self.velocity[k] + self.acceleration[k] * s + self.jerk(t) * (0.5 * s * s)
    }

    fn position(&self, t: f64) -> DVec3 {
        let (k, s) = Self::at(t);
        self.position[k] + s * (self.velocity[k] + s * (0.5 * self.acceleration[k] + self.jerk(t) * (s / 6.0)))
    }

    fn largest(&self) -> f64 {
        self.acceleration.iter().map(|a| a.length()).fold(0.0, f64::max)
    }
}

fn settings(closed: bool, ends: Ends) -> MotionSettings {
    MotionSettings { looping: if closed { Looping::Yes } else { Looping::No }, ends, ..exact() }
}

/// `∫₀^reach kernel(s) x(t−s) ds`, five-point Gauss over pieces within which x is smooth.
fn convolve(kernel: impl Fn(f64) -> f64, x: impl Fn(f64) -> DVec3, t: f64, reach: f64) -> DVec3 {
    const GAUSS: [(f64, f64); 3] = [
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
        (0.906_179_845_938_664, 0.236_926_885_056_189_1),
    ];
    let width = SPACING / 64.0;
    let mut sum = DVec3::ZERO;
    let mut until = t;
    while until > t - reach {
        let from = ((until / width).ceil() - 1.0) * width;
        let (middle, half) = (0.5 * (from + until), 0.5 * (until - from));
        for (node, weight) in GAUSS {
            let at = |s: f64| x(s) * kernel(t - s);
            let pair = if node == 0.0 { at(middle) } else { at(middle + half * node) + at(middle - half * node) };
            sum += pair * (half * weight);
        }
        until = from;
    }
    sum
}

/// h(s), and the rate of its slowest part.
fn oscillator_kernel(oscillator: Oscillator) -> (impl Fn(f64) -> f64, f64) {
    let (omega, zeta) = (TAU * oscillator.frequency_hz(), oscillator.damping());
    let omega_d = omega * (1.0 - zeta * zeta).abs().sqrt();
    let slowest = if zeta < 1.0 { zeta * omega } else { zeta * omega - omega_d };
    let kernel = move |s: f64| {
        let swing = match zeta {
            ..1.0 => (omega_d * s).sin() / omega_d,
            1.0 => s,
            _ => (omega_d * s).sinh() / omega_d,
        };
        omega * omega * (-zeta * omega * s).exp() * swing
    };
    (kernel, slowest)
}

fn oscillators() -> Vec<Oscillator> {
    [(3.0, 0.15), (11.0, 0.05), (60.0, 0.1), (1.0, 0.7), (2.0, 1.0), (4.0, 0.999_99), (4.0, 1.5), (2.5, 2.0)]
        .map(|(hz, damping)| Oscillator::new(hz, damping).unwrap())
        .to_vec()
}

const MOMENTS: [f64; 7] = [0.0, 1e-6, 0.013, 0.0625, 0.4, 0.777_7, 1.0];
const CASES: [(bool, Ends); 3] = [(true, Ends::Rest), (false, Ends::Rest), (false, Ends::Continue)];

/// The acceleration for ever, as the ends say.
fn extended(path: &Path, closed: bool, ends: Ends) -> impl Fn(f64) -> DVec3 {
    move |s: f64| match (s < 0.0, closed, ends) {
        (true, true, _) => path.acceleration(s.rem_euclid(1.0)),
        (true, false, Ends::Rest) => DVec3::ZERO,
        (true, false, Ends::Continue) => path.acceleration(0.0),
        _ => path.acceleration(s),
    }
}

#[test]
fn a_wobble_is_its_kernels_integral() {
    for oscillator in oscillators() {
        let (kernel, slowest) = oscillator_kernel(oscillator);
        for (closed, ends) in CASES {
            let path = Path::new(closed);
            let scene = Scene::filtering(&chain(1), &clip(vec![path.track()]), &settings(closed, ends), oscillator);
            for t in MOMENTS {
                let expected = convolve(&kernel, extended(&path, closed, ends), t, 30.0 / slowest);
                let found = scene.through(oscillator, t, 0, Signal::LinearAcceleration);
                assert_near(
                    found,
                    expected,
                    1e-10 * path.largest(),
                    format!("{oscillator:?} at {t}, {closed} {ends:?}"),
                );
            }
        }
    }
}

#[test]
fn a_derivative_is_the_low_passed_jerk() {
    for gamma in [0.05, 0.3, 0.8, 0.999] {
        let tau = TimeFilter::new(gamma).unwrap().time_constant_secs();
        let filter = DerivativeFilter::new(gamma).unwrap();
        for (closed, ends) in CASES {
            let path = Path::new(closed);
            let scene = Scene::filtering(&chain(1), &clip(vec![path.track()]), &settings(closed, ends), filter);
            let kernel = |s: f64| (-s / tau).exp() / tau;
            for t in MOMENTS {
                let jerk = |s: f64| match (s < 0.0, closed) {
                    (true, true) => path.jerk(s.rem_euclid(1.0)),
                    (true, false) => DVec3::ZERO,
                    _ => path.jerk(s),
                };
                // From rest, the acceleration begins with a jump.
                let jump = if closed || ends == Ends::Continue { DVec3::ZERO } else { path.acceleration(0.0) };
                let expected = convolve(kernel, jerk, t, 40.0 * tau) + jump * kernel(t);
                let found = scene.through(filter, t, 0, Signal::LinearAcceleration);
                let tolerance = 1e-11 * path.largest() / tau.min(SPACING);
                assert_near(found, expected, tolerance, format!("γ {gamma} at {t}, {closed} {ends:?}"));
            }
        }
    }
}

#[test]
fn a_wobble_of_the_acceleration_is_a_mass_on_a_spring() {
    // Runge–Kutta on the mass's own place in the world, which knows the bone's place and velocity alone.
    let path = Path::new(false);
    for oscillator in oscillators() {
        let (omega, zeta) = (TAU * oscillator.frequency_hz(), oscillator.damping());
        let scene = Scene::filtering(&chain(1), &clip(vec![path.track()]), &settings(false, Ends::Rest), oscillator);
        let pull = |t: f64, z: DVec3, speed: DVec3| {
            (path.position(t) - z) * (omega * omega) + (path.velocity(t) - speed) * (2.0 * zeta * omega)
        };
        let steps = 8000_u32;
        let h = 1.0 / f64::from(steps);
        let (mut z, mut speed) = (path.position(0.0), path.velocity(0.0));
        for step in 0..steps {
            let t = f64::from(step) * h;
            if step % 500 == 0 {
                let u = scene.through(oscillator, t, 0, Signal::LinearAcceleration);
                let tolerance = 1e-7 * path.largest() / (omega * omega);
                assert_near(z - path.position(t), -u / (omega * omega), tolerance, format!("{oscillator:?} at {t}"));
            }
            let a = (speed, pull(t, z, speed));
            let b = (speed + a.1 * (0.5 * h), pull(t + 0.5 * h, z + a.0 * (0.5 * h), speed + a.1 * (0.5 * h)));
            let c = (speed + b.1 * (0.5 * h), pull(t + 0.5 * h, z + b.0 * (0.5 * h), speed + b.1 * (0.5 * h)));
            let d = (speed + c.1 * h, pull(t + h, z + c.0 * h, speed + c.1 * h));
            z += (a.0 + 2.0 * (b.0 + c.0) + d.0) * (h / 6.0);
            speed += (a.1 + 2.0 * (b.1 + c.1) + d.1) * (h / 6.0);
        }
    }
}

#[test]
fn a_loop_wobbles_without_a_seam_in_value_or_speed() {
    let path = Path::new(true);
    for oscillator in oscillators() {
        let scene = Scene::filtering(&chain(1), &clip(vec![path.track()]), &settings(true, Ends::Rest), oscillator);
        assert!(matches!(scene.motion.report().verdict, LoopVerdict::Closed { residual: None }));
        let u = |t: f64| scene.through(oscillator, t, 0, Signal::LinearAcceleration);
        let omega = oscillator.angular_frequency();
        let largest = path.largest();
        assert_near(u(1.0), u(0.0), 1e-12 * largest, format!("{oscillator:?}"));
        assert_eq!(u(0.3125), u(7.3125));
        // Slopes to fourth order from either side.
        let slope = |at: f64, h: f64| {
            (-25.0 * u(at) + 48.0 * u(at + h) - 36.0 * u(at + 2.0 * h) + 16.0 * u(at + 3.0 * h) - 3.0 * u(at + 4.0 * h))
                / (12.0 * h)
        };
        let h = 1e-3 / omega;
        assert_near(slope(0.0, h), slope(1.0, -h), 1e-9 * omega * largest, format!("slope of {oscillator:?}"));
    }
}

#[test]
fn a_stop_rings_at_the_damped_frequency_and_decays() {
    // Half a second of steady movement, then three of rest.
    let times = evenly(106, 30.0);
    let path = |t: f64| DVec3::new(2.0 * t.min(0.5), 0.0, 0.0);
    let tracks = vec![moves(0, translations(Interpolation::Linear, &times, path))];
    let settings = MotionSettings { looping: Looping::No, ..MotionSettings::default() };
    for (hz, zeta) in [(3.0, 0.1), (5.0, 0.05), (1.5, 0.3)] {
        let oscillator = Oscillator::new(hz, zeta).unwrap();
        let scene = Scene::filtering(&chain(1), &clip(tracks.clone()), &settings, oscillator);
        for signal in [Signal::LinearVelocity, Signal::LinearAcceleration] {
            let u = |t: f64| scene.through(oscillator, t, 0, signal).x;
            let half_swing = 0.5 / (hz * (1.0 - zeta * zeta).sqrt());
            let kept = (-zeta * TAU * hz * half_swing).exp();
            let after = 0.5 + scene.motion.report().smoothing_window();
            let largest = u(after).abs().max(u(after + 0.5 * half_swing).abs());
            for k in 0..40 {
                let t = after + 0.01 * f64::from(k);
                assert!((u(t + half_swing) + kept * u(t)).abs() < 1e-9 * largest, "{oscillator:?} {signal:?} at {t}");
            }
            // Every crossing, by bisection.
            let mut crossings = Vec::new();
            for k in 0..1000 {
                let (mut a, mut b) = (after + 2e-3 * f64::from(k), after + 2e-3 * f64::from(k + 1));
                if u(a) * u(b) < 0.0 {
                    for _ in 0..40 {
                        let middle = 0.5 * (a + b);
                        if u(a) * u(middle) <= 0.0 { b = middle } else { a = middle }
                    }
                    crossings.push(a);
                }
            }
            assert!(crossings.len().abs_diff((2.0 / half_swing) as usize) <= 1, "{crossings:?}");
            for pair in crossings.windows(2) {
                assert!((pair[1] - pair[0] - half_swing).abs() < 1e-7, "{pair:?} against {half_swing}");
            }
        }
    }
}

#[test]
fn a_derivative_is_the_slope_of_the_low_pass_and_never_jumps() {
    // LINEAR keys: the acceleration has corners, its own derivative jumps.
    let times = evenly(31, 30.0);
    let path = |t: f64| DVec3::new((TAU * t).sin(), t * t, 0.4 * (2.0 * TAU * t).cos());
    let turn = |t: f64| DQuat::from_scaled_axis(DVec3::new((TAU * t).cos(), t, 0.5 * (3.0 * TAU * t).sin()));
    let mut track = moves(0, translations(Interpolation::Linear, &times, path));
    track.rotation = Some(rotations(Interpolation::Linear, &times, turn));
    for looping in [Looping::No, Looping::Yes] {
        let settings = MotionSettings { looping, travel: Travel::Keep, ..MotionSettings::default() };
        let scene = Scene::new(&chain(1), &clip(vec![track.clone()]), &settings);
        for signal in SIGNALS {
            let largest = (0..100).map(|k| scene.signal(0.01 * f64::from(k), 0, signal).length()).fold(0.0, f64::max);
            let jerk = |t: f64| scene.through(derivative(), t, 0, signal);
            let h = 1e-5;
            for k in 0..=960 {
                let t = 0.01 + f64::from(k) * 1e-3;
                let slope = (scene.filtered(t + h, 0, signal) - scene.filtered(t - h, 0, signal)) / (2.0 * h);
                // The filters take the input as straight over 1/480 s; differences see its corners.
                let tolerance = 2.5e-3 * largest / low_pass().time_constant_secs();
                assert_near(jerk(t), slope, tolerance, format!("{signal:?} at {t}, {looping:?}"));
            }
            // A tenth of the time, a tenth of the change.
            let largest_change = |secs: f64| {
                let changes = (0..9900).map(|k| 1e-4 * f64::from(k)).map(|t| (jerk(t + secs) - jerk(t)).length());
                changes.fold(0.0, f64::max)
            };
            let (short, long) = (largest_change(1e-4), largest_change(1e-3));
            assert!(short < 0.11 * long, "{signal:?}, {looping:?}: {short} in a tenth of the time of {long}");
        }
    }
}

#[test]
fn oscillators_at_their_limits_stay_finite() {
    for bad in [0.0, -1.0, 0.0099, 60.1, f64::NAN, f64::INFINITY] {
        assert_eq!(Oscillator::new(bad, 0.5), None);
    }
    for bad in [0.0, -0.1, 0.0009, 2.1, f64::NAN, f64::INFINITY] {
        assert_eq!(Oscillator::new(1.0, bad), None);
    }
    let shake = |times: &[f64], huge: f64| {
        let mut random = Random(3);
        moves(0, translations(Interpolation::Linear, times, |_| random.vector() * huge))
    };
    let spans = [vec![0.0, 1e-9, 1e-7, 2e-6], vec![0.0, 3e9], vec![-1e38, 1e38], evenly(40, 25.0)];
    for (hz, damping) in [(0.01, 0.001), (0.01, 2.0), (60.0, 0.001), (60.0, 2.0), (1.0, 0.001), (0.625, 1.0)] {
        let oscillator = Oscillator::new(hz, damping).unwrap();
        for (times, huge) in spans.iter().flat_map(|times| [(times, 1.0), (times, 3e38), (times, 1e-38)]) {
            for (looping, smoothing) in
                [(Looping::Yes, Smoothing::Auto), (Looping::Yes, Smoothing::Box(0.0)), (Looping::No, Smoothing::Auto)]
            {
                let (start, end) = (times[0], times[times.len() - 1]);
                for teleports in [vec![], vec![times[times.len() / 2]]] {
                    let settings = MotionSettings { looping, smoothing, teleports, ..MotionSettings::default() };
                    let scene = Scene::filtering(&chain(1), &clip(vec![shake(times, huge)]), &settings, oscillator);
                    for t in [start, 0.5 * (start + end), end, end + 0.3, f64::NAN, f64::INFINITY] {
                        let values = bits(&scene.kinematics(t));
                        assert!(values.into_iter().all(|v| f64::from_bits(v).is_finite()), "{oscillator:?} at {t}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_loop_in_tune_swings_as_far_as_resonance_lets_it() {
    // A sine of 2 Hz in a spring of 2 Hz: 1/(2ζ) times its input, a quarter of a swing late.
    let times = evenly(481, 480.0);
    let tracks = || vec![moves(0, translations(Interpolation::Linear, &times, |t| DVec3::Y * (2.0 * TAU * t).sin()))];
    for damping in [0.001, 0.01, 0.1, 1.0, 2.0] {
        let oscillator = Oscillator::new(2.0, damping).unwrap();
        let scene = Scene::filtering(&chain(1), &clip(tracks()), &MotionSettings::default(), oscillator);
        for t in [0.0, 0.1, 0.37, 0.9] {
            let found = scene.through(oscillator, t, 0, Signal::LinearVelocity).y;
            let largest = 2.0 * TAU / (2.0 * damping);
            let expected = largest * (2.0 * TAU * t - 0.5 * PI).cos();
            assert!((found - expected).abs() < 2e-3 * largest, "{damping} at {t}: {found} against {expected}");
        }
    }
}
