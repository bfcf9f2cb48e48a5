//! What would decide comparisons and limits that are still open, in words.

use crate::budget;
use crate::judge;
use crate::request::MOST_BLOCKS;
use run::{Comparison, Document, Kind, Outcome, Stage, Trial, rounded_change};

/// What else than blocks a person can change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measured {
    /// Windows of a server under load.
    Windows {
        /// Longer ones would not help.
        memory_grows: bool,
        /// How fast the deciding blocks were measured; `None` before the first.
        pace: Option<Pace>,
        /// What is to be decided is an assertion, which knows no margin.
        asserted: bool,
    },
    /// A command, from its start to its end.
    Commands,
}

impl Measured {
    fn is_compared_by_ratio(self) -> bool {
        matches!(
            self,
            Measured::Windows {
                asserted: false,
                ..
            }
        )
    }

    /// Windows, as far as the document says what they showed.
    pub fn windows(document: &Document) -> Measured {
        Measured::Windows {
            memory_grows: judge::any_grows(document),
            pace: Pace::of(document),
            asserted: document.kind == Kind::Check,
        }
    }
}

/// What the deciding blocks of a run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    blocks: u32,
    block_s: f64,
    /// From the start of the run to the end of the last of them.
    run_s: f64,
    /// Without a budget a run lasts as long as its blocks.
    has_budget: bool,
    /// Whether a part of the budget is kept for the search for the highest rate.
    searches: bool,
}

impl Pace {
    pub fn of(document: &Document) -> Option<Pace> {
        let deciding = |t: &&Trial| matches!(t.stage, Stage::Confirm | Stage::Compare);
        let trials = || document.trials.iter().filter(deciding);
        let blocks = trials().map(|t| t.block).max()?;
        let measured_s: f64 = trials().map(|t| t.took_s).sum();
        let ended_s = trials().map(|t| t.started_s + t.took_s);
        Some(Pace {
            blocks,
            block_s: measured_s / f64::from(blocks),
            run_s: ended_s.fold(0.0, f64::max),
            has_budget: document.plan.budget_s.is_some(),
            searches: document.kind == Kind::Tune && document.plan.objective.latency.is_some(),
        })
    }

    /// So many times as many blocks.
    pub fn times(self, times: f64) -> u32 {
        (f64::from(self.blocks) * times).ceil() as u32
    }

    /// The flags of a run with so many blocks and with windows as long as these, and how long it takes.
    pub fn flags(self, blocks: u32) -> String {
        let more = blocks.saturating_sub(self.blocks);
        let work_s = self.run_s + f64::from(more) * self.block_s;
        self.with_length(format!("--blocks {blocks}"), work_s)
    }

    /// The same of a run with windows that are so many times as long.
    pub fn flags_of_window(self, window_s: f64, times: f64) -> String {
        self.with_length(format!("--window {window_s:.0}s"), self.run_s * times)
    }

    fn with_length(self, flags: String, work_s: f64) -> String {
        match self.has_budget {
            true => format!(
                "{flags} --budget {:.0}m",
                budget::holding(work_s, self.searches) / 60.0
            ),
            false => format!("{flags}, about {:.0} min", (work_s / 60.0).ceil()),
        }
    }
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
        let pace = match measured {
            Measured::Windows { pace, .. } => pace,
            Measured::Commands => None,
        };
        let counted = open.clone().map(|c| c.blocks).min().unwrap_or(0);
        return Some(match pace {
            Some(pace) if blocks <= pace.blocks => format!(
                "{counted} of {} blocks count for it, and about {blocks} should be enough to tell: measure again without what spoiled the \
                 others (see below)",
                pace.blocks
            ),
            pace => {
                let flags =
                    pace.map_or_else(|| format!("--blocks {blocks}"), |pace| pace.flags(blocks));
                // Of one comparison; an assertion's blocks are for the distance to its limit.
                let first = open.next().filter(|_| measured.is_compared_by_ratio());
                let only = first.filter(|_| open.next().is_none());
                let as_measured = only.map_or_else(String::new, |only| {
                    let change = rounded_change(only.ratio);
                    format!(" if the change stays as measured ({change})")
                });
                format!("about {blocks} blocks should be enough to tell{as_measured}: {flags}")
            }
        });
    }
    if open.clone().any(|c| c.sd_log_ratio.is_none()) {
        return Some("one block does not show how many would be enough to tell".to_owned());
    }
    let instead = match measured {
        Measured::Windows {
            memory_grows,
            asserted,
            ..
        } => {
            let windows = match memory_grows {
                true => "",
                false => ", longer windows (--window)",
            };
            let wider = match asserted {
                true => "limit (--assert)",
                false => "margin (--margin)",
            };
            format!("a quieter machine{windows} or a wider {wider}")
        }
        Measured::Commands => {
            "a quieter machine, a command that does more work or a wider margin (--margin)"
                .to_owned()
        }
    };
    Some(format!(
        "the blocks differ so much that even {MOST_BLOCKS}, the most of one run, would not be enough to tell: use {instead}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: Measured = Measured::Windows {
        memory_grows: false,
        pace: None,
        asserted: false,
    };

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
            words(&all, WINDOWS).unwrap()
        };
        assert_eq!(
            told(&[Some(12), Some(24)]),
            "about 24 blocks should be enough to tell: --blocks 24"
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

    /// The change is of one comparison; an assertion's blocks are for the distance to its limit.
    #[test]
    fn the_change_that_the_blocks_are_for_is_named() {
        let mut falls = undecided(Some(8));
        falls.ratio = 0.98;
        let open = [falls, undecided(Some(12))];
        let one = words(&open[..1], WINDOWS).unwrap();
        assert!(one.contains("as measured (-2.0 %)"), "{one}");
        let two = words(&open, WINDOWS).unwrap();
        assert!(!two.contains("as measured"), "{two}");
        let asserted = Measured::Windows {
            memory_grows: false,
            pace: None,
            asserted: true,
        };
        let said = words(&open[..1], asserted).unwrap();
        assert_eq!(said, "about 8 blocks should be enough to tell: --blocks 8");
    }

    /// Six blocks of 20 s that end 300 s after the start: nine more take three minutes.
    #[test]
    fn the_remedy_has_its_cost() {
        let mut document = crate::sample::document("tune");
        let said = |document: &Document| {
            words(&[undecided(Some(15))], Measured::windows(document)).unwrap()
        };
        let model = document.trials[0].clone();
        document.trials = (1..=6)
            .flat_map(|block| [(block, 0.0), (block, 10.0)])
            .map(|(block, after_s)| Trial {
                stage: Stage::Confirm,
                block,
                started_s: 180.0 + f64::from(block - 1) * 20.0 + after_s,
                took_s: 10.0,
                ..model.clone()
            })
            .collect();
        document.plan.budget_s = Some(300.0);
        document.plan.objective.latency = None;
        // 480 s of work; 5 % of a budget are left for trials that take longer.
        assert_eq!(
            said(&document),
            "about 15 blocks should be enough to tell if the change stays as measured (+200 %): --blocks 15 --budget 9m"
        );
        document.plan.objective.latency = Some(run::LatencyObjective {
            percentile: 99.0,
            limit_ms: 250.0,
        });
        assert!(
            said(&document).ends_with("--budget 11m"),
            "{}",
            said(&document)
        );
        document.plan.budget_s = None;
        assert!(said(&document).ends_with(": --blocks 15, about 8 min"));
        // As many blocks were measured, and did not count.
        let few = words(&[undecided(Some(6))], Measured::windows(&document)).unwrap();
        assert!(
            few.contains("of 6 blocks count for it, and about 6 should"),
            "{few}"
        );
        document.trials.clear();
        assert!(said(&document).ends_with(": --blocks 15"));
    }

    #[test]
    fn longer_windows_are_no_advice_where_memory_grows() {
        let mut document = crate::sample::document("tune");
        let said = |document: &Document| {
            words(&[undecided(Some(30))], Measured::windows(document)).unwrap()
        };
        assert!(said(&document).contains("longer windows (--window)"));
        document.arms.last_mut().unwrap().growth = Some(crate::sample::growth());
        let growing = said(&document);
        assert!(!growing.contains("--window"), "{growing}");
        assert!(growing.ends_with("use a quieter machine or a wider margin (--margin)"));
    }

    #[test]
    fn what_is_not_comparable_is_not_open() {
        let failing = Comparison {
            not_comparable: Some("2.0 % of the requests failed".to_owned()),
            ..undecided(None)
        };
        assert_eq!(words(std::slice::from_ref(&failing), WINDOWS), None);
        let said = words(&[failing, undecided(Some(12))], WINDOWS).unwrap();
        assert_eq!(
            said,
            "about 12 blocks should be enough to tell if the change stays as measured (+200 %): --blocks 12"
        );
    }

    #[test]
    fn nothing_is_said_where_nothing_is_open() {
        let decided = Comparison {
            outcome: Outcome::Better,
            ..undecided(Some(99))
        };
        assert_eq!(words(std::slice::from_ref(&decided), WINDOWS), None);
        let said = words(&[decided, undecided(Some(12))], WINDOWS).unwrap();
        assert!(said.contains("12 blocks"), "{said}");
    }
}
