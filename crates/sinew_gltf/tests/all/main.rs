//! The tests of `sinew_gltf` through its public interface: one program, because linking each file by itself took longer
//! than running it.

#![allow(clippy::print_stdout, reason = "figures and tables are read by hand")]

mod agrees_with_spec;
mod anatomy_on_real_characters;
mod avatars;
mod bind_on_real_characters;
mod binding;
mod borrowed;
mod changed_tracks;
mod common;
mod compressed;
mod contacts_on_real_characters;
mod diff;
mod effects_on_real_characters;
mod export;
mod hierarchy;
mod layer;
mod malformed;
mod map_files;
mod muscles_on_real_characters;
mod normals_on_real_characters;
mod posed;
mod real_characters;
mod resolution_on_real_characters;
mod rigid_on_real_characters;
mod rigid_parts;
mod sewn_on_real_characters;
mod springs_on_real_characters;
mod surfaces;
mod turned_normals_on_real_characters;
mod volume_on_real_characters;
mod writing;
