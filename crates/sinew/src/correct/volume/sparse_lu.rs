//! Elimination on a fixed sparse pattern, without pivoting.
//!
//! Segments meet along limbs, and they are numbered from the deepest bone up: on a tree that order makes no new
//! entries, and the few cycles (a belt across three bones) make few.

use crate::csr::Csr;

/// Which entries a square matrix may have: columns of each row, those that elimination makes included.
#[derive(Clone, Debug)]
pub(super) struct SparseLu {
    pattern: Csr,
}

/// The numbers of one matrix; its factors after [`SparseLu::solve`].
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    values: Vec<f64>,
    row: Vec<f64>,
}

impl SparseLu {
    /// For entries in the given columns of each row, and on the diagonal.
    pub fn new(columns: &Csr) -> Self {
        let mut rows: Vec<Vec<u32>> = Vec::with_capacity(columns.len());
        for (i, own) in columns.iter().enumerate() {
            let mut row: std::collections::BTreeSet<u32> = own.iter().copied().chain([i as u32]).collect();
            let mut next = row.first().copied();
            while let Some(k) = next.filter(|&k| (k as usize) < i) {
                row.extend(rows[k as usize].iter().filter(|&&j| j > k));
                next = row.range(k + 1..).next().copied();
            }
            rows.push(row.into_iter().collect());
        }
        let pairs = rows.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |&j| (i as u32, j)));
        Self { pattern: Csr::new(columns.len(), pairs.collect()) }
    }

    /// Sets all entries to 0.
    pub fn clear(&self, entries: &mut Entries) {
        entries.values.clear();
        entries.values.resize(self.pattern.items(), 0.0);
        entries.row.resize(self.pattern.len(), 0.0);
    }

    /// Adds to an entry of the pattern.
    pub fn add(&self, entries: &mut Entries, row: usize, column: usize, value: f64) {
        if let Ok(found) = self.pattern.of(row).binary_search(&(column as u32)) {
            entries.values[self.pattern.start_of(row) + found] += value;
        }
    }

    /// Factors the matrix and solves it for `x`, in place; false if it is singular to working precision.
    pub fn solve(&self, Entries { values, row }: &mut Entries, x: &mut [f64]) -> bool {
        let pattern = &self.pattern;
        let n = pattern.len();
        for i in 0..n {
            let start = pattern.start_of(i);
            let columns = pattern.of(i);
            let mut largest = 0.0f64;
            for (&j, &value) in columns.iter().zip(&values[start..]) {
                row[j as usize] = value;
                largest = largest.max(value.abs());
            }
            for &k in columns.iter().take_while(|&&k| (k as usize) < i) {
                let above = pattern.of(k as usize);
                let first = pattern.start_of(k as usize);
                let diagonal = above.partition_point(|&j| j < k);
                let factor = row[k as usize] / values[first + diagonal];
                row[k as usize] = factor;
                for (offset, &j) in above.iter().enumerate().skip(diagonal + 1) {
                    row[j as usize] -= factor * values[first + offset];
                }
                x[i] -= factor * x[k as usize];
            }
            for (&j, value) in columns.iter().zip(&mut values[start..]) {
                *value = row[j as usize];
            }
            let sound = row[i].abs() > 1e-12 * largest;
            if !sound {
                return false;
            }
        }
        for i in (0..n).rev() {
            let start = pattern.start_of(i);
            let columns = pattern.of(i);
            let diagonal = columns.partition_point(|&j| (j as usize) < i);
            let known: f64 =
                (diagonal + 1..columns.len()).map(|offset| values[start + offset] * x[columns[offset] as usize]).sum();
            x[i] = (x[i] - known) / values[start + diagonal];
        }
        x.iter().all(|v| v.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_with_chords_is_solved() {
        let n = 9;
        let pairs = (0..n as u32).flat_map(|i| [(i, i), (i, (i + 1) % 9), ((i + 1) % 9, i), (i, (i + 4) % 9)]);
        let columns = Csr::new(n, pairs.collect());
        let entry =
            |i: usize, j: u32| if i == j as usize { 5.0 + i as f64 } else { 0.3 * i as f64 - 0.2 * f64::from(j) };
        let (lu, mut entries) = (SparseLu::new(&columns), Entries::default());
        let truth: Vec<f64> = (0..n).map(|i| (i as f64 * 1.7).sin()).collect();
        for _ in 0..2 {
            lu.clear(&mut entries);
            let mut x = vec![0.0; n];
            for (i, row) in columns.iter().enumerate() {
                for &j in row {
                    lu.add(&mut entries, i, j as usize, entry(i, j));
                    x[i] += entry(i, j) * truth[j as usize];
                }
            }
            assert!(lu.solve(&mut entries, &mut x));
            assert!(x.iter().zip(&truth).all(|(a, b)| (a - b).abs() < 1e-12), "{x:?}");
        }
        lu.clear(&mut entries);
        assert!(!lu.solve(&mut entries, &mut vec![1.0; n]));
    }
}
