//! Lists of indices in offset form (compressed sparse rows).

/// Pairs in ascending order. Keys that number things, of which each has a few, take time in proportion to the pairs: they are
/// counted into place, and only what shares a key is compared.
pub(crate) fn sorted<T: Copy + Ord>(mut pairs: Vec<(u32, T)>) -> Vec<(u32, T)> {
    let keys = pairs.iter().map(|pair| pair.0 as usize + 1).max().unwrap_or(0);
    if keys > 2 * pairs.len() {
        pairs.sort_unstable();
        return pairs;
    }
    let mut stops = vec![0u32; keys];
    pairs.iter().for_each(|pair| stops[pair.0 as usize] += 1);
    let mut sum = 0;
    for stop in &mut stops {
        sum += std::mem::replace(stop, sum);
    }
    let mut placed = pairs.clone();
    for pair in pairs {
        let stop = &mut stops[pair.0 as usize];
        placed[*stop as usize] = pair;
        *stop += 1;
    }
    let mut rest = &mut placed[..];
    let mut start = 0;
    for stop in stops {
        let (here, behind) = rest.split_at_mut((stop - start) as usize);
        here.sort_unstable();
        (rest, start) = (behind, stop);
    }
    placed
}

/// A list per key: offsets and one flat array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Csr {
    stops: Vec<u32>,
    items: Vec<u32>,
}

impl Csr {
    /// From (key, item) pairs with keys below `keys`; each list ascends and holds an item once.
    pub fn new(keys: usize, pairs: Vec<(u32, u32)>) -> Self {
        let mut pairs = sorted(pairs);
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

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_testkit::random::Random;

    #[test]
    fn pairs_are_in_the_order_that_comparing_all_of_them_gives() {
        let mut random = Random::new(3);
        for (count, keys) in [(0, 1), (1, 1), (50, 3), (400, 100), (400, 799), (30, 4_000_000)] {
            let pairs: Vec<(u32, u32)> =
                (0..count).map(|_| (random.below(keys) as u32, random.below(5) as u32)).collect();
            let mut expected = pairs.clone();
            expected.sort_unstable();
            assert_eq!(sorted(pairs), expected, "{count} pairs, {keys} keys");
        }
    }

    #[test]
    fn lists_ascend_and_hold_an_item_once() {
        let lists = Csr::new(4, vec![(2, 7), (0, 3), (2, 1), (2, 7)]);
        assert_eq!(lists.iter().collect::<Vec<_>>(), [&[3][..], &[], &[1, 7], &[]]);
    }
}
