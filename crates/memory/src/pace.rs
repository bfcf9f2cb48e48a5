//! How often `smaps` is read. The kernel adds a process's pages up for it, tens of milliseconds for each resident GB, and what a
//! server does to its memory map waits meanwhile.

use std::time::Duration;

/// It takes this part of the time at most.
const MOST: u32 = 50;
/// And this part where that is often enough for a verdict.
const ENOUGH: u32 = 500;
/// So many readings in the time that was asked for are enough.
const READINGS: u32 = 30;

/// From one reading of `smaps` to the next, by how long it took; `length`: of the time that was asked for, if it has an end.
pub fn until_next(took: Duration, length: Option<Duration>) -> Duration {
    let least = took * MOST;
    match length {
        Some(length) => least.max((took * ENOUGH).min(length / READINGS)),
        None => least,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const S: Duration = Duration::from_secs(1);

    #[test]
    fn it_is_cheap_and_often_enough_where_both_can_be() {
        // 2 ms once a second are 0.2 %.
        assert_eq!(until_next(2 * MS, Some(60 * S)), S);
        // 10 ms each 2 s: the verdict needs that many.
        assert_eq!(until_next(10 * MS, Some(60 * S)), 2 * S);
        // 100 ms each 2 s would be 5 %.
        assert_eq!(until_next(100 * MS, Some(60 * S)), 5 * S);
        assert_eq!(until_next(100 * MS, Some(3_600 * S)), 50 * S);
        assert_eq!(until_next(100 * MS, None), 5 * S);
    }
}
