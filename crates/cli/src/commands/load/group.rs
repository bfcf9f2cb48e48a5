//! `load --replay kafka://… --group NAME`: this generator's share of a topic, the common start, and its result for `load merge`.

use super::found::Found;
use super::merge::in_words;
use super::order::Order;
use super::requests::{parse_amplify, refused};
use crate::args::LoadArgs;
use crate::commands::{host_name, topic};
use crate::signals::{LOOK, Signals};
use crate::{Failure, asked as request, output};
use capture::Traffic;
use experiment::config::{Hosts, Problem, Recording, parse_duration, parse_whole, recording};
use kafka::{
    Access, Address, Ending, Entry, Finished, Group as _, Member, Message, Place, Share, Step,
    WaitError,
};
use load::Workload;
use run::load::{Document, State};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long generators wait for each other unless asked otherwise.
const GATHER: Duration = Duration::from_secs(300);
/// A start that is missed by more is a trouble.
const LATE: Duration = Duration::from_millis(100);
const MOST_GENERATORS: u64 = 1_000;
/// A seed that JSON readers keep exactly.
const SEED_BITS: u64 = (1 << 53) - 1;

/// What was asked.
#[derive(Debug)]
pub struct InGroup {
    address: Address,
    access: Access,
    group: String,
    generators: usize,
    gather: Duration,
    amplify: u64,
    hosts: Hosts,
    allow_unsafe: bool,
    /// As typed.
    keep_alive: Option<bool>,
}

/// Whether a topic is to be shared; what of the flags does not fit.
pub fn asked(args: &LoadArgs) -> Result<Option<InGroup>, Vec<Problem>> {
    let mut found = Found::default();
    let named = args.requested.replay.as_deref().and_then(topic::named);
    let given = &args.group;
    let workload = args.requested.workload.as_deref().and_then(topic::named);
    if workload.is_some() {
        found.problems.push(Problem::with(
            "--workload names a topic, which is sent at its recorded instants",
            "give it as --replay with --group, or write it to a file with capture convert",
        ));
    }
    let Some(text) = named else {
        for (flag, alone) in [
            ("--group", given.group.is_some()),
            ("--generators", given.generators.is_some()),
            ("--gather", given.gather.is_some()),
        ] {
            found.meaningless(
                alone,
                flag,
                "it belongs to a topic",
                "name one with --replay kafka://HOST:PORT/TOPIC, or leave it out",
            );
        }
        return found
            .problems
            .is_empty()
            .then_some(None)
            .ok_or(found.problems);
    };
    let group = given.group.clone().filter(|name| !name.is_empty());
    if group.is_none() {
        found.problems.push(Problem::with(
            "--replay names a topic, and no group shares it",
            "name one with --group NAME, such as the day: what a group has replayed it does not replay again",
        ));
    }
    found.meaningless(
        args.warmup.is_some(),
        "--warmup",
        "all generators of a group start at one instant",
        "leave it out, or replay a part of the traffic before",
    );
    for (flag, limited) in [
        ("--duration", args.duration.is_some()),
        ("-n", args.requests.is_some()),
    ] {
        found.meaningless(
            limited,
            flag,
            "the group claims all requests of the topic before the start",
            "leave it out, or write a part of the traffic to a topic of its own with capture convert",
        );
    }
    let generators = found.given(&given.generators, "--generators", |a| {
        parse_whole(a, 1, MOST_GENERATORS, "generators")
    });
    let gather = found.given(&given.gather, "--gather", parse_duration);
    let amplify = found.given(&args.requested.amplify, "--amplify", parse_amplify);
    let reached = topic::addressed("--replay", text, &given.kafka);
    let reached = reached.map_err(|problems| found.problems.extend(problems));
    let (Ok((address, access)), Some(group), true) = (reached, group, found.problems.is_empty())
    else {
        return Err(found.problems);
    };
    let (generators, amplify) = (generators.unwrap_or(1), amplify.unwrap_or(1));
    Ok(Some(InGroup {
        allow_unsafe: args.requested.allow_unsafe,
        keep_alive: args.target.kept.asked(),
        generators: usize::try_from(generators).unwrap_or(usize::MAX),
        gather: gather.unwrap_or(GATHER),
        hosts: match args.requested.replay_host {
            true => Hosts::Recorded,
            false => Hosts::Target,
        },
        amplify,
        address,
        access,
        group,
    }))
}

/// In the place of a share that is not known yet, so that everything else is checked before brokers are asked.
pub fn stand_in() -> Recording {
    Recording {
        workload: Workload::get("/").expect("a path that can be sent"),
        instants_ns: Some(vec![0]),
        notes: Vec::new(),
    }
}

/// What is made of the messages of a share.
#[derive(Debug)]
struct Prepared {
    /// `None` where no message is a request.
    recording: Option<Recording>,
    /// Unix time in ns from which its instants count.
    began_ns: u64,
    /// How many requests it has, each as often as it is sent.
    planned: u64,
    /// Messages that cannot be sent, and why.
    left_out: u64,
    why: Option<String>,
}

/// A generator of the group, which has claimed its share.
#[derive(Debug)]
pub struct Joined {
    member: Member,
    share: Share<Prepared>,
    amplify: u64,
    /// Of its name in the group.
    pub seed: u64,
}

impl InGroup {
    /// Waits for the others and claims a share.
    pub fn join(&self, order: &Order, signals: &Signals, quiet: bool) -> Result<Joined, Failure> {
        let failed = |e: &kafka::KafkaError| topic::failure(e);
        let cluster = topic::connected(&self.address, &self.access)?;
        let partitions = cluster.must_have().map_err(|e| failed(&e))?;
        if (partitions as usize) < self.generators {
            return Err(Failure::usage(format!(
                "{} has {partitions} partitions, and {} generators cannot share them; give at most --generators {partitions}, or \
                 write the traffic to a topic with more (?partitions={})",
                self.address, self.generators, self.generators
            )));
        }
        let mut member = cluster.join(&self.group).map_err(|e| failed(&e))?;
        let asked = kafka::Asked {
            group: self.group.clone(),
            generator: format!("{}:{}", host_name(), std::process::id()),
            generators: self.generators,
            asked: self.words(order),
            speed: order.asked.speed.unwrap_or(1.0),
            timeout: order.plan.timeout,
            limit: self.gather,
        };
        let mut progress = Progress::new(self.generators, quiet);
        let prepare = |messages| self.prepared(messages).map_err(|failure| failure.message);
        let waited = kafka::wait(&mut member, &asked, topic::instant_ns, prepare, |step| {
            progress.tell(step);
            match signals.received() {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        });
        let share = match waited {
            Ok(share) => share,
            Err(error) => {
                let refused = self.refused(&mut member, &error, signals);
                member.leave();
                return Err(refused);
            }
        };
        if let Some(said) = &share.prepared.why {
            output::error(&format!("{}: {said}", self.address));
        }
        Ok(Joined {
            seed: seed(&share.member),
            amplify: self.amplify,
            member,
            share,
        })
    }

    /// What all generators must be asked alike.
    fn words(&self, order: &Order) -> String {
        let kept = match self.keep_alive {
            None => "",
            Some(true) => " --keep-alive",
            Some(false) => " --no-keep-alive",
        };
        format!(
            "--generators {} --amplify {}{kept} ({})",
            self.generators,
            self.amplify,
            in_words(&order.asked, order.objective)
        )
    }

    /// What there was instead of a share; the others learn it where they have started.
    fn refused(&self, member: &mut Member, error: &WaitError, signals: &Signals) -> Failure {
        let known = match error {
            WaitError::Moved { run, .. } => Some((run, Ending::Moved)),
            WaitError::Unclear { run, .. } => Some((run, Ending::Failed)),
            _ => None,
        };
        if let Some((run, ending)) = known {
            let (run, name) = (**run).clone();
            // Without it the generator is missing in the result, which says the same.
            let _ = member.say(&Entry::Finished(Finished {
                group: self.group.clone(),
                run,
                member: name,
                ending,
                left_out: 0,
                why: Some(error.to_string()),
                document: None,
            }));
        }
        let said = error.to_string();
        match (error, signals.received()) {
            (WaitError::Interrupted, Some(signal)) => Failure {
                code: 128 + signal,
                message: said,
            },
            (WaitError::Different { .. } | WaitError::Unusable(_), _) => Failure::usage(said),
            _ => Failure::no_answer(said),
        }
    }

    /// The share's messages as requests that can be sent.
    fn prepared(&self, messages: Vec<(Place, Message)>) -> Result<Prepared, Failure> {
        let mut records = topic::Records::default();
        for (place, message) in messages {
            records.take(place, &message);
        }
        let mut prepared = Prepared {
            recording: None,
            began_ns: 0,
            planned: 0,
            left_out: records.unreadable(),
            why: records.skipped(),
        };
        if records.len() == 0 {
            return Ok(prepared);
        }
        let unredacted = records.unredacted();
        let name = self.address.to_string();
        let traffic = Traffic::of_records(records.into_timed(), unredacted)
            .map_err(|e| Failure::usage(format!("{name}: {e}; record the traffic again")))?;
        prepared.began_ns = traffic.began_ns.unwrap_or(0);
        prepared.left_out += traffic.skipped.count;
        if prepared.why.is_none() && traffic.skipped.count > 0 {
            prepared.why = Some(traffic.skipped.to_string());
        }
        let traffic = traffic.amplified(self.amplify);
        prepared.planned = traffic.requests.len() as u64;
        let recording = recording(traffic, &name, self.hosts)
            .map_err(|problems| request::failure(&problems))?;
        if let Some(problem) = refused(&recording.workload, self.allow_unsafe) {
            return Err(request::failure(&[problem]));
        }
        prepared.recording = Some(recording);
        Ok(prepared)
    }
}

impl Joined {
    /// Its requests, due from the common start on; `None` where it has none.
    pub fn recording(&mut self) -> Option<Recording> {
        let prepared = &mut self.share.prepared;
        let mut recording = prepared.recording.take()?;
        let later_ns = prepared.began_ns.saturating_sub(self.share.start.origin_ns);
        for instant in recording.instants_ns.iter_mut().flatten() {
            *instant = instant.saturating_add(later_ns);
        }
        Some(recording)
    }

    /// Requests of its partitions, and those of all generators.
    pub fn said(&self) -> String {
        let own = self.share.start.members.iter();
        let own = own.filter(|one| one.member == self.share.member);
        let own: Vec<_> = own.collect();
        let partitions: usize = own.iter().map(|one| one.parts.len()).sum();
        let requests: u64 = own.iter().map(|one| one.requests()).sum();
        format!(
            "this generator has {} of {}, in {}",
            run::grouped(requests),
            run::counted(self.share.start.requests(), "recorded request"),
            run::counted(partitions, "partition")
        )
    }

    /// Until the common start, which is an instant of all clocks.
    pub fn wait_for_start(&self, signals: &Signals) {
        let at = UNIX_EPOCH + Duration::from_nanos(self.share.start.at_ns);
        while signals.received().is_none() {
            match at.duration_since(SystemTime::now()) {
                Ok(left) if !left.is_zero() => std::thread::sleep(left.min(LOOK)),
                _ => return,
            }
        }
    }

    /// Why its requests did not come when they should have, where the run began at this Unix time in ns.
    pub fn late(&self, began_ns: u64) -> Option<String> {
        late(self.share.start.at_ns, began_ns)
    }

    /// Tells the others what it measured, and what is in no figure.
    pub fn done(self, document: Option<&Document>) -> Result<(), Failure> {
        let prepared = &self.share.prepared;
        let counted = document.map_or(0, |d| d.counts.asked - d.counts.cut);
        let unsent = prepared.planned.saturating_sub(counted);
        let why = match document.map(|document| document.state) {
            Some(State::Interrupted) if unsent > 0 => Some("it was interrupted".to_owned()),
            _ if unsent > 0 => Some("it was given up".to_owned()),
            _ => prepared.why.clone(),
        };
        let left_out = prepared.left_out + unsent.div_ceil(self.amplify);
        let document = document.and_then(|document| serde_json::to_value(document).ok());
        self.finish(Ending::Done, left_out, why, document)
    }

    /// Tells the others that it sent nothing that counts.
    pub fn failed(self, why: &str) -> Result<(), Failure> {
        self.finish(Ending::Failed, 0, Some(why.to_owned()), None)
    }

    fn finish(
        mut self,
        ending: Ending,
        left_out: u64,
        why: Option<String>,
        document: Option<serde_json::Value>,
    ) -> Result<(), Failure> {
        let told = self.member.say(&Entry::Finished(Finished {
            group: self.share.start.group.clone(),
            run: self.share.start.run.clone(),
            member: self.share.member.clone(),
            ending,
            left_out,
            why,
            document,
        }));
        self.member.leave();
        told.map_err(|e| {
            Failure::no_answer(format!(
                "the result of this generator is missing in the topic: {e}; merge the documents of --json by hand"
            ))
        })
    }
}

fn late(at_ns: u64, began_ns: u64) -> Option<String> {
    let late = Duration::from_nanos(began_ns.saturating_sub(at_ns));
    (late > LATE).then(|| {
        format!(
            "this generator began {} ms after the common start; give it a free core, and check its clock",
            late.as_millis()
        )
    })
}

/// Each generator has its own, so that merged documents can be distinguished.
fn seed(member: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    member.hash(&mut hasher);
    hasher.finish() & SEED_BITS
}

/// What was said while it waits.
#[derive(Debug)]
struct Progress {
    wanted: usize,
    quiet: bool,
    last: Option<(Step, Instant)>,
}

impl Progress {
    fn new(wanted: usize, quiet: bool) -> Progress {
        Progress {
            wanted,
            quiet,
            last: None,
        }
    }

    fn tell(&mut self, step: Step) {
        let now = Instant::now();
        let due = self.last.is_none_or(|(last, at)| {
            last.ready != step.ready || now.duration_since(at) >= topic::TELL_EVERY
        });
        if self.quiet || !due {
            return;
        }
        self.last = Some((step, now));
        output::say(&format!(
            "{} of {} generators are ready; {} of {} messages of this one are read",
            step.ready, self.wanted, step.read, step.to_read
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_was_missed_is_a_trouble() {
        assert_eq!(late(1_000_000_000, 1_050_000_000), None);
        assert_eq!(late(1_000_000_000, 900_000_000), None);
        let said = late(1_000_000_000, 1_250_000_000).unwrap();
        assert!(said.contains("250 ms after the common start"), "{said}");
    }
}
