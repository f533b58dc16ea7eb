//! The one reader of accessors: every number of geometry, skins and animation comes through here.
//!
//! Source: glTF 2.0 specification, chapters 3.6.2 (accessors, sparse accessors) and 3.11 (normalised integers).
//! All bounds are checked before anything is allocated, and what is allocated is drawn from a [`Budget`], so a
//! file cannot make the reader allocate by declaring.

use crate::error::{Fault, Kind};
use crate::limits::{Limits, RAISE};
use crate::view::View;
use std::cell::Cell;

/// Storage of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    /// The storage glTF gives this code.
    pub fn of_code(code: u64) -> Option<Self> {
        Some(match code {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            _ => return None,
        })
    }

    /// glTF's `componentType`.
    pub fn code(self) -> u32 {
        match self {
            Self::I8 => 5120,
            Self::U8 => 5121,
            Self::I16 => 5122,
            Self::U16 => 5123,
            Self::U32 => 5125,
            Self::F32 => 5126,
        }
    }

    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    /// glTF's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::I8 => "BYTE",
            Self::U8 => "UNSIGNED_BYTE",
            Self::I16 => "SHORT",
            Self::U16 => "UNSIGNED_SHORT",
            Self::U32 => "UNSIGNED_INT",
            Self::F32 => "FLOAT",
        }
    }

    /// The largest value of an unsigned integer type: as an index it means primitive restart.
    pub fn largest_index(self) -> Option<u32> {
        match self {
            Self::U8 => Some(u32::from(u8::MAX)),
            Self::U16 => Some(u32::from(u16::MAX)),
            Self::U32 => Some(u32::MAX),
            _ => None,
        }
    }

    /// The number that starts at `bytes`, which holds at least [`Self::size`] of them.
    pub fn float(self, bytes: &[u8], normalized: bool) -> f32 {
        let (value, largest) = match self {
            Self::F32 => return f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            Self::I8 => (f64::from(i8::from_le_bytes([bytes[0]])), f64::from(i8::MAX)),
            Self::U8 => (f64::from(bytes[0]), f64::from(u8::MAX)),
            Self::I16 => (f64::from(i16::from_le_bytes([bytes[0], bytes[1]])), f64::from(i16::MAX)),
            Self::U16 => (f64::from(u16::from_le_bytes([bytes[0], bytes[1]])), f64::from(u16::MAX)),
            Self::U32 => (f64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])), f64::from(u32::MAX)),
        };
        (if normalized { (value / largest).max(-1.0) } else { value }) as f32
    }

    /// The unsigned integer that starts at `bytes`; 0 for types that hold none.
    pub fn unsigned(self, bytes: &[u8]) -> u32 {
        match self {
            Self::U8 => u32::from(bytes[0]),
            Self::U16 => u32::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            Self::U32 => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            _ => 0,
        }
    }
}

/// Numbers per element of each accessor type that Sinew reads.
const WIDTHS: [(&str, usize); 5] = [("SCALAR", 1), ("VEC2", 2), ("VEC3", 3), ("VEC4", 4), ("MAT4", 16)];

/// Numbers per element of the accessor type `name`.
pub(crate) fn width_of(name: &str) -> Option<usize> {
    WIDTHS.iter().find(|(known, _)| *known == name).map(|(_, width)| *width)
}

/// How many numbers a file may still unpack to.
pub(crate) struct Budget {
    total: u64,
    left: Cell<u64>,
}

impl Budget {
    pub fn within(limits: &Limits) -> Self {
        Self { total: limits.numbers, left: Cell::new(limits.numbers) }
    }

    /// Numbers not yet taken.
    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Takes `numbers` out of the budget before they are allocated for `element`.
    pub fn take(&self, numbers: u64, element: impl FnOnce() -> String) -> Result<(), Fault> {
        let left = self.left.get().checked_sub(numbers).ok_or_else(|| {
            let fault = format!("unpacks to {numbers} more numbers, beyond the limit of {} for this file", self.total);
            Fault::new(Kind::TooLarge, element(), fault, RAISE)
        })?;
        self.left.set(left);
        Ok(())
    }
}

/// The accessors of one file.
pub(crate) struct Accessors<'a> {
    root: View<'a>,
    buffers: &'a [Vec<u8>],
    pub budget: Budget,
}

/// An accessor whose every element is known to lie inside its buffers.
pub(crate) struct Accessor<'a> {
    budget: &'a Budget,
    element: String,
    pub component: Component,
    pub normalized: bool,
    pub count: usize,
    pub type_name: &'static str,
    width: usize,
    elements: Option<Elements<'a>>,
    sparse: Option<Sparse<'a>>,
}

/// Elements at even distances; `bytes` reaches to the end of the last.
#[derive(Clone, Copy)]
struct Elements<'a> {
    bytes: &'a [u8],
    stride: usize,
}

struct Sparse<'a> {
    indices: Vec<u32>,
    values: Elements<'a>,
}

impl<'a> Elements<'a> {
    fn element(&self, index: usize) -> &'a [u8] {
        &self.bytes[index * self.stride..]
    }
}

impl<'a> Accessors<'a> {
    pub fn new(root: View<'a>, buffers: &'a [Vec<u8>], limits: &Limits) -> Self {
        Self { root, buffers, budget: Budget::within(limits) }
    }

    /// The accessor that `reference` names; complaints name both.
    pub fn open(&self, reference: &View<'a>) -> Result<Accessor<'_>, Fault> {
        let index = reference.reference("accessors")?;
        self.open_entry(index, format!("{}, accessor {index}", reference.element()))
    }

    /// Accessor `index`, which complaints call `element`.
    pub fn open_entry(&self, index: usize, element: String) -> Result<Accessor<'_>, Fault> {
        let view = self.root.entry("accessors", index)?;
        let invalid = |fault: String| Fault::invalid(element.clone(), fault);
        let code = view.need("componentType")?.whole()?;
        let component = Component::of_code(code).ok_or_else(|| invalid(format!("has unknown componentType {code}")))?;
        let type_text = view.need("type")?.text()?;
        let &(type_name, width) = WIDTHS
            .iter()
            .find(|(name, _)| *name == type_text)
            .ok_or_else(|| invalid(format!("has type \"{type_text}\", which is not allowed here")))?;
        let normalized = view.get("normalized")?.map_or(Ok(false), |v| v.truth())?;
        let declared = view.need("count")?.whole()?;
        let count = usize::try_from(declared).map_err(|_| invalid(format!("declares {declared} elements")))?;
        let size = component.size() * width;
        let elements = match view.get("bufferView")? {
            Some(buffer_view) => {
                let offset = view.whole_at("byteOffset")?.unwrap_or(0);
                Some(self.elements(&element, &buffer_view, offset, count, size)?)
            }
            None => None,
        };
        let sparse = match view.get("sparse")? {
            Some(sparse) => Some(self.sparse(&element, &sparse, count, size)?),
            None => None,
        };
        let budget = &self.budget;
        Ok(Accessor { budget, element, component, normalized, count, type_name, width, elements, sparse })
    }

    /// Storage of the accessor that `reference` names, if it can be told; reads no data.
    pub fn component(&self, reference: &View<'a>) -> Option<Component> {
        let view = self.root.entry("accessors", reference.reference("accessors").ok()?).ok()?;
        Component::of_code(view.whole_at("componentType").ok()??)
    }

    /// `count` elements of `size` bytes in the buffer view that `reference` names, from `offset` on.
    fn elements(
        &self,
        element: &str,
        reference: &View<'a>,
        offset: u64,
        count: usize,
        size: usize,
    ) -> Result<Elements<'a>, Fault> {
        let invalid = |fault: String| Fault::invalid(element, fault);
        let index = reference.reference("bufferViews")?;
        let view = self.root.entry("bufferViews", index)?;
        let buffer = view.need("buffer")?.reference("buffers")?;
        let start = view.whole_at("byteOffset")?.unwrap_or(0);
        let length = view.need("byteLength")?.whole()?;
        let bytes = self.buffers.get(buffer).map_or(&[][..], |bytes| bytes);
        if bytes.is_empty() && length > 0 {
            return Err(invalid(format!("reads from buffer {buffer}, which has no data")));
        }
        let view_bytes = slice(bytes, start, length).ok_or_else(|| {
            let end = u128::from(start) + u128::from(length);
            let have = bytes.len();
            invalid(format!("reads buffer view {index}, bytes {start} to {end} of buffer {buffer}, which has {have}"))
        })?;
        let stride = match view.whole_at("byteStride")? {
            Some(stride) if stride < size as u64 => {
                return Err(invalid(format!(
                    "reads buffer view {index}, whose byteStride {stride} is shorter than an element of {size} bytes"
                )));
            }
            Some(stride) => stride,
            None => size as u64,
        };
        let span = match count as u64 {
            0 => 0,
            count => u128::from(count - 1) * u128::from(stride) + size as u128,
        };
        let bytes = u64::try_from(span).ok().and_then(|span| slice(view_bytes, offset, span)).ok_or_else(|| {
            invalid(format!(
                "needs {span} bytes from byte {offset} on for {count} elements, but buffer view {index} has {length}"
            ))
        })?;
        // A stride beyond the address space only occurs with a single element, which needs none.
        Ok(Elements { bytes, stride: usize::try_from(stride).unwrap_or(size) })
    }

    fn sparse(&self, element: &str, sparse: &View<'a>, count: usize, size: usize) -> Result<Sparse<'a>, Fault> {
        let invalid = |fault: String| Fault::invalid(element, fault);
        let declared = sparse.need("count")?.whole()?;
        let replaced = usize::try_from(declared)
            .ok()
            .filter(|&n| n <= count)
            .ok_or_else(|| invalid(format!("replaces {declared} elements by its sparse part, but has only {count}")))?;
        let (index_view, value_view) = (sparse.need("indices")?, sparse.need("values")?);
        let code = index_view.need("componentType")?.whole()?;
        let component = Component::of_code(code)
            .filter(|c| c.largest_index().is_some())
            .ok_or_else(|| invalid(format!("has sparse indices of componentType {code}, not an unsigned integer")))?;
        let offset = index_view.whole_at("byteOffset")?.unwrap_or(0);
        let stored = self.elements(element, &index_view.need("bufferView")?, offset, replaced, component.size())?;
        let offset = value_view.whole_at("byteOffset")?.unwrap_or(0);
        let values = self.elements(element, &value_view.need("bufferView")?, offset, replaced, size)?;
        self.budget.take(replaced as u64, || element.to_owned())?;
        let indices: Vec<u32> = (0..replaced).map(|n| component.unsigned(stored.element(n))).collect();
        if let Some(bad) = indices.iter().find(|&&index| index as usize >= count) {
            return Err(invalid(format!("has sparse index {bad}, but only {count} elements")));
        }
        if let Some(pair) = indices.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(invalid(format!("has sparse index {} after {}: they must increase", pair[1], pair[0])));
        }
        Ok(Sparse { indices, values })
    }
}

fn slice(bytes: &[u8], start: u64, length: u64) -> Option<&[u8]> {
    let (start, length) = (usize::try_from(start).ok()?, usize::try_from(length).ok()?);
    bytes.get(start..start.checked_add(length)?)
}

impl Accessor<'_> {
    /// A refusal of this accessor.
    pub fn invalid(&self, fault: impl Into<String>) -> Fault {
        Fault::invalid(self.element.clone(), fault)
    }

    /// Numbers per element.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Refuses a number of elements other than `count`, which is what `of` has.
    pub fn expect_count(&self, count: usize, of: &str) -> Result<(), Fault> {
        if self.count == count {
            return Ok(());
        }
        Err(self.invalid(format!("has {} elements, but {of} has {count}", self.count)))
    }

    fn expect_width(&self, width: usize) -> Result<(), Fault> {
        if self.width == width {
            return Ok(());
        }
        let wanted = WIDTHS.iter().find(|(_, w)| *w == width).map_or("another type", |(name, _)| name);
        Err(self.invalid(format!("is {}, but {wanted} is expected", self.type_name)))
    }

    fn decode<T: Copy, const N: usize>(&self, zero: T, number: impl Fn(&[u8]) -> T) -> Result<Vec<[T; N]>, Fault> {
        self.expect_width(N)?;
        self.budget.take((self.count as u64).saturating_mul(N as u64), || self.element.clone())?;
        let size = self.component.size();
        let element = |bytes: &[u8]| std::array::from_fn(|n| number(&bytes[n * size..]));
        let mut out: Vec<[T; N]> = match &self.elements {
            Some(elements) => (0..self.count).map(|index| element(elements.element(index))).collect(),
            None => vec![[zero; N]; self.count],
        };
        if let Some(sparse) = &self.sparse {
            for (n, &index) in sparse.indices.iter().enumerate() {
                out[index as usize] = element(sparse.values.element(n));
            }
        }
        Ok(out)
    }

    /// The bytes of all elements, where they lie together and nothing replaces them.
    pub fn packed_bytes(&self) -> Option<&[u8]> {
        let elements = self.elements.filter(|elements| elements.stride == self.component.size() * self.width)?;
        self.sparse.is_none().then_some(elements.bytes)
    }

    /// All numbers as they are stored, one after the other, none normalised.
    pub fn numbers(&self) -> Result<Vec<f64>, Fault> {
        let size = self.component.size();
        let number = |bytes: &[u8]| match self.component {
            Component::U32 => f64::from(self.component.unsigned(bytes)),
            _ => f64::from(self.component.float(bytes, false)),
        };
        self.budget.take((self.count as u64).saturating_mul(self.width as u64), || self.element.clone())?;
        let element = |bytes: &[u8], out: &mut [f64]| {
            out.iter_mut().enumerate().for_each(|(n, out)| *out = number(&bytes[n * size..]));
        };
        let mut numbers = vec![0.0; self.count * self.width];
        if let Some(elements) = &self.elements {
            for (index, out) in numbers.chunks_mut(self.width).enumerate() {
                element(elements.element(index), out);
            }
        }
        if let Some(sparse) = &self.sparse {
            for (n, &index) in sparse.indices.iter().enumerate() {
                let at = index as usize * self.width;
                element(sparse.values.element(n), &mut numbers[at..at + self.width]);
            }
        }
        Ok(numbers)
    }

    /// All elements as `N` floats each; integers are mapped as the accessor says.
    pub fn floats<const N: usize>(&self) -> Result<Vec<[f32; N]>, Fault> {
        self.floats_as(self.normalized)
    }

    /// As [`Self::floats`], with the accessor's own word on normalisation overruled.
    pub fn floats_as<const N: usize>(&self, normalized: bool) -> Result<Vec<[f32; N]>, Fault> {
        self.decode(0.0, |bytes| self.component.float(bytes, normalized))
    }

    /// All elements as `N` unsigned integers each.
    pub fn unsigned<const N: usize>(&self) -> Result<Vec<[u32; N]>, Fault> {
        if self.component.largest_index().is_none() {
            return Err(self.invalid(format!("is {}, but unsigned integers are expected", self.component.name())));
        }
        self.decode(0, |bytes| self.component.unsigned(bytes))
    }
}
