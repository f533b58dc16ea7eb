//! What shaders do to a vertex, counted from their text as naga reads it: operations on single numbers, and words read from
//! and written to buffers. `docs/gpu.md` holds the table.

use super::*;
use naga::valid::{Capabilities, FunctionInfo, ModuleInfo, ValidationFlags, Validator};
use naga::{
    AddressSpace, BinaryOperator, Block, Expression, Function, Handle, MathFunction, Module, Statement, TypeInner,
    UnaryOperator,
};
use std::ops::Add;

/// Of a piece of a shader run once, the dearer way of every branch taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    operations: u32,
    read: u32,
    written: u32,
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            read: self.read + other.read,
            written: self.written + other.written,
        }
    }
}

impl Cost {
    fn times(self, turns: u32) -> Self {
        let Self { operations, read, written } = self;
        Self { operations: turns * operations, read: turns * read, written: turns * written }
    }

    fn dearer(self, other: Self) -> Self {
        let weight = |cost: Self| (cost.operations + cost.read + cost.written, cost.operations);
        if weight(self) >= weight(other) { self } else { other }
    }
}

/// What a function does outside its loops, and in a turn of each of them, in the order of its text; with what it calls.
#[derive(Clone, Debug, Default)]
struct Counted {
    once: Cost,
    turns: Vec<Cost>,
}

struct Counter {
    module: Module,
    info: ModuleInfo,
}

impl Counter {
    fn new(stage: Stage) -> Self {
        let module = naga::front::wgsl::parse_str(&stage.source()).expect("valid");
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module).expect("valid");
        Self { module, info }
    }

    /// A function by name.
    fn count(&self, name: &str) -> Counted {
        let found = self.module.functions.iter().find(|(_, function)| function.name.as_deref() == Some(name));
        self.function(found.unwrap_or_else(|| panic!("{name}")).0)
    }

    fn entry(&self, stage: Stage) -> Counted {
        let place = self.module.entry_points.iter().position(|entry| entry.name == stage.entry_point()).expect("there");
        self.body(&self.module.entry_points[place].function, self.info.get_entry_point(place))
    }

    fn function(&self, handle: Handle<Function>) -> Counted {
        self.body(&self.module.functions[handle], &self.info[handle])
    }

    fn body(&self, function: &Function, info: &FunctionInfo) -> Counted {
        let mut counted = Counted::default();
        counted.once = self.block(&function.body, function, info, &mut counted.turns);
        counted
    }

    fn block(&self, block: &Block, function: &Function, info: &FunctionInfo, turns: &mut Vec<Cost>) -> Cost {
        let mut cost = Cost::default();
        for statement in block {
            cost = cost
                + match statement {
                    Statement::Emit(range) => range
                        .clone()
                        .map(|handle| self.expression(handle, function, info))
                        .fold(Cost::default(), Add::add),
                    Statement::Block(inner) => self.block(inner, function, info, turns),
                    Statement::If { accept, reject, .. } => {
                        let accept = self.block(accept, function, info, turns);
                        accept.dearer(self.block(reject, function, info, turns))
                    }
                    Statement::Loop { body, continuing, .. } => {
                        let place = turns.len();
                        turns.push(Cost::default());
                        let turn = self.block(body, function, info, turns);
                        turns[place] = turn + self.block(continuing, function, info, turns);
                        Cost::default()
                    }
                    Statement::Store { pointer, .. } => {
                        Cost { written: self.stored(*pointer, info), ..Cost::default() }
                    }
                    Statement::Call { function, .. } => {
                        let called = self.function(*function);
                        turns.extend(called.turns);
                        called.once
                    }
                    _ => Cost::default(),
                };
        }
        cost
    }

    /// Words behind a pointer to a buffer.
    fn stored(&self, pointer: Handle<Expression>, info: &FunctionInfo) -> u32 {
        match info[pointer].ty.inner_with(&self.module.types) {
            TypeInner::Pointer { base, space: AddressSpace::Storage { .. } } => {
                self.module.types[*base].inner.size(self.module.to_ctx()) / 4
            }
            TypeInner::ValuePointer { size, space: AddressSpace::Storage { .. }, .. } => {
                size.map_or(1, |size| size as u32)
            }
            _ => 0,
        }
    }

    fn expression(&self, handle: Handle<Expression>, function: &Function, info: &FunctionInfo) -> Cost {
        let width = |handle: Handle<Expression>| match info[handle].ty.inner_with(&self.module.types) {
            TypeInner::Vector { size, scalar } if scalar.kind == naga::ScalarKind::Float => *size as u32,
            TypeInner::Scalar(scalar) if scalar.kind == naga::ScalarKind::Float => 1,
            // Indices and conditions are not what a vertex costs.
            _ => 0,
        };
        let operations = |operations: u32| Cost { operations, ..Cost::default() };
        match &function.expressions[handle] {
            Expression::Binary { op, left, right } => match op {
                BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Multiply | BinaryOperator::Divide => {
                    operations(width(handle))
                }
                _ => operations(width(*left).max(width(*right))),
            },
            Expression::Unary { op: UnaryOperator::Negate, .. } => operations(width(handle)),
            Expression::Select { .. } => operations(width(handle)),
            Expression::Math { fun, arg, .. } => operations(match fun {
                MathFunction::Dot => 2 * width(*arg) - 1,
                MathFunction::Cross => 9,
                _ => width(handle),
            }),
            Expression::Load { pointer } => Cost { read: self.stored(*pointer, info), ..Cost::default() },
            _ => Cost::default(),
        }
    }
}

/// The rows of the table: what, how often, and what it costs.
fn table() -> Vec<(&'static str, &'static str, Cost)> {
    let deform = Counter::new(Stage::Deform);
    let normals = Counter::new(Stage::Normals);
    let carry = Counter::new(Stage::Carry);
    let [correct, vertices] = [Stage::Correct, Stage::Vertices].map(|stage| Counter::new(stage).entry(stage));
    let turn = |counter: &Counter, name: &str| counter.count(name).turns[0];
    let exact = Counter::new(Stage::DeformExactly);
    let compose = Counter::new(Stage::Compose);
    let settle_each = Counter::new(Stage::SettleEach).entry(Stage::SettleEach);
    let placed = Counter::new(Stage::PlaceVertices).entry(Stage::PlaceVertices);
    vec![
        ("linear blending", "bone of a point", turn(&deform, "linear")),
        ("dual quaternions", "bone of a point", turn(&deform, "blended")),
        ("dual quaternions", "point", deform.count("dual").once),
        ("carried by lines", "line of a point", turn(&carry, "blended_by_lines")),
        ("carried by lines", "point", carry.count("carried").once),
        ("what effects do alike", "stretch of bones of a point", turn(&deform, "collapsed")),
        ("shove (floppy, follow-through, drag, wobble, jerk)", "moving bone of a point", deform.count("shove").once),
        ("turn (the same)", "moving bone of a point", deform.count("turn").once),
        ("squash along a bone's motion", "moving bone of a point", deform.count("along").once),
        ("squash in a turn", "moving bone of a point", deform.count("swung").once),
        ("centrifugal stretch", "moving bone of a point", deform.count("thrown").once),
        ("cone", "point and effect", deform.count("filtered").once),
        ("limit on all", "point", deform.count("limited_vector").once),
        ("normals from faces", "neighbour of a corner", turn(&normals, "areas")),
        ("normals from faces", "corner", normals.count("turn_of").once + normals.count("normal").once),
        (
            "correction or edit",
            "node of one point",
            correct.once + correct.turns[0] + correct.turns[1] + correct.turns[2].times(3),
        ),
        ("to vertices", "vertex", vertices.once + vertices.turns[0].times(3)),
        ("exact normals: linear blending", "bone of a point", turn(&exact, "linear_weight_terms")),
        ("exact normals: dual quaternions", "bone of a point", exact.count("dual_weight_terms").turns[1]),
        ("exact normals: what effects do alike", "stretch of bones of a point", turn(&exact, "collapsed_exactly")),
        ("exact normals: turn", "moving bone of a point", exact.count("turn_psi").once),
        ("exact normals: squash in a turn", "moving bone of a point", exact.count("swung_psi").once),
        ("crowd: a sampled number", "word of a character's frame", compose.count("sampled").once),
        ("crowd: shove and turn", "moving bone of a character", compose.count("put_swing").once),
        ("crowd: squash", "moving bone of a character", compose.count("put_squash").once),
        ("crowd: settled", "point that settles", settle_each.once + settle_each.turns[1].times(3)),
        ("crowd: to placed vertices", "vertex", placed.once + placed.turns[0].times(3)),
    ]
}

/// The manual holds the table as it is counted.
#[test]
fn what_a_vertex_costs_is_told_as_it_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gpu.md");
    let manual = std::fs::read_to_string(path).expect("the manual");
    let rows = table().into_iter().map(|(what, per, Cost { operations, read, written })| {
        format!("| {what} | {per} | {operations} | {} | {} |", 4 * read, 4 * written)
    });
    let rows: Vec<String> = rows.collect();
    let missing: Vec<&String> = rows.iter().filter(|row| !manual.contains(*row)).collect();
    assert!(missing.is_empty(), "docs/gpu.md should hold:\n{}", rows.join("\n"));
}
