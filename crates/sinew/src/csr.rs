//! Lists of indices in offset form (compressed sparse rows).

/// A list per key: offsets and one flat array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Csr {
    stops: Vec<u32>,
    items: Vec<u32>,
}

impl Csr {
    /// From (key, item) pairs with keys below `keys`; each list ascends and holds an item once.
    pub fn new(keys: usize, mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let mut stops = vec![0u32; keys];
        for &(key, _) in &pairs {
            stops[key as usize] += 1;
        }
        let mut sum = 0;
        for stop in &mut stops {
            sum += *stop;
            *stop = sum;
        }
        Self { stops, items: pairs.into_iter().map(|(_, item)| item).collect() }
    }

    pub fn len(&self) -> usize {
        self.stops.len()
    }

    /// Items of all lists.
    pub fn items(&self) -> usize {
        self.items.len()
    }

    /// Where a list begins in the flat array.
    pub fn start_of(&self, key: usize) -> usize {
        key.checked_sub(1).map_or(0, |before| self.stops[before] as usize)
    }

    pub fn of(&self, key: usize) -> &[u32] {
        &self.items[self.start_of(key)..self.stops[key] as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|key| self.of(key))
    }
}
