//! A recipe that lists everything there is, written from the registry.

use super::correction::CORRECTION_KEYS;
use super::edit::Literal;
use super::effect::EFFECT_KEYS;
use super::error::one_of;
use super::parse::{
    ENDS_WORDS, HIERARCHY_WORDS, LOOP_WORDS, MAX_STRAIN, NORMALS_WORDS, RIDERS_WORDS, SMOOTHING, TOTAL_LENGTH,
    TRAVEL_WORDS, VERSION,
};
use super::settings::{MAP, MAPS, Schema};
use super::shared::{KeyKind, SharedKey};
use super::surface_edit::{AMOUNT, CRESTS, DRIVES, FREQUENCY, REACH, STIFFNESS};
use super::{CorrectionSpec, EffectSpec, RecipeFile};
use crate::base::{BASES, BaseEntry, LBS};
use crate::correct::CORRECTIONS;
use crate::correct::surface_edit::Profile;
use crate::param::{ParamKind, ParamSpec, Range, Values};
use crate::registry::EFFECTS;
use crate::table::{CellKind, CellSpec, TableSpec};

impl RecipeFile {
    /// The text of a recipe with every base, effect, correction and key at its default, each with its unit, range and
    /// meaning. It parses, and leaves the character as it is: the gains are 0, and bases but the first are in comments.
    pub fn template() -> String {
        let mut lines = Lines(String::new());
        lines.comment("Every key of a Sinew recipe at its default. Keep what you need and delete the rest.");
        lines.key("version", VERSION, "version of the recipe format; required");
        lines.key("base", format!("\"{}\"", LBS.name), &format!("{}; or one of these:", LBS.about));
        for base in BASES.iter().filter(|&base| *base != LBS) {
            lines.base(base);
        }
        lines.key("riders", "\"move\"", &format!("rigid parts carried by bones: {}", choices(RIDERS_WORDS)));
        lines.key("rigid", "\"auto\"", "pieces that never bend: auto (props, eyes, what one bone moves) or none,");
        lines.comment("  or a list of roles, bones or meshes such as [\"@prop\", \"@eye\", \"Sword*\"]");
        lines.key("planted", "\"auto\"", "what stays where it stands on the ground: auto (whatever stands) or none,");
        lines.comment("  or a list of roles or bones such as [\"@foot\"]; skin does not go through the ground");
        lines.key(
            "sewn",
            "\"auto\"",
            "pieces that touch at rest, a cape and its shoulders: auto (stay together) or none",
        );
        lines.key("collide", "\"auto\"", "cloth and hair that effects move into the body: auto (pushed out) or none");
        lines.key(
            "normals",
            "\"auto\"",
            &format!("{}: auto is engine without effects, else turned with the faces", choices(NORMALS_WORDS)),
        );
        lines.comment(&format!(
            "max_total = 0.5  # {}: limits how far all effects together move a point; off by default,",
            words_of(TOTAL_LENGTH)
        ));
        lines.comment("  eased into; as a table with length and soft, where false clamps instead");
        lines.key(
            "max_strain",
            "1.28",
            &format!("{}: how much soft parts are strained at most where they bend", words_of(MAX_STRAIN)),
        );
        lines.comment(
            "strength = \"4 %\"  # how far all effects together move the skin, of the size (95th percentile over",
        );
        lines.comment("  frames): their gains are scaled by one factor, which is solved for; off by default");
        let over = "all: one factor for all clips, the liveliest has the strength; each: one for every clip;";
        lines.key("strength_over", "\"all\"", over);
        lines.comment("  balanced: one for every clip, and a walk stays calmer than a run, but not as much");
        lines.key("maps", "[]", "painted map files beside this one, such as [\"belly.map.json\"]");

        lines.key("hierarchy", "\"body\"", &format!("what effects follow: {}", choices(HIERARCHY_WORDS)));
        lines
            .comment("  plain is the file's own tree; a section [hierarchy] names bones and what each of them follows");

        lines.section("[motion]", "how clips are read");
        lines.key("loop", "\"auto\"", &choices(LOOP_WORDS));
        lines.key("ends", "\"rest\"", &format!("before and after a clip that does not loop: {}", choices(ENDS_WORDS)));
        lines.key("travel", "\"subtract\"", &format!("steady travel of a loop: {}", choices(TRAVEL_WORDS)));
        let boxes = format!("auto, or {} for each of the three boxes; 0 is none", words_of(SMOOTHING));
        lines.key("smoothing", "\"auto\"", &boxes);

        lines.section("# [clip.\"NAME\"]", "the same keys for clips of that name (* and ? match any), and");
        lines.comment("teleports = [0.5]  # times in seconds at which the character teleports or the shot is cut");
        lines.comment(
            "contacts = { \"foot.L\" = [[0.0, 0.4]] }  # when bones stand, in seconds, in place of what is found",
        );
        lines.0 += "\n";
        lines.comment(
            "Numbers of an effect, including its gain but not its filters, can change over the clip: give keys",
        );
        lines.comment("such as [[0.0, 0.1], [0.5, 0.2]], pairs of seconds and value, interpolated linearly.");
        for effect in EFFECTS {
            let spec = EffectSpec::of(effect);
            let schema = Schema { params: effect.params(), mapped: None, tables: &[], scaled: &[] };
            lines.asked("effect", effect.name(), effect.about(), schema, (EFFECT_KEYS, &spec));
        }
        lines.0 += "\n";
        lines.comment("Corrections run after the effects, in the order listed.");
        for correction in CORRECTIONS {
            let Some(spec) = CorrectionSpec::new(correction.name) else { continue };
            let schema = Schema::from(correction);
            lines.asked("correction", correction.name, correction.about, schema, (CORRECTION_KEYS, &spec));
        }
        lines.0 += "\n";
        lines.comment("Surface edits are applied last.");
        lines.edit();
        lines.0
    }
}

fn words_of(range: Range) -> String {
    range.to_string()
}

fn choices<T>(words: &[(&str, T)]) -> String {
    one_of(words.iter().map(|&(word, _)| word))
}

struct Lines(String);

impl Lines {
    fn comment(&mut self, text: &str) {
        self.0 += &format!("# {text}\n");
    }

    fn key(&mut self, key: &str, value: impl ToString, about: &str) {
        self.0 += &format!("{:<30}# {about}\n", format!("{key} = {}", value.to_string()));
    }

    fn section(&mut self, header: &str, about: &str) {
        self.0 += &format!("\n{header:<30}# {about}\n");
    }

    /// A base as it may stand in place of the one above, and what its keys mean.
    fn base(&mut self, base: &BaseEntry) {
        let values = Values::defaults(base.params);
        let mut keys = vec![format!("type = \"{}\"", base.name)];
        for spec in base.params {
            keys.push(format!("{} = {}", spec.name, Literal::param(&values, spec)));
            keys.extend((base.mapped == Some(spec.name)).then(|| format!("{MAP} = \"NAME\"")));
        }
        let rows = base.tables.iter().filter_map(|table| Some(format!("{}.{}", table.key, table.examples.first()?)));
        keys.extend(rows);
        self.comment(&format!("base = {{ {} }}  # {}", keys.join(", "), base.about));
        let mut about: Vec<(String, String)> = Vec::new();
        for spec in base.params {
            about.push((spec.name.to_owned(), param_words(spec)));
            let map = (base.mapped == Some(spec.name)).then(|| format!("painted map that multiplies {}", spec.name));
            about.extend(map.map(|map| (MAP.to_owned(), map)));
        }
        for table in base.tables {
            about.push((table.key.to_owned(), table.about.to_owned()));
            about.extend(
                table.row.cells().iter().map(|cell| (format!("{}.{}", table.key, cell.name), cell_words(cell))),
            );
        }
        self.explain(about);
    }

    /// Keys with their meaning, in two columns.
    fn explain(&mut self, about: Vec<(String, String)>) {
        let width = about.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0);
        for (key, about) in about {
            self.comment(&format!("  {key:<width$}  {about}"));
        }
    }

    /// One of a list, in a section of its own.
    fn asked<S>(&mut self, kind: &str, name: &str, about: &str, schema: Schema, (shared, spec): (&[SharedKey<S>], &S)) {
        self.0 += &format!("\n[[{kind}]]\n");
        self.key("type", format!("\"{name}\""), about);
        let shared = || shared.iter().filter(|key| key.applies_to(spec));
        shared().filter(|key| !key.behind).for_each(|key| self.shared(kind, key));
        for spec in schema.params {
            self.param(spec);
        }
        if let Some(mapped) = schema.mapped {
            self.comment(&format!("{MAP} = \"NAME\"  # painted map that multiplies the {mapped}; below 0 counts as 0"));
        }
        shared().filter(|key| key.behind).for_each(|key| self.shared(kind, key));
        for table in schema.tables {
            self.table(kind, table);
        }
        if !schema.scaled.is_empty() {
            let scaled = one_of(schema.scaled.iter().copied());
            self.comment(&format!("[{kind}.{MAPS}]  # painted maps that multiply {scaled}, by their names"));
        }
    }

    fn shared<S>(&mut self, section: &str, key: &SharedKey<S>) {
        match key.kind {
            KeyKind::Param(kind) => {
                // A template does nothing.
                let default = (key.name == "gain").then_some("0.0");
                self.described(key.name, kind, key.about, default);
            }
            // Beside the gain that stands above it would be one too many.
            KeyKind::Share { example } => self.comment(&format!("  or {}, such as {example}: {}", key.name, key.about)),
            KeyKind::Names { example } => self.comment(&format!("{} = {example}  # {}", key.name, key.about)),
            KeyKind::Map => self.comment(&format!("{} = \"NAME\"  # {}", key.name, key.about)),
            KeyKind::Cells { cells, example } => {
                self.comment(&format!("{} = {example}  # {}", key.name, key.about));
                self.cells(cells);
            }
            KeyKind::Table(table) => self.table(section, table),
        }
    }

    fn table(&mut self, section: &str, table: &TableSpec) {
        self.comment(&format!("[{section}.{}]  # {}", table.key, table.about));
        table.examples.iter().for_each(|example| self.comment(example));
        self.cells(table.row.cells());
    }

    fn cells(&mut self, cells: &[CellSpec]) {
        self.explain(cells.iter().map(|cell| (cell.name.to_owned(), cell_words(cell))).collect());
    }

    fn edit(&mut self) {
        self.0 += "\n[[edit]]\n";
        self.key(
            "type",
            "\"radial\"",
            "radial: growth along bones; shape: one made by `sinew edit`; wave: along a stroke",
        );
        self.key("amount", "0.0", &format!("{}, or keys: how much of it", words_of(AMOUNT)));
        self.key("stiffness", "1.0", &format!("{}: against other edits, and against springs", words_of(STIFFNESS)));
        self.key("drive", "\"direct\"", &format!("{}: what moves the skin there", choices(DRIVES)));
        self.key("profile", "\"bulge\"", &format!("of radial: {}", choices(Profile::NAMES)));
        self.comment("  of shape: shape, a name in quotes, or keys such as [[0.0, \"\"], [0.5, \"NAME\"]]");
        self.comment("  of wave: along, points such as [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], world space at the default transforms;");
        let wave = [("reach", REACH), ("crests", CRESTS), ("frequency", FREQUENCY)];
        let wave = wave.map(|(key, range)| format!("{key} {}", words_of(range)));
        self.comment(&format!("    {}", wave.join(", ")));
        self.comment("bones = [\"forearm*\"]  # only skin attached to these");
        self.comment("map = \"NAME\"  # painted map of how much each point takes");
    }

    fn param(&mut self, spec: &ParamSpec) {
        self.described(spec.name, spec.kind, spec.about, None);
    }

    /// A line for a key, at its default or at `value`.
    fn described(&mut self, name: &str, kind: ParamKind, about: &str, value: Option<&str>) {
        let default = match kind {
            ParamKind::Number { default, .. } => format!("{default:?}"),
            ParamKind::Switch { default } => default.to_string(),
            ParamKind::Choice { words } => format!("\"{}\"", words.first().copied().unwrap_or_default()),
        };
        self.key(name, value.unwrap_or(&default), &format!("{}: {about}", kind_words(kind)));
    }
}

fn kind_words(kind: ParamKind) -> String {
    match kind {
        ParamKind::Number { unit, min, max, .. } => Range { min, max, unit }.to_string(),
        ParamKind::Switch { .. } => "true or false".to_owned(),
        ParamKind::Choice { words } => one_of(words.iter().copied()),
    }
}

fn param_words(spec: &ParamSpec) -> String {
    let word = spec.word_for_zero.map_or(String::new(), |word| format!("{word}, or "));
    format!("{word}{}: {}", kind_words(spec.kind), spec.about)
}

fn cell_words(CellSpec { kind, about, .. }: &CellSpec) -> String {
    match kind {
        CellKind::Number(range) => format!("{range}: {about}"),
        CellKind::Keyed(range) => format!("{range}, or keys [[seconds, value], …]: {about}"),
        CellKind::Numbers { form, .. } | CellKind::Lists { form, .. } => format!("{about}: {form}"),
        CellKind::Word(words) => format!("{}: {about}", one_of(words.iter().copied())),
        CellKind::Bones => format!("bone names: {about}"),
        CellKind::Bone => format!("a bone name: {about}"),
        CellKind::Map => format!("a painted map: {about}"),
    }
}
