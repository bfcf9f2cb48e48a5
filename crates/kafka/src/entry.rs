//! What the generators of a group write into the topic of the results: that each is ready, when all start, how each ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// A generator has read its partitions.
    Ready(Ready),
    /// All have, and this is the common start.
    Start(Start),
    /// A generator has ended.
    Finished(Finished),
}

/// A generator, and what it has read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The consumer group.
    pub group: String,
    /// Its name in the group, which Kafka gives.
    pub member: String,
    /// Its name for people: host and process.
    pub generator: String,
    /// What it was asked, in one text: all of a group must be asked the same.
    pub asked: String,
    /// Its partitions.
    pub parts: Vec<Part>,
    /// Unix time of its first request in ns; `None` without requests.
    pub first_ns: Option<u64>,
    /// The same of its last.
    pub last_ns: Option<u64>,
}

impl Ready {
    /// Of all its partitions.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.parts.iter().map(|part| part.requests).sum()
    }

    /// Their numbers.
    #[must_use]
    pub fn partitions(&self) -> Vec<i32> {
        self.parts.iter().map(|part| part.partition).collect()
    }
}

/// What a generator has read of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its number.
    pub partition: i32,
    /// The first offset.
    pub from: i64,
    /// The offset after the last.
    pub to: i64,
    /// Messages between them.
    pub requests: u64,
}

/// The common start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The consumer group.
    pub group: String,
    /// Names this run among those of the group.
    pub run: String,
    /// Unix time at which all start, ns.
    pub at_ns: u64,
    /// Unix time of the first recorded request of all, ns: due at the start.
    pub origin_ns: u64,
    /// From the start until the last answer must be there, ns.
    pub lasts_ns: u64,
    /// The generators, each with its partitions; no partition has two.
    pub members: Vec<Ready>,
}

impl Start {
    /// Of all generators.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.members.iter().map(Ready::requests).sum()
    }
}

/// How a generator ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The consumer group.
    pub group: String,
    /// The run.
    pub run: String,
    /// The generator's name in the group.
    pub member: String,
    /// How it ended.
    pub ending: Ending,
    /// Recorded requests of its partitions that are in no figure of its document.
    #[serde(default)]
    pub left_out: u64,
    /// Why it sent nothing, or left them out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What it measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Its requests were sent, as far as its document says.
    Done,
    /// Kafka gave its partitions to another before the start; nothing was sent, and the group may still replay them.
    Moved,
    /// It could not send.
    Failed,
}

/// One run, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its start.
    pub start: Start,
    /// The first ending of each generator: another one would count its requests twice.
    pub finished: Vec<Finished>,
}

impl Run {
    /// How this one ended.
    #[must_use]
    pub fn of(&self, member: &str) -> Option<&Finished> {
        self.finished.iter().find(|one| one.member == member)
    }

    /// Whether each generator has ended.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.start
            .members
            .iter()
            .all(|one| self.of(&one.member).is_some())
    }
}

/// The latest run of a group, out of the entries in their order.
#[derive(Debug)]
pub struct Latest {
    group: String,
    /// As far as it is known.
    pub run: Option<Run>,
}

impl Latest {
    /// For this group; no run is known yet.
    #[must_use]
    pub fn of(group: &str) -> Self {
        Self {
            group: group.to_owned(),
            run: None,
        }
    }

    /// Takes the next entry.
    pub fn take(&mut self, entry: Entry) {
        let known = self.run.as_ref().map(|run| &run.start);
        match entry {
            // A start without requests says that there is nothing to replay, and a sender that was not sure writes again.
            Entry::Start(start)
                if start.group == self.group
                    && start.requests() > 0
                    && known.is_none_or(|k| k.run != start.run && k.at_ns <= start.at_ns) =>
            {
                let finished = Vec::new();
                self.run = Some(Run { start, finished });
            }
            Entry::Finished(one) if one.group == self.group => {
                let run = self.run.as_mut();
                let run = run.filter(|run| run.start.run == one.run);
                if let Some(run) = run.filter(|run| run.of(&one.member).is_none()) {
                    run.finished.push(one);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(member: &str) -> Ready {
        Ready {
            group: "g".into(),
            member: member.into(),
            generator: format!("host-{member}"),
            asked: String::new(),
            parts: vec![Part {
                partition: 0,
                from: 0,
                to: 5,
                requests: 4,
            }],
            first_ns: Some(1),
            last_ns: Some(2),
        }
    }

    fn start(run: &str) -> Entry {
        Entry::Start(Start {
            group: "g".into(),
            run: run.into(),
            at_ns: 1,
            origin_ns: 1,
            lasts_ns: 1,
            members: vec![ready("a"), ready("b")],
        })
    }

    fn finished(run: &str, member: &str, ending: Ending) -> Entry {
        Entry::Finished(Finished {
            group: "g".into(),
            run: run.into(),
            member: member.into(),
            ending,
            left_out: 0,
            why: None,
            document: None,
        })
    }

    #[test]
    fn a_second_ending_of_a_generator_does_not_count() {
        let first = [
            start("1"),
            finished("1", "a", Ending::Done),
            finished("1", "a", Ending::Failed),
            start("1"),
            finished("1", "b", Ending::Done),
            finished("3", "b", Ending::Done),
        ];
        let second = [start("2"), finished("1", "a", Ending::Done)];
        let of = |group: &str, entries: &[Entry]| {
            let mut latest = Latest::of(group);
            entries.iter().cloned().for_each(|one| latest.take(one));
            latest.run
        };
        let run = of("g", &first).unwrap();
        assert!(run.is_complete());
        assert_eq!(
            (run.of("a").unwrap().ending, run.start.requests()),
            (Ending::Done, 8)
        );
        let later = of("g", &[&first[..], &second].concat()).unwrap();
        assert_eq!((later.start.run.as_str(), later.finished.len()), ("2", 0));
        assert_eq!(of("other", &first), None);
    }

    #[test]
    fn an_entry_comes_back_from_json() {
        for entry in [
            Entry::Ready(ready("a")),
            start("1"),
            finished("1", "a", Ending::Done),
        ] {
            let text = serde_json::to_string(&entry).unwrap();
            assert!(text.starts_with("{\"kind\":"), "{text}");
            assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
        }
    }
}
