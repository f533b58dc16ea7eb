//! `cargo xtask gpu`: what the GPU makes and draws is what the processor makes and draws, on Mesa's software driver where there is no GPU.

use crate::command::{cargo, program, succeed, works};
use std::path::Path;

/// Where drivers of Vulkan say that they are there.
const DRIVERS: [&str; 2] = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
/// Ours whose tests run on it.
pub const PACKAGES: [&str; 2] = ["sinew_gpu", "sinew_view"];
/// Debian's packages of a driver that computes on the processor, and of what programs find drivers by.
const DRIVER_PACKAGES: [&str; 2] = ["mesa-vulkan-drivers", "libvulkan1"];

/// Why there was nothing to compute on.
pub struct Missing(pub String);

/// Finds a driver, or installs Mesa's.
pub fn find_driver() -> Result<(), Missing> {
    if has_driver() {
        return Ok(());
    }
    eprintln!("no driver of Vulkan is here: installing {}", DRIVER_PACKAGES.join(" and "));
    let install = |update: bool| {
        if update {
            // The lists may be of yesterday; where they cannot be had, those that are there may do.
            let _ = succeed(program("apt-get").args(["update", "--quiet"]));
        }
        let mut apt = program("apt-get");
        succeed(apt.args(["install", "--yes", "--quiet", "--no-install-recommends"]).args(DRIVER_PACKAGES))
    };
    let installed = works(program("apt-get").arg("--version")) && (install(false).is_ok() || install(true).is_ok());
    if installed && has_driver() {
        return Ok(());
    }
    let packages = DRIVER_PACKAGES.join(" ");
    Err(Missing(format!(
        "NO GPU AND NO SOFTWARE DRIVER: no shader was run; install a driver of Vulkan ({packages} on Debian)"
    )))
}

/// Whether there is something to run shaders on; Metal and DirectX need no driver.
pub fn has_driver() -> bool {
    let named = |folder: &str| Path::new(folder).read_dir().is_ok_and(|mut entries| entries.next().is_some());
    cfg!(not(target_os = "linux"))
        || std::env::var_os("VK_ICD_FILENAMES").is_some()
        || std::env::var_os("VK_DRIVER_FILES").is_some()
        || DRIVERS.iter().any(|folder| named(folder))
}

/// The tests of what runs on the GPU, with all that they have to say.
pub fn tests() -> Result<(), String> {
    let packages = PACKAGES.iter().flat_map(|package| ["--package", package]);
    succeed(cargo("test --lib --tests").args(packages).args(["--", "--nocapture"]).env("RUST_TEST_THREADS", "1"))
}
