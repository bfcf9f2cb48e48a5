//! Seeds of blocks and windows, from the run's own.

/// SplitMix64's finaliser (Steele, Lea and Flood 2014): neighbouring inputs give unrelated seeds.
pub fn unrelated(input: u64) -> u64 {
    let mut z = input;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_split_mix_after_its_increment() {
        assert_eq!(unrelated(0x9e37_79b9_7f4a_7c15), 0xe220_a839_7b1d_cdaf);
    }
}
