//! Call sites of objects that become old or die young, of several processes together.

use flight::is_of_application;
use flight::survivors::{Frame, Site, Step, Survivors};
use small_sort::SmallSort;
use std::collections::HashMap;

/// Sites of all processes: those of the same class and stack are one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sites {
    pub frames: Vec<Frame>,
    /// Those of the most objects that became old first.
    pub sites: Vec<Site>,
}

/// Which fate of objects is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// They became old.
    Old,
    /// They were freed while young.
    Young,
}

impl Fate {
    /// Sampled objects of a site with this fate.
    #[must_use]
    pub fn count(self, site: &Site) -> u64 {
        match self {
            Self::Old => site.promoted,
            Self::Young => site.died,
        }
    }

    /// Their size, bytes.
    #[must_use]
    pub fn bytes(self, site: &Site) -> u64 {
        match self {
            Self::Old => site.promoted_bytes,
            Self::Young => site.died_bytes,
        }
    }
}

/// Puts the recordings of several processes together.
#[must_use]
pub fn sites<'a>(recordings: impl IntoIterator<Item = &'a Survivors>) -> Sites {
    let mut all = Sites::default();
    let mut frames: HashMap<&Frame, usize> = HashMap::new();
    // By class and steps.
    let mut known = HashMap::new();
    for recording in recordings {
        let numbers: Vec<usize> = (recording.frames.iter())
            .map(|frame| {
                *frames.entry(frame).or_insert_with(|| {
                    all.frames.push(frame.clone());
                    all.frames.len() - 1
                })
            })
            .collect();
        for site in &recording.sites {
            let steps = site
                .steps
                .iter()
                .map(|step| (numbers[step.frame], step.line));
            let key = (site.class.as_str(), steps.collect::<Vec<_>>());
            let index = *known.entry(key).or_insert_with_key(|(class, stack)| {
                let steps = stack.iter().map(|&(frame, line)| Step { frame, line });
                all.sites.push(Site {
                    steps: steps.collect(),
                    ..nothing(class)
                });
                all.sites.len() - 1
            });
            add(&mut all.sites[index], site);
        }
    }
    all.sites.small_sort_by_key(most);
    all
}

fn add(to: &mut Site, more: &Site) {
    to.sampled = to.sampled.saturating_add(more.sampled);
    to.promoted = to.promoted.saturating_add(more.promoted);
    to.died = to.died.saturating_add(more.died);
    to.promoted_bytes = to.promoted_bytes.saturating_add(more.promoted_bytes);
    to.died_bytes = to.died_bytes.saturating_add(more.died_bytes);
}

impl Sites {
    /// The step that made the object: the innermost one with a line of a file.
    #[must_use]
    pub fn making<'a>(&self, site: &'a Site) -> Option<&'a Step> {
        site.steps.iter().find(|step| self.has_line(step))
    }

    /// The innermost step in the files of the application with this root.
    #[must_use]
    pub fn of_application<'a>(&self, site: &'a Site, root: &str) -> Option<&'a Step> {
        let mut steps = site.steps.iter().filter(|step| self.has_line(step));
        steps.find(|step| is_of_application(&self.frames[step.frame].path, root))
    }

    /// Not of Ruby's core, of C, or of a text that was evaluated without the name of a file.
    fn has_line(&self, step: &Step) -> bool {
        step.line > 0 && !self.frames[step.frame].path.starts_with(['<', '('])
    }

    /// Sites of the same class and lines together, and of each site which of these it belongs to. `root` is the application's.
    #[must_use]
    pub fn lines(&self, root: &str) -> (Vec<Line>, Vec<usize>) {
        let mut lines: Vec<Line> = Vec::new();
        let mut known = HashMap::new();
        let mut belongs = Vec::new();
        for site in &self.sites {
            let (making, application) = (self.making(site), self.of_application(site, root));
            let place = |step: &Step| (self.frames[step.frame].path.as_str(), step.line);
            let key = (&site.class, making.map(place), application.map(place));
            let index = *known.entry(key).or_insert_with(|| {
                lines.push(Line {
                    making: making.copied(),
                    application: application.copied(),
                    all: Site {
                        steps: site.steps.clone(),
                        ..nothing(&site.class)
                    },
                });
                lines.len() - 1
            });
            add(&mut lines[index].all, site);
            belongs.push(index);
        }
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.small_sort_by_key(|&index| most(&lines[index].all));
        let mut place = vec![0; lines.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let belongs = belongs.into_iter().map(|index| place[index]);
        let ordered = order.iter().map(|&index| lines[index].clone());
        (ordered.collect(), belongs.collect())
    }
}

/// Sites of one class whose objects one line made for one line of the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// As [`Sites::making`].
    pub making: Option<Step>,
    /// As [`Sites::of_application`].
    pub application: Option<Step>,
    /// All of them, with the stack of the first.
    pub all: Site,
}

fn nothing(class: &str) -> Site {
    Site {
        class: class.to_owned(),
        steps: Vec::new(),
        sampled: 0,
        promoted: 0,
        died: 0,
        promoted_bytes: 0,
        died_bytes: 0,
    }
}

fn most(site: &Site) -> std::cmp::Reverse<(u64, u64, u64)> {
    std::cmp::Reverse((site.promoted, site.died, site.sampled))
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;
    use flight::survivors::{SurvivorsHeader, SurvivorsState};

    pub fn frame(path: &str, label: &str) -> Frame {
        Frame {
            path: path.to_owned(),
            label: label.to_owned(),
        }
    }

    pub fn site(class: &str, steps: &[(usize, u32)], promoted: u64, died: u64) -> Site {
        Site {
            class: class.to_owned(),
            steps: (steps.iter())
                .map(|&(frame, line)| Step { frame, line })
                .collect(),
            sampled: promoted + died,
            promoted,
            died,
            promoted_bytes: 40 * promoted,
            died_bytes: 80 * died,
        }
    }

    pub fn recording(frames: Vec<Frame>, sites: Vec<Site>) -> Survivors {
        Survivors {
            header: SurvivorsHeader {
                state: SurvivorsState::Over,
                request: 1,
                pid: 7,
                deadline_mono_ns: 0,
                last_mono_ns: 0,
                began_mono_ns: 0,
                ended_mono_ns: 0,
                every: 100,
                collections: 4,
                allocated: 1_000,
                sampled: 10,
                internal: 0,
                lost: 0,
                undecided: 0,
            },
            frames,
            sites,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{frame, recording, site};
    use super::*;

    #[test]
    fn the_same_site_of_two_processes_is_one() {
        let (a, b) = (frame("/app/a.rb", "a"), frame("/app/b.rb", "b"));
        let one = recording(
            vec![a.clone(), b.clone()],
            vec![
                site("String", &[(0, 3), (1, 4)], 1, 2),
                site("Array", &[(1, 4)], 0, 1),
            ],
        );
        let other = recording(vec![b, a], vec![site("String", &[(1, 3), (0, 4)], 10, 20)]);
        let all = sites([&one, &other]);
        assert_eq!(all.frames.len(), 2);
        assert_eq!(
            all.sites,
            [
                site("String", &[(0, 3), (1, 4)], 11, 22),
                site("Array", &[(1, 4)], 0, 1)
            ]
        );
    }

    #[test]
    fn stacks_of_the_same_lines_are_one_line() {
        let frames = vec![
            frame("config.ru", "block in <main>"),
            frame("/gems/puma/a.rb", "A.a"),
            frame("<cfunc>", "Array#map"),
        ];
        let found = vec![
            site("Hash", &[(2, 0), (0, 7), (1, 2)], 3, 0),
            site("String", &[(0, 7), (1, 1)], 2, 0),
            site("String", &[(0, 7), (1, 2)], 2, 5),
        ];
        let all = sites([&recording(frames, found)]);
        let (lines, belongs) = all.lines("/srv/app");
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[0].all.promoted, lines[0].all.died), (4, 5));
        assert_eq!(lines[0].making, lines[0].application);
        assert_eq!(lines[1].making.unwrap().line, 7, "the line that called C");
        assert_eq!(belongs, [1, 0, 0]);
    }

    #[test]
    fn the_line_of_an_object_is_rubys_and_the_applications() {
        let frames = vec![
            frame("<cfunc>", "Integer#times"),
            frame("<internal:kernel>", "Kernel#tap"),
            frame("/app/vendor/bundle/x.rb", "X.x"),
            frame("/app/lib/y.rb", "Y.y"),
        ];
        let one = site("String", &[(0, 0), (1, 9), (2, 5), (3, 6)], 1, 0);
        let all = sites([&recording(frames, vec![one.clone()])]);
        assert_eq!(all.making(&one).unwrap().line, 5);
        assert_eq!(all.of_application(&one, "/app/").unwrap().line, 6);
        assert_eq!(all.of_application(&one, "/ap"), None);
        assert_eq!(all.of_application(&one, ""), None);
    }
}
