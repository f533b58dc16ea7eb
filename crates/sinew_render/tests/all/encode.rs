//! Files read back by decoders.

use sinew_render::encode::*;
use sinew_render::{Image, Size};

fn size(w: u32, h: u32) -> Size {
    Size::new(w, h).unwrap()
}

/// A small disc that moves over a gradient, standing still between frames 2 and 3.
fn film() -> Vec<Image> {
    let (w, h) = (48, 36);
    [0, 1, 2, 2, 3]
        .map(|t| {
            let pixel = |i: u32| {
                let (x, y) = (i % w, i / w);
                let (dx, dy) = (x as i32 - 10 - 6 * t, y as i32 - 18);
                if dx * dx + dy * dy < 60 { [220, 60, 40, 255] } else { [200 + y as u8, 210, 220, 255] }
            };
            Image::from_pixels(size(w, h), (0..w * h).map(pixel).collect()).unwrap()
        })
        .to_vec()
}

fn rate() -> FrameRate {
    FrameRate::new(30.0).unwrap()
}

#[test]
fn png_comes_back() {
    let mut clear = film()[0].clone();
    clear.fill(0, 0, 48, 36, [1, 2, 3], 0.5);
    let translucent = Image::from_pixels(size(2, 1), vec![[1, 2, 3, 4], [5, 6, 7, 255]]).unwrap();
    for image in [&film()[0], &clear, &translucent] {
        let mut bytes = Vec::new();
        write_png(&mut bytes, image).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut buffer).unwrap();
        let channels = info.color_type.samples();
        for (read, written) in buffer.chunks(channels).zip(image.pixels()) {
            assert_eq!(read, &written[..channels]);
            assert!(channels == 4 || written[3] == 255);
        }
    }
}

#[test]
fn apng_comes_back_frame_by_frame() {
    let frames = film();
    let mut bytes = Vec::new();
    let mut writer = ApngWriter::new(&mut bytes, frames[0].size(), rate(), frames.len() as u32).unwrap();
    frames.iter().for_each(|f| writer.frame(f).unwrap());
    writer.finish().unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
    assert_eq!(reader.info().animation_control().unwrap().num_frames, frames.len() as u32);
    let mut canvas = frames[0].clone();
    for frame in &frames {
        let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut buffer).unwrap();
        let control = *reader.info().frame_control().unwrap();
        assert!((f64::from(control.delay_num) / f64::from(control.delay_den) - 1.0 / 30.0).abs() < 1e-6);
        let pixels: Vec<[u8; 4]> = buffer[..info.buffer_size()].as_chunks().0.to_vec();
        let part = Image::from_pixels(size(info.width, info.height), pixels).unwrap();
        canvas.paste(&part, control.x_offset, control.y_offset);
        assert_eq!(&canvas, frame);
    }
}

#[test]
fn gif_comes_back_in_255_colours() {
    let frames = film();
    let mut bytes = Vec::new();
    write_gif(&mut bytes, &frames, rate()).unwrap();
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut reader = options.read_info(&bytes[..]).unwrap();
    let mut canvas = Image::filled(frames[0].size(), [0; 4]);
    let (mut read, mut time) = (0, 0);
    while let Some(frame) = reader.read_next_frame().unwrap() {
        time += u32::from(frame.delay);
        for (i, pixel) in frame.buffer.as_chunks::<4>().0.iter().enumerate() {
            if pixel[3] == 255 {
                let (x, y) = (i % usize::from(frame.width), i / usize::from(frame.width));
                let (x, y) = (x + usize::from(frame.left), y + usize::from(frame.top));
                canvas.blend(x as i64, y as i64, [pixel[0], pixel[1], pixel[2]], 1.0);
            }
        }
        for (got, want) in canvas.pixels().iter().zip(frames[read].pixels()) {
            // Fewer colours than the palette holds: only the 6-bit bins' means remain as error.
            assert!((0..4).all(|c| got[c].abs_diff(want[c]) <= 3), "{got:?} {want:?}");
        }
        read += 1;
    }
    assert_eq!(read, frames.len());
    assert_eq!(time, 17, "five frames at 30 per second are 16.7 hundredths");
}

#[test]
fn a_gif_may_have_holes() {
    let mut frames = film();
    for (i, frame) in frames.iter_mut().enumerate() {
        let mut pixels = frame.pixels().to_vec();
        pixels[i] = [0; 4];
        *frame = Image::from_pixels(frame.size(), pixels).unwrap();
    }
    let mut bytes = Vec::new();
    write_gif(&mut bytes, &frames, rate()).unwrap();
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut reader = options.read_info(&bytes[..]).unwrap();
    let mut index = 0;
    while let Some(frame) = reader.read_next_frame().unwrap() {
        let clear: Vec<usize> =
            frame.buffer.as_chunks::<4>().0.iter().enumerate().filter(|(_, p)| p[3] == 0).map(|(i, _)| i).collect();
        assert_eq!(clear, [index]);
        index += 1;
    }
}

#[test]
fn many_colours_are_met_closely() {
    // Far more colours than a palette holds.
    let pixel = |i: u32| [(i % 64 * 4) as u8, (i / 64 * 4) as u8, (i % 7 * 30) as u8, 255];
    let image = Image::from_pixels(size(64, 64), (0..4096).map(pixel).collect()).unwrap();
    let mut bytes = Vec::new();
    write_gif(&mut bytes, std::slice::from_ref(&image), rate()).unwrap();
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut reader = options.read_info(&bytes[..]).unwrap();
    let frame = reader.read_next_frame().unwrap().unwrap();
    let errors = frame.buffer.iter().zip(image.bytes()).map(|(a, b)| f64::from(a.abs_diff(*b)));
    let mean = errors.sum::<f64>() / image.bytes().len() as f64;
    // 255 even cells in the cube would leave about 256/255^(1/3)/4 = 10 per channel.
    assert!(mean < 10.0, "{mean}");
}

#[test]
fn films_that_cannot_be_are_refused() {
    let frames = film();
    assert!(FrameRate::new(0.0).is_none() && FrameRate::new(f64::NAN).is_none() && FrameRate::new(1e9).is_none());
    assert!(matches!(write_gif(Vec::new(), &[], rate()), Err(EncodeError::NoFrames)));
    let other = Image::filled(size(2, 2), [0; 4]);
    let mixed = [frames[0].clone(), other.clone()];
    assert!(matches!(write_gif(Vec::new(), &mixed, rate()), Err(EncodeError::FrameSize { frame: 1 })));
    assert!(matches!(ApngWriter::new(Vec::new(), size(2, 2), rate(), 0), Err(EncodeError::NoFrames)));
    let mut writer = ApngWriter::new(Vec::new(), size(2, 2), rate(), 1).unwrap();
    assert!(matches!(writer.frame(&frames[0]), Err(EncodeError::FrameSize { frame: 0 })));
    writer.frame(&other).unwrap();
    assert!(matches!(writer.frame(&other), Err(EncodeError::FrameCount { announced: 1, got: 2 })));
    let writer = ApngWriter::new(Vec::new(), size(2, 2), rate(), 3).unwrap();
    assert!(matches!(writer.finish(), Err(EncodeError::FrameCount { announced: 3, got: 0 })));
}
