//! A recipe that lists everything there is, written from the registry.

use super::RecipeFile;
use super::correction::SHARE;
use super::effect::{CONE_GAIN, CONE_LENGTH, FORMS, GAIN};
use super::error::{one_of, range};
use super::parse::{
    self, ENDS_WORDS, FACTOR, HIERARCHY_WORDS, LOOP_WORDS, NORMALS_WORDS, RIDERS_WORDS, SMOOTHING, TOTAL_LENGTH,
    TRAVEL_WORDS, VERSION,
};
use super::surface_edit::{AMOUNT, CRESTS, DRIVES, FREQUENCY, REACH, STIFFNESS};
use crate::correct::surface_edit::Profile;
use crate::correct::{CORRECTIONS, Correction};
use crate::param::{ParamKind, ParamSpec};
use crate::registry::{EFFECTS, Effect};

impl RecipeFile {
    /// The text of a recipe with every effect, correction and key at its default, each with its unit, range and
    /// meaning. It parses, and leaves the character as it is: the gains are 0.
    pub fn template() -> String {
        let mut lines = Lines(String::new());
        lines.comment("Every key of a Sinew recipe at its default. Keep what you need and delete the rest.");
        lines.key("version", VERSION, "of the recipe format; always needed");
        lines.key("base", "\"lbs\"", "base skinning; see the manual for those with settings, such as:");
        lines.comment("base = { type = \"dqs\", pivot = false }");
        lines.comment("base = { type = \"blend\", factor = 0.5, map = \"NAME\", pivot = false }");
        lines.comment("  fold-over-free takes steps, method, alpha, beta, weights and limbs");
        lines.comment("  incremental-rotation takes influence, keep_distance, attach, smoothing, joints and dividers");
        lines.comment("  stretchable-twistable takes share; centres-of-rotation and rigid take nothing");
        lines.comment(&format!("  factor  {}: 0 is lbs, 1 is dqs; a painted map multiplies it", words_of(FACTOR)));
        lines.comment("  pivot   signs by each vertex's largest influence instead of by the parent bone");
        lines.key("riders", "\"move\"", &format!("rigid parts carried by bones: {}", choices(RIDERS_WORDS)));
        lines.key(
            "normals",
            "\"auto\"",
            &format!("{}: auto is engine without effects, else exact", choices(NORMALS_WORDS)),
        );
        lines.comment(&format!(
            "max_total = 0.5  # {}: nothing that bones and effects add up to moves a point farther; off without it,",
            words_of(TOTAL_LENGTH)
        ));
        lines.comment("  bends in smoothly; as a table with length and soft, false cuts there");
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
        lines.comment("teleports = [0.5]  # seconds at which the character is put elsewhere or the shot is cut");
        lines.0 += "\n";
        lines.comment(
            "Numbers of an effect, its gain among them but not its filters, may change over the clip: give keys",
        );
        lines.comment("such as [[0.0, 0.1], [0.5, 0.2]], pairs of seconds and value, straight in between.");
        for effect in EFFECTS {
            lines.effect(*effect);
        }
        lines.0 += "\n";
        lines.comment("Corrections follow the effects, in the order they stand in.");
        for correction in CORRECTIONS {
            lines.correction(correction);
        }
        lines.0 += "\n";
        lines.comment("Edits of the surface follow everything else.");
        lines.edit();
        lines.0
    }
}

fn words_of(range_of: parse::Range) -> String {
    range(range_of.min, range_of.max, range_of.unit)
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

    fn effect(&mut self, effect: &dyn Effect) {
        self.0 += "\n[[effect]]\n";
        self.key("type", format!("\"{}\"", effect.name()), effect.about());
        if effect.paper().is_some() {
            let about = "paper: raw gains, hard limits, no filter and the paper's own measures where nothing is said";
            self.key("form", "\"scale-free\"", &format!("{}; {about}", choices(FORMS)));
        }
        self.key("gain", "0.0", &format!("{}: over everything; 0 is off, 1 is as set below", words_of(GAIN)));
        let root = format!("{}: of what the motion of the whole character causes", words_of(GAIN));
        self.key("root", "1.0", &root);
        self.key("raw", false, "true: the papers' gains, which depend on the size; × size is in scene units then");
        self.comment("map = \"NAME\"  # painted map that multiplies the gain");
        for spec in effect.params() {
            self.param(spec);
        }
        self.key(
            "compensate",
            false,
            "true: opposite turns of successive bones cancel instead of scaling what is beyond",
        );
        let along =
            if effect.needs_cone() { "the cone it acts along" } else { "act along the normals of a cone alone" };
        self.comment(&format!(
            "cone = {{ bone = \"NAME\", gain = 10.0, max_length = 0.3 }}  # {along}; true: as fitted"
        ));
        self.comment(&format!("  gain        {}", words_of(CONE_GAIN)));
        self.comment(&format!("  max_length  {}: nothing moves farther", words_of(CONE_LENGTH)));
        self.comment(
            "  by hand, in the bone's frame: axis [x, y, z] to the tip, apex [x, y, z], half_angle (rad), base_radius",
        );
        self.comment("[effect.bones]  # gains by bone name; * and ? match any, later lines win");
        self.comment("\"tail*\" = 2.0");
        self.comment("\"ear.?\" = { rotation = 1.5, translation = 0.0 }");
        self.comment(
            "\"head\" = { centroid_offset = [0.0, 0.1, 0.0], squash_about = \"point\" }  # the centre of squash,",
        );
        self.comment("  in the bone's frame: centroid_offset from where the skin has it, or centroid; squash_about axis or point");
    }

    fn correction(&mut self, correction: &Correction) {
        self.0 += "\n[[correction]]\n";
        self.key("type", format!("\"{}\"", correction.name), correction.about);
        self.key("gain", "0.0", &format!("{}: how much of it is done; 0 is off", words_of(SHARE)));
        for spec in correction.params {
            self.param(spec);
        }
        if correction.takes_maps {
            self.comment("map = \"NAME\"  # painted map that multiplies it; negative values count as 0");
            self.comment(&format!("[correction.bones]  # {}", correction.bones_about));
            self.comment("\"belly*\" = [\"spine*\"]");
        }
        if correction.name == "muscles" {
            self.comment("[correction.muscles]  # muscles by the bone that carries them, each with keys of its own");
            self.comment("\"upper_arm.*\" = { flexed_by = [\"forearm.*\"], map = \"NAME\", shape = \"region\" }");
            self.comment(
                "  shape fits it to the skin; or an ellipsoid (centre, radii) or a capsule (ends, radius), as numbers",
            );
            self.comment("  in the bone's frame; a map says how much of it each place takes, and where a region is");
        }
        if !correction.scaled.is_empty() {
            self.comment(&format!(
                "[correction.stiffness]  # factors by bone, on {}",
                one_of(correction.scaled.iter().copied())
            ));
            self.comment("\"belly*\" = 0.5");
            self.comment("[correction.maps]  # painted maps that multiply them");
        }
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
        self.comment("bones = [\"forearm*\"]  # only skin that hangs on these");
        self.comment("map = \"NAME\"  # painted map of how much each point takes");
    }

    fn param(&mut self, spec: &ParamSpec) {
        match spec.kind {
            ParamKind::Number { unit, min, max, default } => {
                self.key(spec.name, format!("{default:?}"), &format!("{}: {}", range(min, max, unit), spec.about));
            }
            ParamKind::Switch { default } => self.key(spec.name, default, &format!("true or false: {}", spec.about)),
            ParamKind::Choice { words } => {
                let default = words.first().copied().unwrap_or_default();
                let about = format!("{}: {}", one_of(words.iter().copied()), spec.about);
                self.key(spec.name, format!("\"{default}\""), &about);
            }
        }
    }
}
