//! SplitMix64 (Steele, Lea and Flood 2014): the hash by which a share of requests or connections is drawn.

/// The first number of SplitMix64 with this seed: numbers that follow one another end far apart, and the same ones are drawn
/// every time.
#[must_use]
pub fn number_hash(number: u64) -> u64 {
    mix64(number.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// SplitMix64's finaliser: neighbouring inputs give unrelated numbers.
#[must_use]
pub fn mix64(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_split_mix() {
        assert_eq!(number_hash(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(number_hash(1_234_567), 6_457_827_717_110_365_317);
    }

    #[test]
    fn its_finaliser_leaves_the_increment_out() {
        assert_eq!(mix64(0x9e37_79b9_7f4a_7c15), 0xe220_a839_7b1d_cdaf);
    }
}
