//! `cargo xtask web [FOLDER]`: the studio as a folder of static files, which any web server serves.
//!
//! Compiled for browsers in a target directory of its own, given its JavaScript by wasm-bindgen, made smaller by npm's
//! binaryen where that is, packed. The page unpacks the module itself, so that it is as small behind any server. The half
//! that needs wasm-bindgen's libraries is compiled with the feature `web`, which this command asks for when it runs.

use crate::command::{cargo, program, root, stdout, succeed, target_dir};
use serde_json::Value;
use std::path::Path;

/// Of a bake, as a share of the size.
const TOLERANCE: f64 = 1e-3;
/// Jobs run on the one stack that a module has, as large as the first of a program.
const STACK: usize = 8 << 20;

/// Compiles the module, and has the rest done by this program with its feature.
pub fn run(folder: &str) -> Result<(), String> {
    crate::wasm32::install(crate::wasm32::BROWSER)?;
    let target = target_dir().join("web");
    let flags = format!("-Ctarget-feature=+simd128\x1f-Clink-arg=-zstack-size={STACK}");
    let build =
        format!("build --profile web --package sinew_studio --bin sinew_studio --target {}", crate::wasm32::BROWSER);
    succeed(cargo(&build).env("CARGO_ENCODED_RUSTFLAGS", flags).env("CARGO_TARGET_DIR", &target))?;
    let module = target.join(crate::wasm32::BROWSER).join("web/sinew_studio.wasm");
    let folder = root().join(folder);
    succeed(cargo("run --quiet --package xtask --features web -- web-folder").arg(&module).arg(&folder))
}

/// The folder, opened in headless Chromium and used; what it exports is what the command makes of the recipe it
/// saves, within the tolerance of the bake.
pub fn check() -> Result<(), String> {
    run("target/studio-web")?;
    let packages = target_dir().join("web/node");
    let playwright = packages.join("node_modules/playwright-core");
    if !playwright.exists() {
        std::fs::create_dir_all(&packages).map_err(|error| error.to_string())?;
        let mut npm = program("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "playwright-core@1"]);
        succeed(npm.current_dir(&packages))?;
    }
    let chromium = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(|name| {
        let found = stdout(program("sh").args(["-c", &format!("command -v {name}")]))?;
        Some(found.trim().to_owned())
    });
    let chromium = chromium.ok_or("CHROMIUM IS NOT HERE: the studio was not opened in a browser")?;
    let screens = target_dir().join("web/screens");
    let mut check = program("node");
    check.arg(root().join("xtask/src/web/check.mjs")).arg(root().join("target/studio-web"));
    succeed(check.arg(playwright).arg(chromium).arg(&screens))?;
    let native = screens.join("native.glb");
    let mut bake = cargo("run --quiet --package sinew_cli -- bake zoo:calf --force --recipe");
    succeed(bake.arg(screens.join("calf.sinew.toml")).arg("-o").arg(&native))?;
    let mut diff = cargo("run --quiet --package sinew_cli -- diff --json");
    // That they differ in the last digits is no fault; how far apart they move counts.
    let told = diff.arg(&native).arg(screens.join("calf-lively.glb")).output().map_err(|error| error.to_string())?;
    let told: Value = serde_json::from_slice(&told.stdout).map_err(|error| format!("sinew diff: {error}"))?;
    let motion = told["motion"].as_array().filter(|clips| clips.len() > 1).ok_or("the exported file does not play")?;
    let shares = motion.iter().map(|clip| clip["share_of_size"].as_f64().unwrap_or(f64::INFINITY));
    let apart = shares.fold(0.0, f64::max);
    println!("the tab's export and the command's are {:.4} % of the size apart at most", 100.0 * apart);
    if apart > TOLERANCE { Err(format!("they may be {} % apart", 100.0 * TOLERANCE)) } else { Ok(()) }
}

/// Without the feature there is nothing to do it with.
#[cfg(not(feature = "web"))]
pub fn folder(_: &Path, _: &Path) -> Result<(), String> {
    Err("this is a part of `cargo xtask web`".to_owned())
}

/// Puts the folder together from the module.
#[cfg(feature = "web")]
pub fn folder(module: &Path, folder: &Path) -> Result<(), String> {
    use std::hash::{DefaultHasher, Hash, Hasher};

    let told = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    if folder.exists() {
        // Only what this command has made is replaced.
        if !folder.join("service.js").exists() {
            return Err(format!("{}: is no folder of the studio's; name another", folder.display()));
        }
        std::fs::remove_dir_all(folder).map_err(told(folder))?;
    }
    std::fs::create_dir_all(folder).map_err(told(folder))?;
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    bindgen.input_path(module).typescript(false);
    let bound = bindgen.web(true).and_then(|bindgen| bindgen.generate(folder));
    bound.map_err(|error| format!("{}: {error:#}", module.display()))?;
    let plain = folder.join("sinew_studio_bg.wasm");
    optimise(&plain);
    let bytes = std::fs::read(&plain).map_err(told(&plain))?;
    let packed = gzip(&bytes)?;
    let mut hasher = DefaultHasher::new();
    let sources = root().join("crates/sinew_studio/web");
    let names = ["index.html", "page.css", "icon.svg", "page.js", "worker.js", "service.js"];
    let mut texts = Vec::new();
    for name in names {
        let path = sources.join(name);
        texts.push((name, std::fs::read_to_string(&path).map_err(told(&path))?));
    }
    packed.hash(&mut hasher);
    let module = format!("sinew_studio.{:016x}.packed", hasher.finish());
    texts.hash(&mut hasher);
    let version = format!("{:016x}", hasher.finish());
    std::fs::remove_file(&plain).map_err(told(&plain))?;
    std::fs::write(folder.join(&module), &packed).map_err(told(folder))?;
    for (name, text) in &texts {
        let text = text.replace("@MODULE@", &module).replace("@BYTES@", &packed.len().to_string());
        std::fs::write(folder.join(name), text.replace("@VERSION@", &version)).map_err(told(folder))?;
    }
    println!("{:<34} {:>11} {:>11}", "file", "bytes", "packed");
    let mut sums = [0; 2];
    for name in names.into_iter().chain(["sinew_studio.js"]) {
        let bytes = std::fs::read(folder.join(name)).map_err(told(folder))?;
        let small = gzip(&bytes)?.len();
        println!("{name:<34} {:>11} {small:>11}", bytes.len());
        sums[1] += small;
        // All that the first picture needs.
        sums[0] += if ["index.html", "page.css", "icon.svg", "page.js"].contains(&name) { small } else { 0 };
    }
    println!("{module:<34} {:>11} {:>11}", bytes.len(), packed.len());
    println!(
        "to the first paint {:.1} kB, to ready {:.2} MB",
        sums[0] as f64 / 1e3,
        (sums[1] + packed.len()) as f64 / 1e6
    );
    println!("{}: serve it by any web server, over https or from this machine", folder.display());
    Ok(())
}

/// npm's binaryen, where it is; older ones break modules.
#[cfg(feature = "web")]
fn optimise(module: &Path) {
    const FEATURES: [&str; 8] = [
        "--enable-simd",
        "--enable-bulk-memory",
        "--enable-nontrapping-float-to-int",
        "--enable-sign-ext",
        "--enable-mutable-globals",
        "--enable-reference-types",
        "--enable-multivalue",
        "--enable-bulk-memory-opt",
    ];
    let found = std::env::var_os("SINEW_WASM_OPT").filter(|path| Path::new(path).exists());
    let Some(found) = found else {
        return println!("SINEW_WASM_OPT names no wasm-opt (npm binaryen): the module is left as it was compiled");
    };
    let mut run = program("node");
    run.arg(found).arg("-Os").args(FEATURES).arg(module).arg("-o").arg(module);
    if let Err(error) = succeed(&mut run) {
        println!("{error}: the module is left as it was compiled");
    }
}

#[cfg(feature = "web")]
fn gzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes).and_then(|()| packer.finish()).map_err(|error| error.to_string())
}
