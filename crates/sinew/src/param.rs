//! Self-describing parameters: help texts, recipe validation and later the studio's panels come from these lists.

/// One parameter of a deformer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamSpec {
    /// Key in a recipe.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What values it takes.
    pub kind: ParamKind,
}

/// The values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A number in a closed range.
    Number {
        /// Unit, such as `s`, `rad`, `× size`; empty for a plain number.
        unit: &'static str,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// Value when the recipe is silent.
        default: f64,
    },
    /// Yes or no.
    Switch {
        /// Value when the recipe is silent.
        default: bool,
    },
}

impl ParamSpec {
    /// A number.
    pub const fn number(
        name: &'static str,
        unit: &'static str,
        [min, max]: [f64; 2],
        default: f64,
        about: &'static str,
    ) -> Self {
        Self { name, about, kind: ParamKind::Number { unit, min, max, default } }
    }

    /// A switch.
    pub const fn switch(name: &'static str, default: bool, about: &'static str) -> Self {
        Self { name, about, kind: ParamKind::Switch { default } }
    }

    /// The default as a number; switches count as 0 and 1.
    pub fn default(&self) -> f64 {
        match self.kind {
            ParamKind::Number { default, .. } => default,
            ParamKind::Switch { default } => f64::from(u8::from(default)),
        }
    }
}

/// Values for a list of parameters, all in range.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    specs: &'static [ParamSpec],
    values: Vec<f64>,
}

impl Values {
    /// All defaults.
    pub fn defaults(specs: &'static [ParamSpec]) -> Self {
        Self { specs, values: specs.iter().map(ParamSpec::default).collect() }
    }

    /// Sets a number if it is known and in range; switches take 0 and 1.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        let index = self.specs.iter().position(|spec| spec.name == name).ok_or(ValueError::Unknown)?;
        let (min, max) = match self.specs[index].kind {
            ParamKind::Number { min, max, .. } => (min, max),
            ParamKind::Switch { .. } => (0.0, 1.0),
        };
        if !(min..=max).contains(&value) {
            return Err(ValueError::OutOfRange { min, max });
        }
        self.values[index] = value;
        Ok(())
    }

    /// A number. `name` must be of the list.
    pub fn number(&self, name: &str) -> f64 {
        let index = self.specs.iter().position(|spec| spec.name == name);
        debug_assert!(index.is_some(), "no parameter named {name}");
        index.map_or(0.0, |index| self.values[index])
    }

    /// A switch. `name` must be of the list.
    pub fn switch(&self, name: &str) -> bool {
        self.number(name) != 0.0
    }
}

/// Why a value was not taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueError {
    /// No parameter of that name.
    Unknown,
    /// Not in the closed range, or not a number.
    OutOfRange {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
}
