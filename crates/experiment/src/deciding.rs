//! What would decide comparisons that are still open, in words.

use crate::request::MOST_BLOCKS;
use run::{Comparison, Outcome};

/// What else than blocks a person can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    /// Windows of a server under load.
    Windows,
    /// A command, from its start to its end.
    Commands,
}

/// Those that more blocks may decide: no number of blocks makes comparable what fails.
fn open(comparisons: &[Comparison]) -> impl Iterator<Item = &Comparison> + Clone {
    let open = |c: &&Comparison| c.outcome == Outcome::Undecided && c.not_comparable.is_none();
    comparisons.iter().filter(open)
}

/// Blocks of a run that would decide all of these that are open; `None` where a run cannot have so many.
pub fn blocks(comparisons: &[Comparison]) -> Option<u32> {
    let needed =
        open(comparisons).map(|c| c.blocks_to_decide.filter(|blocks| *blocks <= MOST_BLOCKS));
    needed.collect::<Option<Vec<u32>>>()?.into_iter().max()
}

/// A part of a sentence; nothing where no comparison is open.
pub fn words(comparisons: &[Comparison], measured: Measured) -> Option<String> {
    let mut open = open(comparisons).peekable();
    open.peek()?;
    if let Some(blocks) = blocks(comparisons) {
        return Some(format!(
            "about {blocks} blocks should be enough to tell (--blocks {blocks})"
        ));
    }
    if open.clone().any(|c| c.sd_log_ratio.is_none()) {
        return Some("one block does not show how many would be enough to tell".to_owned());
    }
    let longer = match measured {
        Measured::Windows => "longer windows (--window)",
        Measured::Commands => "a command that does more work",
    };
    Some(format!(
        "the blocks differ so much that even {MOST_BLOCKS}, the most of one run, would not be enough to tell: use a quieter machine, \
         {longer} or a wider margin (--margin)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undecided(blocks_to_decide: Option<u32>) -> Comparison {
        let model = crate::sample::document("compare").comparisons[0].clone();
        Comparison {
            outcome: Outcome::Undecided,
            sd_log_ratio: Some(0.1),
            blocks_to_decide,
            ..model
        }
    }

    /// No number that `--blocks` refuses is named.
    #[test]
    fn a_run_is_never_advised_to_have_more_blocks_than_it_can() {
        let told = |needed: &[Option<u32>]| {
            let all: Vec<Comparison> = needed.iter().map(|n| undecided(*n)).collect();
            words(&all, Measured::Windows).unwrap()
        };
        assert_eq!(
            told(&[Some(12), Some(24)]),
            "about 24 blocks should be enough to tell (--blocks 24)"
        );
        for needed in [Some(25), Some(291), None] {
            let said = told(&[Some(12), needed]);
            assert!(
                said.contains("quieter machine") && said.contains("--window"),
                "{said}"
            );
            assert!(!said.contains("25") && !said.contains("291"), "{said}");
        }
        let of_command = words(&[undecided(Some(30))], Measured::Commands).unwrap();
        assert!(!of_command.contains("--window"), "{of_command}");
    }

    #[test]
    fn what_is_not_comparable_is_not_open() {
        let failing = Comparison {
            not_comparable: Some("2.0 % of the requests failed".to_owned()),
            ..undecided(None)
        };
        assert_eq!(
            words(std::slice::from_ref(&failing), Measured::Windows),
            None
        );
        let said = words(&[failing, undecided(Some(12))], Measured::Windows).unwrap();
        assert_eq!(
            said,
            "about 12 blocks should be enough to tell (--blocks 12)"
        );
    }

    #[test]
    fn nothing_is_said_where_nothing_is_open() {
        let decided = Comparison {
            outcome: Outcome::Better,
            ..undecided(Some(99))
        };
        assert_eq!(
            words(std::slice::from_ref(&decided), Measured::Windows),
            None
        );
        let said = words(&[decided, undecided(Some(12))], Measured::Windows).unwrap();
        assert!(said.contains("12 blocks"), "{said}");
    }
}
