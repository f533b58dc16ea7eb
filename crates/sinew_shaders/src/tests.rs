//! Every shader is valid, is bound as it says, and looks for words where Rust puts them.

use super::*;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{AddressSpace, Module, StorageAccess, TypeInner};
use sinew::graph::LineMotion;
use sinew::graph::rig_arrays::{ColumnEnds, RowRanges};
use std::mem::offset_of;

fn modules() -> impl Iterator<Item = (Stage, Module)> {
    Stage::ALL.into_iter().map(|stage| {
        let source = stage.source();
        let module = naga::front::wgsl::parse_str(&source);
        (stage, module.unwrap_or_else(|error| panic!("{stage:?}: {}", error.emit_to_string(&source))))
    })
}

/// With no capability beyond what every WebGPU device has.
#[test]
fn every_shader_is_valid() {
    for (stage, module) in modules() {
        let checked = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
        checked.unwrap_or_else(|error| panic!("{stage:?}: {error:?}"));
    }
}

#[test]
fn stages_are_bound_as_they_say_within_the_limits_of_every_device() {
    for (stage, module) in modules() {
        let mut entries = module.entry_points.iter();
        let entry = entries.find(|entry| entry.name == stage.entry_point()).expect("the entry point");
        assert_eq!(entry.workgroup_size, [WORKGROUP, 1, 1]);
        let mut storage = vec![None; stage.bindings().written().len()];
        for (_, variable) in module.global_variables.iter() {
            if variable.space == AddressSpace::Private {
                continue;
            }
            let binding = variable.binding.expect("what is global is a buffer or one invocation's own");
            assert_eq!(binding.group, 0);
            match variable.space {
                AddressSpace::Uniform => assert_eq!(binding.binding, 0),
                AddressSpace::Storage { access } => {
                    storage[binding.binding as usize - 1] = Some(access.contains(StorageAccess::STORE));
                }
                space => panic!("{stage:?}: {space:?}"),
            }
        }
        assert!(storage.len() <= 8);
        let written: Vec<bool> = storage.into_iter().map(|written| written.expect("bound")).collect();
        assert_eq!(written, stage.bindings().written(), "{stage:?}");
    }
}

/// What naga makes of the uniform, against Rust's own offsets.
#[test]
fn the_uniform_lies_as_in_rust() {
    for (stage, module) in modules() {
        let struct_of = |name: &str| module.types.iter().find(|(_, inner)| inner.name.as_deref() == Some(name));
        let TypeInner::Struct { members, span } = &struct_of("CrowdParams").expect("CrowdParams").1.inner else {
            panic!("{stage:?}")
        };
        assert_eq!(*span as usize, size_of::<CrowdParams>());
        assert_eq!(size_of::<CrowdParams>() % 16, 0, "a uniform is a multiple of four words");
        for (index, (member, name)) in members.iter().zip(CrowdParams::FIELDS).enumerate() {
            assert_eq!((member.offset as usize, member.name.as_deref()), (4 * index, Some(*name)));
        }
        let TypeInner::Struct { members, span } = &struct_of("Params").expect("Params").1.inner else {
            panic!("{stage:?}")
        };
        assert_eq!(*span as usize, size_of::<Params>());
        assert_eq!(size_of::<Params>() % 16, 0, "a uniform is a multiple of four words");
        assert_eq!(members.len(), Params::WORDS);
        let places = [
            ("rows", offset_of!(Params, rows)),
            ("pivots", offset_of!(Params, pivots)),
            ("rest_tangents", offset_of!(Params, rest_tangents)),
            ("limits", offset_of!(Params, limits)),
        ];
        for (name, offset) in places {
            let member = members.iter().find(|member| member.name.as_deref() == Some(name)).expect(name);
            assert_eq!(member.offset as usize, offset, "{name}");
        }
        for (index, (member, name)) in members.iter().zip(Params::FIELDS).enumerate() {
            assert_eq!((member.offset as usize, member.name.as_deref()), (4 * index, Some(*name)));
        }
    }
}

/// The value of a constant as naga reads it.
fn constant(module: &Module, name: &str) -> Option<u32> {
    let (_, found) = module.constants.iter().find(|(_, constant)| constant.name.as_deref() == Some(name))?;
    match module.global_expressions[found.init] {
        naga::Expression::Literal(naga::Literal::U32(value)) => Some(value),
        _ => None,
    }
}

#[test]
fn words_lie_where_shaders_look_for_them() {
    let (_, module) = modules().find(|(stage, _)| *stage == Stage::Deform).expect("deform");
    let at = |name: &str| constant(&module, name).map(|word| word as usize);
    assert_eq!(at("ROW_WORDS"), Some(size_of::<RowRanges>() / 4));
    assert_eq!(at("ROW_COLUMNS_START"), Some(offset_of!(RowRanges, columns) / 4));
    assert_eq!(at("ROW_LAYERS_START"), Some(offset_of!(RowRanges, layers) / 4));
    assert_eq!(at("ROW_CHARACTER"), Some(offset_of!(RowRanges, character) / 4));
    assert_eq!(at("COLUMN_WORDS"), Some(size_of::<ColumnEnds>() / 4));
    assert_eq!(at("COLUMN_ABOVE"), Some(offset_of!(ColumnEnds, above) / 4));
    assert_eq!(at("COLUMN_STRETCH"), Some(offset_of!(ColumnEnds, stretch) / 4));
    assert_eq!(at("EFFECT_WORDS"), Some(size_of::<Effect>() / 4));
    assert_eq!(at("EFFECT_CONE_TURN"), Some(offset_of!(Effect, cone_turn) / 4));
    assert_eq!(at("HEADER_WORDS"), Some(size_of::<Header>() / 4));
    assert_eq!(at("HEADER_TANGENTS_COUNT"), Some(offset_of!(Header, tangents_count) / 4));
    assert_eq!(at("LINE_WORDS"), Some(size_of::<LineMotion>() / 4));
    assert_eq!((offset_of!(LineMotion, rows), at("LINE_TURN")), (0, Some(12)));
    assert_eq!(at("NODE_WORDS"), Some(size_of::<Node>() / 4));
    for kind in TermKind::ALL {
        let name = format!("{kind:?}").to_uppercase();
        let layout = kind.layout();
        assert_eq!(at(&format!("{name}_WORDS")), Some(layout.words));
        // Shaders read a limit as two words, and the ease of a stretch behind it.
        for (field, word) in layout.fields {
            let field = field.replace(' ', "");
            assert_eq!(at(&format!("{name}_{}", field.replace('.', "_").to_uppercase())), Some(*word), "{field}");
            if let Some(of) = field.strip_suffix("limit.max") {
                let next = |name: &str| {
                    layout.fields.iter().find(|(field, _)| field.replace(' ', "") == format!("{of}{name}"))
                };
                assert_eq!(next("limit.soft").map(|next| next.1), Some(word + 1));
                assert!(!of.ends_with("stretch.") || next("ease").map(|next| next.1) == Some(word + 2));
            }
        }
    }
}

#[test]
fn large_dispatches_take_a_second_dimension() {
    for invocations in [1, 64, 65, 64 * 65_535, 64 * 65_535 + 1, 200_000_000, u32::MAX - 64] {
        let [x, y] = groups(invocations);
        assert!(x <= MOST_GROUPS && y <= MOST_GROUPS);
        assert!(u64::from(x) * u64::from(y) * u64::from(WORKGROUP) >= u64::from(invocations));
    }
    assert_eq!(groups(64 * 65_535), [65_535, 1]);
}
