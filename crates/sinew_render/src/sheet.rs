//! Contact sheets: pictures of one size in rows and columns, with captions.

use crate::font::{draw_text_centered, text_width};
use crate::image::{Image, Size};

/// A sheet to be filled.
#[derive(Clone, Debug)]
pub struct Sheet<'a> {
    /// Over everything; empty for none.
    pub title: &'a str,
    /// One per column, under the last row; missing ones are left out.
    pub columns: &'a [String],
    /// One per row, above it; missing ones are left out.
    pub rows: &'a [String],
    /// Pictures, row by row; all of one size.
    pub cells: &'a [Vec<Image>],
}

/// Why a sheet cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SheetError {
    /// There is no picture.
    #[error("a contact sheet needs at least one picture")]
    Empty,
    /// A picture has another size.
    #[error("picture {column} of row {row} of the contact sheet is not the size of the first; draw all with one size")]
    Sizes {
        /// From 0.
        row: usize,
        /// From 0.
        column: usize,
    },
    /// The sheet would be too large.
    #[error("the contact sheet would be {width} × {height} pixels; draw fewer or smaller pictures")]
    TooLarge {
        /// Pixels.
        width: u64,
        /// Pixels.
        height: u64,
    },
}

const PAPER: [u8; 4] = [250, 249, 247, 255];
const INK: [u8; 3] = [52, 56, 64];

impl Sheet<'_> {
    /// Puts the sheet together.
    pub fn compose(&self) -> Result<Image, SheetError> {
        let cell = self.cells.iter().flatten().next().ok_or(SheetError::Empty)?.size();
        for (row, images) in self.cells.iter().enumerate() {
            if let Some(column) = images.iter().position(|i| i.size() != cell) {
                return Err(SheetError::Sizes { row, column });
            }
        }
        let columns = self.cells.iter().map(Vec::len).max().unwrap_or(1) as u64;
        let rows = self.cells.len() as u64;
        let (cell_width, cell_height) = (u64::from(cell.width()), u64::from(cell.height()));
        // Letters keep their proportion to the pictures, within what can be read.
        let text = (cell_height as f32 / 26.0).clamp(8.0, 28.0);
        let line = (2.2 * text) as u64;
        let gap = (cell_width.min(cell_height) / 48).max(4);
        let head = if self.title.is_empty() { gap } else { line + 2 * gap };
        let row_head = if self.rows.is_empty() { 0 } else { line };
        let foot = if self.columns.is_empty() { 0 } else { line };
        let width = columns * (cell_width + gap) + gap;
        let height = head + rows * (row_head + cell_height + gap) + foot;
        let side = |s: u64| u32::try_from(s).unwrap_or(u32::MAX);
        let size = Size::new(side(width), side(height)).ok_or(SheetError::TooLarge { width, height })?;

        let mut page = Image::filled(size, PAPER);
        if !self.title.is_empty() {
            write(&mut page, self.title, 0, 0, width, head, 1.15 * text);
        }
        for (r, images) in self.cells.iter().enumerate() {
            let top = head + r as u64 * (row_head + cell_height + gap);
            if let Some(caption) = self.rows.get(r) {
                write(&mut page, caption, 0, top, width, row_head, text);
            }
            for (c, image) in images.iter().enumerate() {
                page.paste(image, side(gap + c as u64 * (cell_width + gap)), side(top + row_head));
            }
        }
        for (c, caption) in self.columns.iter().enumerate().take(columns as usize) {
            let left = gap + c as u64 * (cell_width + gap);
            write(&mut page, caption, left, height - foot - gap / 2, cell_width, foot, text);
        }
        Ok(page)
    }
}

/// Writes a caption into the middle of a box, smaller if it would not fit.
fn write(page: &mut Image, caption: &str, left: u64, top: u64, width: u64, height: u64, text: f32) {
    let full = text_width(caption, text);
    let text = if full > 0.95 * width as f32 { text * 0.95 * width as f32 / full } else { text };
    let baseline = top as f32 + 0.5 * (height as f32 + text);
    draw_text_centered(page, caption, left as f32 + 0.5 * width as f32, baseline, text, INK);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(w: u32, h: u32, grey: u8) -> Image {
        Image::filled(Size::new(w, h).unwrap(), [grey, grey, grey, 255])
    }

    #[test]
    fn every_picture_is_there_once_and_whole() {
        let cells: Vec<Vec<Image>> = (0..2).map(|r| (0..3).map(|c| image(40, 30, 10 + r * 3 + c)).collect()).collect();
        let columns = ["a", "b", "c"].map(String::from);
        let rows = ["base", "lively"].map(String::from);
        let page = Sheet { title: "Calf", columns: &columns, rows: &rows, cells: &cells }.compose().unwrap();
        for grey in 10..16 {
            let count = page.pixels().iter().filter(|p| p[..3] == [grey; 3]).count();
            assert!(count >= 40 * 30, "{grey}: {count}");
        }
    }

    #[test]
    fn sheets_that_cannot_be_are_refused() {
        let sheet = |cells: &[Vec<Image>]| Sheet { title: "", columns: &[], rows: &[], cells }.compose();
        assert_eq!(sheet(&[]), Err(SheetError::Empty));
        assert_eq!(sheet(&[vec![image(4, 4, 0), image(5, 4, 0)]]), Err(SheetError::Sizes { row: 0, column: 1 }));
        let many: Vec<_> = (0..40).map(|_| image(500, 1, 0)).collect();
        assert!(matches!(sheet(&[many]), Err(SheetError::TooLarge { .. })));
    }
}
