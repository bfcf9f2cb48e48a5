//! Generators of one group wait for each other: each reads its partitions, one of them says when all start, and each claims what it has
//! read before it sends. Claimed is committed: what a killed generator has claimed is lost and not sent a second time.

use crate::{Entry, KafkaError, Message, Part, Place, Ready, Start};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::ops::Range;
use std::time::Duration;

/// How long a poll waits for messages.
const POLL: Duration = Duration::from_millis(100);
/// A generator that waits says so again, for those that came later.
const REPEAT_NS: u64 = 1_000_000_000;
/// From the decision to the start: time for each to claim its partitions.
const LEAD_NS: u64 = 3_000_000_000;

/// A member of a consumer group, and the topic in which its members talk.
pub trait Group {
    /// Takes part in the group, and brings messages of its partitions.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    fn poll(&mut self, wait: Duration) -> Result<Vec<(Place, Message)>, KafkaError>;
    /// Its name there, once it has one, and its partitions.
    fn assignment(&mut self) -> Option<(String, Vec<i32>)>;
    /// Of each partition, the offsets that the group has not claimed, up to the present end.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    fn unclaimed(&mut self, partitions: &[i32]) -> Result<BTreeMap<i32, Range<i64>>, KafkaError>;
    /// Reads a partition from this offset on. What of it was on its way may still come first.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    fn seek(&mut self, partition: i32, offset: i64) -> Result<(), KafkaError>;
    /// The offset that a partition is read from next.
    fn position(&mut self, partition: i32) -> Option<i64>;
    /// The partitions of each member; `None` while they are being shared out.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    fn members(&mut self) -> Result<Option<BTreeMap<String, Vec<i32>>>, KafkaError>;
    /// Says something to all.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    fn say(&mut self, entry: &Entry) -> Result<(), KafkaError>;
    /// What was said since.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    fn heard(&mut self) -> Result<Vec<Entry>, KafkaError>;
    /// The group's next offsets.
    ///
    /// # Errors
    /// Kafka's; [`KafkaError::Fenced`] where its partitions are another's by now.
    fn claim(&mut self, next: &[(i32, i64)]) -> Result<(), KafkaError>;
    /// Unix time in ns.
    fn now_ns(&mut self) -> u64;
}

/// What is waited for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The consumer group.
    pub group: String,
    /// The name of this generator for people.
    pub generator: String,
    /// How many generators start together.
    pub generators: usize,
    /// What this generator was asked, in one text; see [`Ready::asked`].
    pub asked: String,
    /// How many times as fast as recorded.
    pub speed: f64,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// How long it is waited.
    pub limit: Duration,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Step {
    /// Messages read, of those to read.
    pub read: u64,
    /// Offsets between the first and the last that are to be read.
    pub to_read: u64,
    /// Generators that are ready, as far as is known here.
    pub ready: usize,
}

/// What this generator sends, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Share<P> {
    /// Its name in the group.
    pub member: String,
    /// The common start.
    pub start: Start,
    /// What was made of its messages.
    pub prepared: P,
}

/// Why there is no common start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// The user ended it.
    #[error("interrupted while the generators gathered: nothing was sent")]
    Interrupted,
    /// Not all came.
    #[error(
        "{ready} of {wanted} generators were ready within {} s: nothing was sent; start the others, give their number to --generators, or a longer --gather", limit.as_secs()
    )]
    Alone {
        /// Those that were ready.
        ready: usize,
        /// As asked.
        wanted: usize,
        /// As asked.
        limit: Duration,
    },
    /// Nothing to send.
    #[error(
        "the group {group} has replayed all requests of the topic: give another --group to replay them again"
    )]
    Nothing {
        /// As asked.
        group: String,
    },
    /// They were not asked the same.
    #[error(
        "{other} was asked {theirs}, and this generator {ours}: nothing was sent; give all generators of a group the same options"
    )]
    Different {
        /// The other's name.
        other: String,
        /// What it was asked.
        theirs: String,
        /// What this one was asked.
        ours: String,
    },
    /// Kafka gave the partitions to another generator.
    #[error(
        "Kafka moved the partitions of this generator to another one before the start ({why}): nothing was sent; the group's next run replays them"
    )]
    Moved {
        /// The run that began without it, and its name there.
        run: Box<(String, String)>,
        /// Kafka's words.
        why: String,
    },
    /// Kafka gave no answer to the claim.
    #[error(
        "this generator's requests may be claimed, which is unknown ({why}): nothing was sent; give another --group to replay all of the topic"
    )]
    Unclear {
        /// As in [`WaitError::Moved`].
        run: Box<(String, String)>,
        /// Kafka's words.
        why: String,
    },
    /// Its messages cannot be sent.
    #[error("{0}")]
    Unusable(String),
    /// Kafka gave no answer.
    #[error("{0}")]
    Kafka(#[from] KafkaError),
}

/// One partition, and what was read of it.
#[derive(Debug)]
struct Reading {
    unclaimed: Range<i64>,
    /// The offset after the last that was kept.
    next: i64,
    complete: bool,
    requests: u64,
    /// Until they are prepared.
    messages: Vec<(Place, Message)>,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
}

/// Waits until all are ready, and claims this generator's share. `instant` says when a message was recorded; `prepare` makes of the
/// messages, which are in their order within each partition, what is sent. It takes its time before the others hear that this generator is
/// ready, and what it refuses stays unclaimed.
///
/// # Errors
/// See [`WaitError`].
pub fn wait<P>(
    group: &mut impl Group,
    asked: &Asked,
    instant: impl Fn(&Message) -> Option<u64>,
    mut prepare: impl FnMut(Vec<(Place, Message)>) -> Result<P, String>,
    mut progress: impl FnMut(Step) -> ControlFlow<()>,
) -> Result<Share<P>, WaitError> {
    let began_ns = group.now_ns();
    let mut waiting = Waiting::new();
    loop {
        let polled = group.poll(POLL)?;
        // First, because a poll may give partitions and their first messages at once.
        waiting.follow(group)?;
        for (place, message) in polled {
            waiting.take(place, message, &instant);
        }
        waiting.look(group);
        waiting.prepare(&mut prepare)?;
        for entry in group.heard()? {
            match entry {
                Entry::Ready(ready) if ready.group == asked.group => waiting.hear(ready),
                Entry::Start(start) if start.group == asked.group => {
                    if let Some(share) = waiting.started(group, start)? {
                        return Ok(share);
                    }
                }
                _ => {}
            }
        }
        let now_ns = group.now_ns();
        waiting.announce(group, asked, now_ns)?;
        if let Some(other) = waiting.differs(asked) {
            return Err(other);
        }
        let step = waiting.step();
        if progress(step).is_break() {
            return Err(WaitError::Interrupted);
        }
        let waited = Duration::from_nanos(now_ns.saturating_sub(began_ns));
        if waited >= asked.limit {
            return Err(WaitError::Alone {
                ready: step.ready,
                wanted: asked.generators,
                limit: asked.limit,
            });
        }
        if waiting.leads() {
            waiting.start(group, asked, now_ns)?;
        }
    }
}

#[derive(Debug)]
struct Waiting<P> {
    member: String,
    readings: BTreeMap<i32, Reading>,
    /// The latest of each member.
    ready: BTreeMap<String, Ready>,
    announced_ns: Option<u64>,
    /// A start was said; it is waited for.
    decided: bool,
    prepared: Option<P>,
}

impl<P> Waiting<P> {
    fn new() -> Self {
        Self {
            member: String::new(),
            readings: BTreeMap::new(),
            ready: BTreeMap::new(),
            announced_ns: None,
            decided: false,
            prepared: None,
        }
    }

    /// Keeps a message of its partitions. One that comes again, as after partitions moved away and back, is kept once.
    fn take(&mut self, place: Place, message: Message, instant: impl Fn(&Message) -> Option<u64>) {
        let Some(reading) = self.readings.get_mut(&place.partition) else {
            return;
        };
        let due = reading.next.max(reading.unclaimed.start)..reading.unclaimed.end;
        if !due.contains(&place.offset) {
            return;
        }
        reading.next = place.offset + 1;
        if let Some(at_ns) = instant(&message) {
            reading.first_ns = Some(reading.first_ns.map_or(at_ns, |known| known.min(at_ns)));
            reading.last_ns = Some(reading.last_ns.map_or(at_ns, |known| known.max(at_ns)));
        }
        reading.requests += 1;
        reading.messages.push((place, message));
    }

    /// Its partitions, as they are now.
    fn follow(&mut self, group: &mut impl Group) -> Result<(), KafkaError> {
        let Some((member, partitions)) = group.assignment() else {
            return Ok(());
        };
        let same = self.member == member && self.readings.keys().copied().eq(sorted(&partitions));
        if !same {
            self.member = member;
            self.announced_ns = None;
            self.decided = false;
            // What was prepared holds messages of all its partitions: they are read again.
            let reread = self.prepared.take().is_some();
            self.readings
                .retain(|known, _| !reread && partitions.contains(known));
            let new = partitions.iter().copied();
            let new: Vec<i32> = new.filter(|p| !self.readings.contains_key(p)).collect();
            for (partition, unclaimed) in group.unclaimed(&new)? {
                let reading = Reading {
                    next: unclaimed.start,
                    complete: unclaimed.is_empty(),
                    unclaimed,
                    requests: 0,
                    messages: Vec::new(),
                    first_ns: None,
                    last_ns: None,
                };
                group.seek(partition, reading.next)?;
                self.readings.insert(partition, reading);
            }
        }
        Ok(())
    }

    /// Which partitions are read to their ends.
    fn look(&mut self, group: &mut impl Group) {
        for (partition, reading) in &mut self.readings {
            // The position is past a last offset that holds no message, such as the end of a transaction.
            let read = group
                .position(*partition)
                .unwrap_or(reading.next)
                .max(reading.next);
            reading.complete |= read >= reading.unclaimed.end;
        }
    }

    fn prepare(
        &mut self,
        prepare: impl FnOnce(Vec<(Place, Message)>) -> Result<P, String>,
    ) -> Result<(), WaitError> {
        if self.is_ready() && self.prepared.is_none() {
            let readings = self.readings.values_mut();
            let messages = readings.flat_map(|reading| std::mem::take(&mut reading.messages));
            self.prepared = Some(prepare(messages.collect()).map_err(WaitError::Unusable)?);
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        !self.member.is_empty()
            && !self.readings.is_empty()
            && self.readings.values().all(|reading| reading.complete)
    }

    fn hear(&mut self, ready: Ready) {
        self.ready.insert(ready.member.clone(), ready);
    }

    /// The generator with the first partition decides.
    fn leads(&self) -> bool {
        self.readings.contains_key(&0) && self.is_ready() && !self.decided
    }

    fn announce(
        &mut self,
        group: &mut impl Group,
        asked: &Asked,
        now_ns: u64,
    ) -> Result<(), KafkaError> {
        let due = self
            .announced_ns
            .is_none_or(|at| now_ns.saturating_sub(at) >= REPEAT_NS);
        if !self.is_ready() || !due {
            return Ok(());
        }
        self.announced_ns = Some(now_ns);
        let parts = self.readings.iter().map(|(partition, reading)| Part {
            partition: *partition,
            from: reading.unclaimed.start,
            to: reading.unclaimed.end,
            requests: reading.requests,
        });
        let ready = Ready {
            group: asked.group.clone(),
            member: self.member.clone(),
            generator: asked.generator.clone(),
            asked: asked.asked.clone(),
            parts: parts.collect(),
            first_ns: self.readings.values().filter_map(|r| r.first_ns).min(),
            last_ns: self.readings.values().filter_map(|r| r.last_ns).max(),
        };
        group.say(&Entry::Ready(ready))
    }

    fn differs(&self, asked: &Asked) -> Option<WaitError> {
        let other = self.ready.values().find(|one| one.asked != asked.asked)?;
        Some(WaitError::Different {
            other: other.generator.clone(),
            theirs: other.asked.clone(),
            ours: asked.asked.clone(),
        })
    }

    fn step(&self) -> Step {
        let all = self.readings.values();
        Step {
            read: all.clone().map(|r| r.requests).sum(),
            to_read: all
                .map(|r| r.unclaimed.end.saturating_sub(r.unclaimed.start).max(0) as u64)
                .sum(),
            ready: self.ready.len(),
        }
    }

    /// Says when all start, where all that are asked for are ready with the partitions that Kafka has given them.
    fn start(
        &mut self,
        group: &mut impl Group,
        asked: &Asked,
        now_ns: u64,
    ) -> Result<(), WaitError> {
        if self.ready.len() < asked.generators {
            return Ok(());
        }
        let Some(members) = group.members()? else {
            return Ok(());
        };
        // Those of members that are gone, or of an earlier sharing out.
        self.ready.retain(|member, _| members.contains_key(member));
        let all: Option<Vec<Ready>> = members
            .iter()
            .map(|(member, partitions)| {
                let ready = self.ready.get(member)?;
                (ready.partitions() == sorted(partitions)).then(|| ready.clone())
            })
            .collect();
        let Some(all) = all.filter(|all| all.len() == asked.generators) else {
            return Ok(());
        };
        let origin_ns = all.iter().filter_map(|one| one.first_ns).min();
        let last_ns = all.iter().filter_map(|one| one.last_ns).max();
        // Without any request all learn so by a start of none.
        let (origin_ns, last_ns) = (origin_ns.unwrap_or(now_ns), last_ns.unwrap_or(now_ns));
        self.decided = true;
        group.say(&Entry::Start(Start {
            group: asked.group.clone(),
            run: format!("{now_ns}-{}", self.member),
            at_ns: now_ns + LEAD_NS,
            origin_ns,
            lasts_ns: Duration::from_nanos(last_ns - origin_ns)
                .div_f64(asked.speed)
                .saturating_add(asked.timeout)
                .as_nanos()
                .try_into()
                .unwrap_or(u64::MAX),
            members: all,
        }))?;
        Ok(())
    }

    /// A start with this generator in it: its share, once it is claimed.
    fn started(
        &mut self,
        group: &mut impl Group,
        start: Start,
    ) -> Result<Option<Share<P>>, WaitError> {
        let Some(own) = start.members.iter().find(|one| one.member == self.member) else {
            return Ok(None);
        };
        if start.requests() == 0 {
            return Err(WaitError::Nothing { group: start.group });
        }
        let run = Box::new((start.run.clone(), self.member.clone()));
        let next: Vec<(i32, i64)> = own.parts.iter().map(|p| (p.partition, p.to)).collect();
        let has: Vec<(i32, i64)> = self
            .readings
            .iter()
            .map(|(partition, reading)| (*partition, reading.unclaimed.end))
            .collect();
        let Some(prepared) = self.prepared.take().filter(|_| has == next) else {
            let why = "it had others when the start was decided".to_owned();
            return Err(WaitError::Moved { run, why });
        };
        match group.claim(&next) {
            Ok(()) => Ok(Some(Share {
                member: self.member.clone(),
                prepared,
                start,
            })),
            Err(KafkaError::Fenced { why }) => Err(WaitError::Moved { run, why }),
            Err(e) => Err(WaitError::Unclear {
                run,
                why: e.to_string(),
            }),
        }
    }
}

fn sorted(partitions: &[i32]) -> Vec<i32> {
    let mut sorted = partitions.to_vec();
    sorted.sort_unstable();
    sorted
}

#[cfg(test)]
mod tests;
