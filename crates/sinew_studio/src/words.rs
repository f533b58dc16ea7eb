//! Everything the window says, in one place.

/// Title of the window.
pub const TITLE: &str = "Sinew Studio";

/// The bar at the top.
pub mod bar {
    /// Opens a file.
    pub const OPEN: &str = "Open…";
    /// Its tooltip.
    pub const OPEN_TIP: &str =
        "Open a character: .glb, .gltf or .vrm (Ctrl O). You can also drop a file into the window.";
    /// Built-in characters.
    pub const GALLERY: &str = "Gallery";
    /// Its tooltip.
    pub const GALLERY_TIP: &str = "Built-in characters to try things on";
    /// Saves.
    pub const SAVE: &str = "Save";
    /// Its tooltip.
    pub const SAVE_TIP: &str = "Save the recipe and the painted maps (Ctrl S)";
    /// Undoes.
    pub const UNDO: &str = "Undo";
    /// Does again.
    pub const REDO: &str = "Redo";
    /// Light or dark.
    pub const THEME: &str = "Light / dark";
    /// Starts the tour.
    pub const TOUR: &str = "Tour";
    /// Its tooltip.
    pub const TOUR_TIP: &str = "What is where, in one minute";
    /// Unsaved changes.
    pub const UNSAVED: &str = "unsaved";
}

/// Before anything is open.
pub mod welcome {
    /// Heading.
    pub const HEADING: &str = "Open a character";
    /// What to do.
    pub const TEXT: &str = "Drop a .glb, .gltf or .vrm file here, open one, or start with a built-in character.";
    /// Files opened before.
    pub const RECENT: &str = "Opened before";
    /// After a crash.
    pub const LEFT: &str = "Not saved when the studio closed last time";
    /// Takes it up again.
    pub const RESTORE: &str = "Continue";
    /// Throws it away.
    pub const DISCARD: &str = "Discard";
    /// While a file is read.
    pub const LOADING: &str = "Opening…";
    /// What is done, step by step.
    pub const STEPS: [&str; 7] = [
        "reading the file",
        "looking through it",
        "finding bones, skin and soft parts",
        "unpacking textures",
        "laying out meshes",
        "playing the first clip",
        "preparing the skin for brushes",
    ];
}

/// The picture.
pub mod view {
    /// What is shown.
    pub const RESULT: &str = "Result";
    /// Without effects.
    pub const BASE: &str = "Original";
    /// Both.
    pub const SIDE_BY_SIDE: &str = "Side by side";
    /// Both in one picture.
    pub const WIPE: &str = "Wipe";
    /// The original as a veil.
    pub const GHOST: &str = "Ghost";
    /// What to compare.
    pub const COMPARE_TIP: &str = "Compare the result with the original character";
    /// Colours.
    pub const COLOUR: &str = "Colour";
    /// Materials.
    pub const MATERIAL: &str = "Material";
    /// Heat of displacement.
    pub const DISPLACEMENT: &str = "Displacement";
    /// Heat of strain.
    pub const STRAIN: &str = "Stretch";
    /// A painted map.
    pub const MAP: &str = "Painted map";
    /// Roles.
    pub const ANATOMY: &str = "Anatomy";
    /// Bones.
    pub const SKELETON: &str = "Skeleton";
    /// Edges.
    pub const WIRE: &str = "Wire";
    /// Names of bones.
    pub const NAMES: &str = "Names";
    /// Before and after.
    pub const ONION: &str = "Onion";
    /// Its tooltip.
    pub const ONION_TIP: &str =
        "Onion skins while it stands still (O): a tenth and two tenths of a second before in orange, after in green";
    /// Shows all of it.
    pub const FRAME: &str = "Frame";
    /// Its tooltip.
    pub const FRAME_TIP: &str =
        "Fit the character in view (F). Drag to orbit, middle-drag or Shift-drag to pan, wheel to zoom.";
}

/// Shaking by hand.
pub mod live {
    /// Poses one by one.
    pub const LIVE: &str = "Live";
    /// Its tooltip.
    pub const LIVE_TIP: &str = "Take a bone and shake it (L): effects follow your hand. With Shift all of the character is carried. The clip stays as it is.";
    /// Records.
    pub const RECORD: &str = "Record";
    /// Ends it.
    pub const STOP: &str = "Stop";
    /// Tooltip of both.
    pub const RECORD_TIP: &str =
        "Keep what you do from now on as a clip of its own (R); it is exported with the others";
    /// What such a clip is called, with a number.
    pub const TAKE: &str = "shake";
    /// Removes it.
    pub const REMOVE: &str = "Remove clip";
    /// Its tooltip.
    pub const REMOVE_TIP: &str = "Remove this recorded clip; Undo brings it back";
}

/// Time.
pub mod time {
    /// Plays.
    pub const PLAY: &str = "Play";
    /// Pauses.
    pub const PAUSE: &str = "Pause";
    /// Plays or pauses, in words.
    pub const PLAY_TIP: &str = "Play or pause (Space)";
    /// A frame back.
    pub const BACK: &str = "<";
    /// A frame on.
    pub const ON: &str = ">";
    /// Tooltip of both.
    pub const STEP_TIP: &str = "Step one frame (arrow keys)";
    /// Clips.
    pub const CLIP: &str = "Clip";
    /// Speed.
    pub const SPEED: &str = "Speed";
    /// Without clips.
    pub const NO_CLIP: &str = "This file has no clips: there is no motion to add to.";
}

/// Styles and presets.
pub mod style {
    /// The tab.
    pub const TAB: &str = "Style";
    /// Styles that look at the character first.
    pub const FITTED: &str = "Made for this character";
    /// What they do.
    pub const FITTED_TEXT: &str = "Finds what is soft, what is rigid and what stands on the ground, and checks itself.";
    /// Recipes as they are.
    pub const READY: &str = "Ready-made recipes";
    /// Strength.
    pub const STRENGTH: &str = "Strength";
    /// What strength means.
    pub const STRENGTH_TIP: &str = "How far the liveliest part moves, as a share of the character's size";
    /// While a style is being made.
    pub const TRYING: &str = "Trying it on this character…";
    /// Removes all effects.
    pub const NOTHING: &str = "No effects";
    /// Its tooltip.
    pub const NOTHING_TIP: &str = "Leave the character as it is";
}

/// Effects.
pub mod effects {
    /// The tab.
    pub const TAB: &str = "Effects";
    /// Adds one.
    pub const ADD: &str = "Add effect…";
    /// None there.
    pub const NONE: &str = "No effects yet. Choose a style, or add an effect.";
    /// Only this one.
    pub const SOLO: &str = "S";
    /// Its tooltip.
    pub const SOLO_TIP: &str = "Solo: play this effect alone";
    /// Not this one.
    pub const MUTE: &str = "M";
    /// Its tooltip.
    pub const MUTE_TIP: &str = "Mute: play without this effect. The recipe keeps it.";
    /// Deletes it.
    pub const REMOVE: &str = "Remove";
    /// Its tooltip.
    pub const REMOVE_TIP: &str = "Remove this effect";
    /// Back to the default.
    pub const RESET: &str = "Reset";
    /// Its tooltip.
    pub const RESET_TIP: &str = "Back to the default";
    /// How much.
    pub const GAIN: &str = "Gain";
    /// Its tooltip.
    pub const GAIN_TIP: &str = "How much of this effect; 1 is the recipe's own amount";
    /// Painted map.
    pub const MAP: &str = "Map";
    /// Its tooltip.
    pub const MAP_TIP: &str = "A painted map that multiplies the gain, point by point";
    /// No map.
    pub const NO_MAP: &str = "everywhere";
    /// Values over time.
    pub const KEYS: &str = "Keys";
    /// Its tooltip.
    pub const KEYS_TIP: &str =
        "Change the gain over the clip: drag keys, double-click to add one, right-click to remove it";
    /// More parameters.
    pub const MORE: &str = "Parameters";
}

/// Corrections.
pub mod corrections {
    /// The tab.
    pub const TAB: &str = "Correct";
    /// Adds one.
    pub const ADD: &str = "Add correction…";
    /// None there.
    pub const NONE: &str = "No corrections yet. They keep volume, unfold creases, let skin spring and muscles swing.";
    /// Points in contact.
    pub const CONTACTS: &str = "points held apart at this frame";
    /// All of the character.
    pub const WHOLE: &str = "whole volume";
    /// Why a volume was not restored.
    pub const NOTHING_MAY_MOVE: &str = "not restored, the map is 0 there";
    /// Why a volume was not restored.
    pub const MOVE_BOUND: &str = "restored in part, more would move the skin too far";
    /// Why a volume was not restored.
    pub const NOT_REACHED: &str = "not restored, the skin cannot reach it";
    /// Why a volume was not restored.
    pub const OPEN: &str = "has no inside, only its parts are kept";
    /// Skinning under everything.
    pub const BASE: &str = "Skinning";
    /// Its tooltip.
    pub const BASE_TIP: &str = "How the skin follows the bones before anything is added";
}

/// Painting.
pub mod paint {
    /// The tab.
    pub const TAB: &str = "Paint";
    /// Paint with the pointer.
    pub const TOOL: &str = "Paint on the skin";
    /// Its tooltip.
    pub const TOOL_TIP: &str = "Drag on the character to paint (B). Hold Alt to orbit.";
    /// Which map.
    pub const MAP: &str = "Map";
    /// Makes a map.
    pub const NEW: &str = "New map";
    /// Its name.
    pub const NAME: &str = "name";
    /// None there.
    pub const NONE: &str = "No map yet. A map says where an effect acts: 1 fully, 0 not at all, below 0 the other way.";
    /// Deletes it.
    pub const DELETE: &str = "Delete map";
    /// Radius of the brush.
    pub const RADIUS: &str = "Radius";
    /// How much.
    pub const STRENGTH: &str = "Strength";
    /// Raises.
    pub const ADD: &str = "Add";
    /// Lowers.
    pub const SUBTRACT: &str = "Subtract";
    /// Smooths.
    pub const SMOOTH: &str = "Smooth";
    /// Erases.
    pub const ERASE: &str = "Erase";
    /// How it fades.
    pub const FALLOFF: &str = "Falloff";
    /// Round.
    pub const ROUND: &str = "Round";
    /// Straight.
    pub const LINEAR: &str = "Linear";
    /// Not at all.
    pub const HARD: &str = "Hard";
    /// How far.
    pub const REACH: &str = "Reach";
    /// Along the skin.
    pub const ALONG_SKIN: &str = "Along the skin";
    /// Through.
    pub const BALL: &str = "Ball";
    /// Both sides.
    pub const MIRROR: &str = "Both sides";
    /// Its tooltip.
    pub const MIRROR_TIP: &str = "Also paint the mirrored place";
    /// Only the selected bone.
    pub const BY_BONE: &str = "Only the selected bone's skin";
    /// Fills.
    pub const FILL: &str = "Fill";
    /// Its tooltip.
    pub const FILL_TIP: &str = "1 on all of the skin, or on the piece or bone that is selected";
    /// Clears.
    pub const CLEAR: &str = "Clear";
    /// Smooths all.
    pub const SMOOTH_ALL: &str = "Smooth all";
    /// Turns around.
    pub const INVERT: &str = "Invert";
    /// Starts from the shape.
    pub const START: &str = "Start from the shape";
    /// Thin parts.
    pub const THIN: &str = "Thin parts";
    /// Tips.
    pub const TIPS: &str = "Tips";
    /// Far from bones.
    pub const FAR: &str = "Far from bones";
    /// Uses it.
    pub const USED_BY: &str = "Multiplies";
}

/// Drawing.
pub mod draw {
    /// The tab.
    pub const TAB: &str = "Draw";
    /// What to do.
    pub const TEXT: &str = "Draw over the picture. Alt orbits, Esc starts the stroke anew.";
    /// Bones.
    pub const POSE: &str = "Pose";
    /// What one does.
    pub const POSE_TIP: &str =
        "Draw along the bones, then where they should go. The pose comes and goes about this moment.";
    /// Skin.
    pub const PULL: &str = "Pull";
    /// What one does.
    pub const PULL_TIP: &str = "Draw a line on the skin, then where it should go";
    /// The outline.
    pub const OUTLINE: &str = "Outline";
    /// What one does.
    pub const OUTLINE_TIP: &str = "Draw the outline as it should be, beginning and ending on the one there is";
    /// A ridge.
    pub const BULGE: &str = "Bulge";
    /// What one does.
    pub const BULGE_TIP: &str = "Draw on the skin: it rises along the line";
    /// A furrow.
    pub const GROOVE: &str = "Groove";
    /// What one does.
    pub const GROOVE_TIP: &str = "Draw on the skin: it sinks along the line";
    /// A wave.
    pub const WAVE: &str = "Wave";
    /// What one does.
    pub const WAVE_TIP: &str = "Draw on the skin: a wave runs along the line";
    /// The second stroke is wanted.
    pub const SECOND: &str = "Now draw where it should go.";
    /// The camera was turned between two strokes.
    pub const TURNED: &str = "The view has turned since the first stroke; draw it again.";
    /// Without clips.
    pub const NO_CLIP: &str = "This file has no clip to put a pose on; sinew pose sets the default pose.";
    /// Reach.
    pub const REACH: &str = "Gives way";
    /// By rings.
    pub const RINGS: &str = "Rings";
    /// Through space.
    pub const DISTANCE: &str = "Distance";
    /// Along the skin.
    pub const GEODESIC: &str = "Along the skin";
    /// How.
    pub const SOLVE: &str = "Way";
    /// As rigidly as possible.
    pub const RIGID: &str = "Firm";
    /// Smoothly.
    pub const SMOOTH: &str = "Smooth";
    /// By scale vectors.
    pub const VECTORS: &str = "About bones";
    /// Height.
    pub const HEIGHT: &str = "Height";
    /// Width.
    pub const WIDTH: &str = "Width";
    /// About a moment only.
    pub const KEYED: &str = "Only about this moment";
    /// Comes.
    pub const EASE_IN: &str = "comes in";
    /// Goes.
    pub const EASE_OUT: &str = "goes in";
    /// By springs.
    pub const SPRINGS: &str = "Springs draw it there";
    /// Bones may grow.
    pub const STRETCH: &str = "Bones may stretch";
    /// On the line.
    pub const ON_LINE: &str = "Joints lie on the line";
    /// What was drawn.
    pub const DRAWN: &str = "Drawn so far";
    /// Nothing yet.
    pub const NOTHING: &str = "Nothing yet.";
    /// To its view.
    pub const GO: &str = "Show";
    /// Its tooltip.
    pub const GO_TIP: &str = "Go to the moment and the view it was drawn at. Drag its knots to change it.";
    /// Part of what is there.
    pub const JOIN: &str = "Into the selected pose";
    /// What that does.
    pub const JOIN_TIP: &str =
        "Strokes drawn at the moment of the selected pose become part of it; they come and go together";
    /// Several of them.
    pub const STROKES: &str = "strokes";
    /// Removes the last of several.
    pub const REMOVE_LAST: &str = "Remove last";
    /// Removes it.
    pub const REMOVE: &str = "Remove stroke";
    /// Changes it.
    pub const REDRAW: &str = "Change stroke";
}

/// Bones.
pub mod bones {
    /// The tab.
    pub const TAB: &str = "Bones";
    /// Search.
    pub const FILTER: &str = "find a bone";
    /// What it is.
    pub const ROLE: &str = "Part";
    /// None selected.
    pub const NONE: &str = "Click a bone here, or click the character.";
    /// Of which effect.
    pub const GAIN_OF: &str = "Gain of";
    /// Rotation.
    pub const ROTATION: &str = "turns";
    /// Translation.
    pub const TRANSLATION: &str = "moves";
    /// Squash about a point.
    pub const ABOUT_POINT: &str = "squash about a point";
    /// Its centre.
    pub const CENTRE: &str = "Centre";
    /// Its tooltip.
    pub const CENTRE_TIP: &str =
        "Show the centre of this bone's squash: drag its dot across the picture, or the end of an axis along it";
    /// As the skin has it.
    pub const CENTRE_OF_SKIN: &str = "Back to the skin's";
    /// What it follows.
    pub const FOLLOWS: &str = "Follows";
    /// Its tooltip.
    pub const FOLLOWS_TIP: &str =
        "The bone that carries this one, as effects see it: a foot that the file hangs on its root follows the shin";
    /// As the body has it.
    pub const AS_BODY: &str = "as the body has it";
}

/// Why did this move.
pub mod why {
    /// The tab.
    pub const TAB: &str = "Why";
    /// Nothing selected.
    pub const NONE: &str = "Click the character: which effect and which bone move that point, and how far.";
    /// In all.
    pub const WHOLE: &str = "moved in all";
    /// The rest.
    pub const REST: &str = "feet, rigid pieces, limits, corrections";
    /// To its slider.
    pub const GO: &str = "Go to its slider";
    /// Over the clip.
    pub const OVER_CLIP: &str = "Displacement over the clip";
}

/// Findings.
pub mod check {
    /// The tab.
    pub const TAB: &str = "Check";
    /// Looks.
    pub const RUN: &str = "Check all clips";
    /// While it looks.
    pub const RUNNING: &str = "Looking at every clip…";
    /// All is well.
    pub const FINE: &str = "Nothing stands out in any clip.";
    /// What was found so far is of an older state.
    pub const STALE: &str = "The recipe has changed since; check again.";
    /// Lowers the strength.
    pub const LOWER: &str = "Lower all by a fifth";
    /// Its tooltip.
    pub const LOWER_TIP: &str = "Scale every gain and strength of the recipe by 0.8";
}

/// Pictures and films.
pub mod pictures {
    /// Heading.
    pub const TITLE: &str = "Picture or film";
    /// Its tooltip.
    pub const TITLE_TIP: &str =
        "From the side you look from, with the whole clip in view; ghost, skeleton and wire as they are shown";
    /// What it is.
    pub const KINDS: [&str; 3] = ["Still (PNG)", "Film (GIF)", "Film (APNG)"];
    /// Pixels.
    pub const WIDTH: &str = "width ";
    /// Pixels.
    pub const HEIGHT: &str = "height ";
    /// Frames per second.
    pub const FPS: &str = " a second";
    /// Makes it.
    pub const MAKE: &str = "Make it";
    /// Its tooltip.
    pub const MAKE_TIP: &str = "Save the recipe, draw, and write the file beside it";
    /// While it is drawn.
    pub const DRAWING: &str = "drawing";
    /// Written.
    pub const WROTE: &str = "Wrote";
}

/// Files.
pub mod keep {
    /// The tab.
    pub const TAB: &str = "Export";
    /// Where the recipe goes.
    pub const RECIPE: &str = "Recipe";
    /// Where the file goes.
    pub const FILE: &str = "Character";
    /// Exports.
    pub const EXPORT: &str = "Export";
    /// Its tooltip.
    pub const EXPORT_TIP: &str = "Save the recipe, and bake the effects into a file that plays in Blender, Unity, Unreal, Godot, Bevy and three.js";
    /// While it does.
    pub const BAKING: &str = "Baking…";
    /// Largest error.
    pub const TOLERANCE: &str = "Largest error";
    /// Its tooltip.
    pub const TOLERANCE_TIP: &str = "As a share of the character's size. Smaller is more exact, and a larger file.";
    /// Packed.
    pub const MESHOPT: &str = "Compress (meshopt)";
    /// Its tooltip.
    pub const MESHOPT_TIP: &str = "For three.js, Babylon.js and Unity with its package; Blender does not read it";
    /// The command.
    pub const COMMAND: &str = "The same on the command line";
    /// Copies.
    pub const COPY: &str = "Copy";
    /// The recipe's text.
    pub const TEXT: &str = "Recipe as text";
    /// Takes the text.
    pub const APPLY: &str = "Apply";
    /// The trade-off.
    pub const TRADE: &str = "Error by number of morph targets";
    /// Saved.
    pub const SAVED: &str = "Saved";
    /// Exported.
    pub const EXPORTED: &str = "Exported";
}

/// The tour: what is pointed at, and what is said.
pub const TOUR: [(&str, &str); 6] = [
    (
        "Look",
        "Drag in the picture to orbit, use the wheel to zoom, Space to play. \"Ghost\" shows the original as a blue veil.",
    ),
    (
        "Style",
        "Choose a style on the left. The studio looks at the character first: what is soft, what is rigid, what stands on the ground.",
    ),
    ("Strength", "One slider says how far the liveliest part moves. It means the same on every character."),
    ("Paint", "On the Paint tab, make a map and drag on the skin. The effect moves while you paint."),
    ("Why", "Click any place on the character, then open Why: every cause is listed, with a way to its slider."),
    ("Export", "Save keeps the recipe as text. Export bakes a file that plays anywhere, and says how exact it is."),
];
/// The next page.
pub const TOUR_NEXT: &str = "Next";
/// The last page.
pub const TOUR_END: &str = "Start";
/// Not now.
pub const TOUR_SKIP: &str = "Skip";
/// What was read goes away.
pub const CLOSE: &str = "Close";
