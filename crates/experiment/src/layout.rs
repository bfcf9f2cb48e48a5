//! Which cores the server has, and which the load generator.

use run::Pinning;

/// Share of one core from which on the generator gets a dedicated core, 0 to 1.
pub const GENERATOR_SHARE: f64 = 0.02;

/// Fewest cores of which one is taken from the server without being asked: with fewer, the loss changes which configuration is
/// best.
const LEAST_CORES: usize = 4;

/// Whether the server hardly misses a core.
pub fn can_spare_one(cores: usize) -> bool {
    cores >= LEAST_CORES
}

/// Every core for both.
pub fn shared(reason: impl Into<String>) -> Pinning {
    Pinning {
        server_cores: Vec::new(),
        generator_cores: Vec::new(),
        reason: reason.into(),
    }
}

/// The last core for the generator and the others for the server; `None` where there is but one.
pub fn apart(reason: impl Into<String>) -> Option<Pinning> {
    let cores = host::cores::available().ok()?.affinity;
    let (last, others) = cores.split_last()?;
    (!others.is_empty()).then(|| Pinning {
        server_cores: others.iter().map(|c| *c as u32).collect(),
        generator_cores: vec![*last as u32],
        reason: reason.into(),
    })
}

/// As was asked, before anything is measured.
pub fn asked(generator_core: Option<bool>) -> Pinning {
    if generator_core != Some(true) {
        return shared("the server has every core");
    }
    apart("as was asked, the generator has a core of its own")
        .unwrap_or_else(|| shared("there is no core that the generator could have to itself"))
}

/// A layout that leaves the server fewer cores than the machine has, in words.
pub fn said(pinning: &Pinning) -> String {
    let cores = |cores: &[u32]| run::counted(cores.len(), "core");
    format!(
        "{} for the server and {} for the generator ({}); --generator-core false gives the server all cores, as it may have in production",
        cores(&pinning.server_cores),
        cores(&pinning.generator_cores),
        pinning.reason
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_is_taken_from_the_server_is_said_with_the_flag_that_gives_it_back() {
        let pinning = Pinning {
            server_cores: vec![0],
            generator_cores: vec![1],
            reason: "the generator takes 3.0 % of a core, so it has one of its own".to_owned(),
        };
        let said = said(&pinning);
        assert!(said.starts_with(
            "1 core for the server and 1 core for the generator (the generator takes 3.0 %"
        ));
        assert!(said.contains("--generator-core false"));
    }

    #[test]
    fn no_core_is_taken_unasked_where_that_changes_the_answer() {
        assert_eq!(
            [1, 2, 3, 4, 8].map(can_spare_one),
            [false, false, false, true, true]
        );
    }

    #[test]
    fn nobody_has_a_core_of_the_other_s() {
        for not_apart in [None, Some(false)] {
            assert_eq!(asked(not_apart).generator_cores, [0_u32; 0]);
        }
        let apart = asked(Some(true));
        let cores = host::cores::available().unwrap().affinity.len();
        match cores {
            1 => assert!(apart.reason.contains("no core"), "{apart:?}"),
            _ => assert_eq!(
                (apart.generator_cores.len(), apart.server_cores.len()),
                (1, cores - 1)
            ),
        }
        let both = |core| apart.server_cores.contains(core);
        assert!(!apart.generator_cores.iter().any(both), "{apart:?}");
    }
}
