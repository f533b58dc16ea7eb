//! `sinew_studio [FILE]`: the studio in a window; as WebAssembly, in a browser's tab.

#[cfg(target_arch = "wasm32")]
fn main() {
    sinew_studio::browser::run();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    use eframe::egui;
    use sinew_studio::shell::studio::Studio;

    let file = std::env::args_os().nth(1);
    let viewport =
        egui::ViewportBuilder::default().with_inner_size([1280.0, 720.0]).with_min_inner_size([800.0, 500.0]);
    let options = eframe::NativeOptions { viewport, ..eframe::NativeOptions::default() };
    let state = sinew_studio::keep::state_folder();
    let outcome = eframe::run_native(
        sinew_studio::words::TITLE,
        options,
        Box::new(|context| {
            let mut studio = Studio::new(state, context.wgpu_render_state.as_ref());
            if let Some(file) = file {
                studio.open_argument(&file, &context.egui_ctx);
            }
            Ok(Box::new(studio))
        }),
    );
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            // There is no window to say it in.
            let words = format!(
                "sinew studio: {error}; a display and a graphics driver (Vulkan, Metal or DirectX 12) are needed\n"
            );
            let _ = std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes());
            std::process::ExitCode::FAILURE
        }
    }
}
