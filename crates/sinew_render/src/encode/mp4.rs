//! Films as MP4 (H.264), by the program `ffmpeg`, which gets the frames through a pipe.

use super::{EncodeError, FrameRate};
use crate::image::{Image, Size};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Takes the frames of a film one by one. Dropped without [`Mp4Writer::finish`], it stops the program and leaves an
/// unfinished file.
pub struct Mp4Writer {
    child: Child,
    size: Size,
    got: usize,
}

impl Mp4Writer {
    /// Starts a film at `path`, which is written from the beginning if it exists.
    pub fn new(path: &Path, size: Size, rate: FrameRate) -> Result<Self, EncodeError> {
        Self::start("ffmpeg", path, size, rate)
    }

    fn start(program: &str, path: &Path, size: Size, rate: FrameRate) -> Result<Self, EncodeError> {
        let mut command = Command::new(program);
        command.args(["-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgba"]);
        command.args(["-s", &format!("{}x{}", size.width(), size.height())]);
        command.args(["-r", &rate.frames_per_second().to_string(), "-i", "-", "-an"]);
        // H.264 at its most compatible wants even sides.
        command.args(["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white"]);
        command.args(["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-preset", "medium"]);
        command.args(["-movflags", "+faststart", "-f", "mp4"]).arg(path);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|e| match e.kind() {
            ErrorKind::NotFound => EncodeError::NoFfmpeg,
            _ => EncodeError::Ffmpeg(e.to_string()),
        })?;
        Ok(Self { child, size, got: 0 })
    }

    /// Adds a frame.
    pub fn frame(&mut self, image: &Image) -> Result<(), EncodeError> {
        if image.size() != self.size {
            return Err(EncodeError::FrameSize { frame: self.got });
        }
        let sent = self.child.stdin.as_mut().map(|pipe| pipe.write_all(image.bytes()));
        match sent {
            Some(Ok(())) => {
                self.got += 1;
                Ok(())
            }
            _ => Err(self.close().err().unwrap_or_else(|| EncodeError::Ffmpeg("it stopped early".into()))),
        }
    }

    /// Ends the film and waits until it is written.
    pub fn finish(mut self) -> Result<(), EncodeError> {
        if self.got == 0 {
            return Err(EncodeError::NoFrames);
        }
        self.close()
    }

    fn close(&mut self) -> Result<(), EncodeError> {
        drop(self.child.stdin.take());
        let mut complaint = String::new();
        if let Some(mut pipe) = self.child.stderr.take() {
            // Not UTF-8 or broken off: the exit status still tells whether it went well.
            let _ = pipe.read_to_string(&mut complaint);
        }
        let status = self.child.wait().map_err(|e| EncodeError::Ffmpeg(e.to_string()))?;
        if status.success() { Ok(()) } else { Err(EncodeError::Ffmpeg(format!("{status}; {}", complaint.trim()))) }
    }
}

impl Drop for Mp4Writer {
    fn drop(&mut self) {
        // Either may fail only because the program has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_remedy() {
        let (size, rate) = (Size::new(4, 4).unwrap(), FrameRate::new(30.0).unwrap());
        let error = Mp4Writer::start("no-such-ffmpeg", Path::new("film.mp4"), size, rate).err().unwrap();
        assert!(matches!(error, EncodeError::NoFfmpeg));
        assert!(error.to_string().contains("apt install ffmpeg") && error.to_string().contains(".gif"));
    }
}
