//! Which numbers of threads have a row in a table.

/// Up to here every count has one; beyond, only every so often.
const EACH: u32 = 16;

/// The counts from 1 to `last`, those in `marks` among them.
pub fn counts(last: u32, marks: &[u32]) -> Vec<u32> {
    let mut counts: Vec<u32> = (1..=last.min(EACH)).collect();
    let mut step = EACH;
    while step < last {
        // Halves between the powers of 2: 16, 24, 32, 48, …
        counts.extend([step + step / 2, step * 2]);
        step *= 2;
    }
    counts.push(last);
    counts.extend(marks);
    counts.retain(|n| (1..=last).contains(n));
    counts.sort_unstable();
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_have_a_row_each_and_many_every_so_often() {
        assert_eq!(counts(4, &[2, 9]), [1, 2, 3, 4]);
        let many = counts(70, &[37]);
        assert_eq!(many[..16], (1..=16).collect::<Vec<u32>>());
        assert_eq!(many[16..], [24, 32, 37, 48, 64, 70]);
    }
}
