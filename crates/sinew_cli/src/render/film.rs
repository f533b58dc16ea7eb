//! Moving pictures: frames drawn on all cores, a few at a time, and handed to the encoder in order.

use super::moments::Film;
use crate::fault::Fault;
use crate::output::{Destination, Stopped};
use crate::progress::Progress;
use rayon::prelude::*;
use sinew_render::Image;
use sinew_render::encode::{ApngWriter, EncodeError, GifWriter, Mp4Writer};

/// Frames whose colours stand for all of a GIF's.
const GIF_SAMPLES: usize = 12;

/// How a film is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilmFormat {
    Apng,
    Gif,
    Mp4,
}

/// Draws every time with `draw`, as many at once as there are threads, and passes the results on in order.
pub fn in_order<T: Send, E>(
    times: &[f64],
    draw: impl Fn(f64) -> Result<T, Fault> + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E>
where
    E: From<Fault>,
{
    for batch in times.chunks(rayon::current_num_threads().max(1)) {
        let drawn: Vec<_> = batch.par_iter().map(|&time| draw(time)).collect();
        for result in drawn {
            take(result?)?;
        }
    }
    Ok(())
}

/// Draws and writes a film.
pub fn write(
    destination: &Destination,
    format: FilmFormat,
    film: &Film,
    draw: impl Fn(f64) -> Result<Image, Fault> + Sync,
    progress: &Progress,
) -> Result<(), Fault> {
    let fault = |error: EncodeError| Fault::in_file(destination, error);
    let first = film.times.first().copied().unwrap_or(0.0);
    match format {
        FilmFormat::Apng => destination.write(|out| -> Result<(), Stopped> {
            let size = draw(first)?.size();
            let frames = u32::try_from(film.times.len()).unwrap_or(u32::MAX);
            let mut writer = ApngWriter::new(out, size, film.rate, frames).map_err(fault)?;
            in_order(&film.times, &draw, |image| {
                progress.advance();
                writer.frame(&image).map_err(fault)
            })?;
            Ok(writer.finish().map_err(fault)?)
        }),
        FilmFormat::Gif => destination.write(|out| -> Result<(), Stopped> {
            let step = film.times.len().div_ceil(GIF_SAMPLES).max(1);
            let some: Vec<f64> = film.times.iter().copied().step_by(step).collect();
            let mut samples = Vec::new();
            in_order(&some, &draw, |image| -> Result<(), Fault> {
                samples.push(image);
                Ok(())
            })?;
            let mut writer = GifWriter::new(out, &samples, film.rate).map_err(fault)?;
            drop(samples);
            in_order(&film.times, &draw, |image| {
                progress.advance();
                writer.frame(&image).map_err(fault)
            })?;
            Ok(writer.finish().map_err(fault)?)
        }),
        FilmFormat::Mp4 => destination.write_at(|path| {
            let mut writer = Mp4Writer::new(path, draw(first)?.size(), film.rate).map_err(fault)?;
            in_order(&film.times, &draw, |image| {
                progress.advance();
                writer.frame(&image).map_err(fault)
            })?;
            writer.finish().map_err(fault)
        }),
    }
}
