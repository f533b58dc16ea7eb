//! WGSL, put together from its files and the numbers of [`sinew_render::studio`].

use crate::model::ROW;
use sinew_render::studio;
use std::fmt::Write;

const COMMON: &str = include_str!("shaders/common.wgsl");
const SHADOW: &str = include_str!("shaders/shadow.wgsl");
const MESH: &str = include_str!("shaders/mesh.wgsl");

/// A module of shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    Scene,
    Background,
    Filter,
    Stroke,
    Present,
    Pick,
}

impl Module {
    #[cfg(test)]
    pub const ALL: [Self; 6] = [Self::Scene, Self::Background, Self::Filter, Self::Stroke, Self::Present, Self::Pick];

    pub fn source(self) -> String {
        let parts: &[&str] = match self {
            Self::Scene => &[SHADOW, MESH, include_str!("shaders/solid.wgsl")],
            Self::Background => &[SHADOW, include_str!("shaders/background.wgsl")],
            Self::Filter => &[include_str!("shaders/filter.wgsl")],
            Self::Stroke => &[include_str!("shaders/stroke.wgsl")],
            Self::Present => &[include_str!("shaders/present.wgsl")],
            Self::Pick => &[MESH, include_str!("shaders/pick.wgsl")],
        };
        let mut source = constants();
        for part in [COMMON].iter().chain(parts) {
            source += part;
        }
        source
    }
}

fn constants() -> String {
    let mut text = String::new();
    let mut say = |line: std::fmt::Arguments<'_>| _ = text.write_fmt(line);
    say(format_args!("const ROW = {ROW}u;\n"));
    let numbers = [
        ("GLINT", studio::GLINT),
        ("KNEE", studio::KNEE),
        ("BOUNCE", studio::BOUNCE),
        ("SHADOW_ON_SURFACE", studio::SHADOW_ON_SURFACE),
        ("SHADOW_ON_GROUND", studio::SHADOW_ON_GROUND),
        ("BLEEDING", studio::BLEEDING),
        ("SHADOW_BIAS", studio::SHADOW_BIAS),
        ("LEAST_VARIANCE", studio::LEAST_VARIANCE),
        ("OCCLUSION_BETA", studio::OCCLUSION_BETA),
    ];
    for (name, number) in numbers {
        say(format_args!("const {name} = f32({number:?});\n"));
    }
    let threes = [
        ("KEY", studio::KEY),
        ("FILL", studio::FILL),
        ("RIM", studio::RIM),
        ("SKY", studio::SKY),
        ("FLOOR", studio::FLOOR),
        ("WRAP", studio::WRAP),
        ("WRAP_SCALE", studio::WRAP_SCALE),
        ("CHART", studio::CHART),
        ("SHADOW_TINT", studio::SHADOW_TINT),
        ("CONTACT", studio::CONTACT),
    ];
    for (name, [a, b, c]) in threes {
        say(format_args!("const {name} = vec3f({a:?}, {b:?}, {c:?});\n"));
    }
    for (name, [a, b]) in [("VEIL_LIGHT", studio::VEIL_LIGHT), ("VEIL_OPACITY", studio::VEIL_OPACITY)] {
        say(format_args!("const {name} = vec2f({a:?}, {b:?});\n"));
    }
    for (name, count) in [("OCCLUSION_STEP", studio::OCCLUSION_STEP), ("OCCLUSION_TAPS", studio::OCCLUSION_TAPS)] {
        say(format_args!("const {name} = {count}i;\n"));
    }
    let spirals = studio::occlusion_spirals();
    let taps: Vec<String> = spirals.as_flattened().iter().map(|[x, y]| format!("vec2f({x:?}, {y:?})")).collect();
    say(format_args!("var<private> spirals: array<vec2f, {}> = array({});\n", taps.len(), taps.join(", ")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use naga::back::glsl;
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    fn checked(module: Module) -> (naga::Module, naga::valid::ModuleInfo) {
        let source = module.source();
        let parsed = naga::front::wgsl::parse_str(&source)
            .unwrap_or_else(|error| panic!("{module:?}: {}", error.emit_to_string(&source)));
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&parsed)
            .unwrap_or_else(|error| panic!("{module:?}: {}", error.emit_to_string(&source)));
        (parsed, info)
    }

    /// Every entry point is one that WebGL2 can run.
    #[test]
    fn shaders_can_be_told_to_webgl2() {
        let options = glsl::Options {
            version: glsl::Version::Embedded { version: 300, is_webgl: true },
            ..glsl::Options::default()
        };
        for module in Module::ALL {
            let (parsed, info) = checked(module);
            for entry in &parsed.entry_points {
                let pipeline = glsl::PipelineOptions {
                    shader_stage: entry.stage,
                    entry_point: entry.name.clone(),
                    multiview: None,
                };
                let mut text = String::new();
                let policies = naga::proc::BoundsCheckPolicies::default();
                glsl::Writer::new(&mut text, &parsed, &info, &options, &pipeline, policies)
                    .and_then(|mut writer| writer.write())
                    .unwrap_or_else(|error| panic!("{module:?} {}: {error}", entry.name));
            }
        }
    }

    #[test]
    fn shaders_are_valid_and_layouts_are_those_of_rust() {
        for module in Module::ALL {
            let (parsed, _) = checked(module);
            let mut layouter = naga::proc::Layouter::default();
            layouter.update(parsed.to_ctx()).unwrap();
            for (handle, ty) in parsed.types.iter() {
                let size = match ty.name.as_deref() {
                    Some("View") => size_of::<data::View>(),
                    Some("Draw") => size_of::<data::Draw>(),
                    Some("Filter") => size_of::<data::Filter>(),
                    _ => continue,
                };
                assert_eq!(layouter[handle].size as usize, size, "{module:?} {:?}", ty.name);
            }
        }
    }
}
