//! `load --replay kafka://… --group NAME`: this generator's share of a topic, the common start, and its result for `load merge`.

use super::found::Found;
use crate::args::LoadArgs;
use crate::commands::{host_name, topic};
use crate::signals::{LOOK, Signals};
use crate::{Failure, asked as request, output};
use capture::Traffic;
use experiment::config::{
    Asked, Hosts, Problem, Recording, parse_duration, parse_whole, recording,
};
use kafka::{Access, Address, Ending, Entry, Finished, Group as _, Member, Share, Step, WaitError};
use load::Workload;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long generators wait for each other unless asked otherwise.
const GATHER: Duration = Duration::from_secs(300);
/// What is waited for is said so often.
const TELL_EVERY: Duration = Duration::from_secs(5);
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
    /// What all generators must be asked alike, in words.
    words: String,
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
            if alone {
                found.problems.push(Problem::with(
                    format!("{flag} means nothing here: it belongs to a topic"),
                    "name one with --replay kafka://HOST:PORT/TOPIC, or leave it out",
                ));
            }
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
    if args.warmup.is_some() {
        found.problems.push(Problem::with(
            "--warmup means nothing here: all generators of a group start at one instant",
            "leave it out, or replay a part of the traffic before",
        ));
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
    let speed = args.requested.speed.as_deref().unwrap_or("1x");
    Ok(Some(InGroup {
        words: format!("--generators {generators} --speed {speed} --amplify {amplify}"),
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

/// `--amplify`.
pub fn parse_amplify(asked: &Asked) -> Result<u64, Problem> {
    parse_whole(asked, 1, 1_000, "times that each request is sent")
}

/// In the place of a share that is not known yet, so that everything else is checked before brokers are asked.
pub fn stand_in() -> Recording {
    Recording {
        workload: Workload::get("/").expect("a path that can be sent"),
        instants_ns: Some(vec![0]),
        notes: Vec::new(),
    }
}

/// A generator of the group, which has claimed its share.
#[derive(Debug)]
pub struct Joined {
    member: Member,
    share: Share,
    group: String,
    /// Its requests; `None` where it has none.
    pub recording: Option<Recording>,
    /// Of its name in the group.
    pub seed: u64,
}

impl InGroup {
    /// Waits for the others and claims a share.
    pub fn join(&self, signals: &Signals, quiet: bool) -> Result<Joined, Failure> {
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
            asked: self.words.clone(),
            limit: self.gather,
        };
        let mut told = Told::new(self.generators, quiet);
        let waited = kafka::wait(&mut member, &asked, topic::instant_ns, |step| {
            told.tell(step);
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
        let mut joined = Joined {
            seed: seed(&share.member),
            group: self.group.clone(),
            recording: None,
            member,
            share,
        };
        match self.recording(&mut joined.share) {
            Ok(recording) => joined.recording = recording,
            Err(failure) => {
                joined.finish(Ending::Failed, Some(failure.message.clone()), None)?;
                return Err(failure);
            }
        }
        Ok(joined)
    }

    /// What there was instead of a share; the others learn it where they have started.
    fn refused(&self, member: &mut Member, error: &WaitError, signals: &Signals) -> Failure {
        if let WaitError::Moved { run, .. } = error {
            let (run, name) = (**run).clone();
            // Without it the generator is missing in the result, which says the same.
            let _ = member.say(&Entry::Finished(Finished {
                group: self.group.clone(),
                run,
                member: name,
                ending: Ending::Moved,
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
            (WaitError::Different { .. }, _) => Failure::usage(said),
            _ => Failure::no_answer(said),
        }
    }

    /// The share's messages as requests, due from the common start on.
    fn recording(&self, share: &mut Share) -> Result<Option<Recording>, Failure> {
        let mut records = topic::Records::default();
        let (mut first_ns, messages) = (u64::MAX, std::mem::take(&mut share.messages));
        for (place, message) in messages {
            first_ns = first_ns.min(topic::instant_ns(&message).unwrap_or(u64::MAX));
            records.take(place, &message);
        }
        if let Some(said) = records.skipped() {
            output::error(&format!("{}: {said}", self.address));
        }
        if records.len() == 0 {
            return Ok(None);
        }
        let unredacted = records.unredacted();
        let name = self.address.to_string();
        let traffic = Traffic::of_records(records.into_timed(), unredacted)
            .map_err(|e| Failure::no_answer(format!("{name}: {e}; record the traffic again")))?;
        let began_ns = traffic.began_ns.unwrap_or(first_ns);
        let traffic = traffic.amplified(self.amplify);
        let mut recording = recording(traffic, &name, self.hosts)
            .map_err(|problems| request::failure(&problems))?;
        let later_ns = began_ns.saturating_sub(share.start.origin_ns);
        for instant in recording.instants_ns.iter_mut().flatten() {
            *instant = instant.saturating_add(later_ns);
        }
        Ok(Some(recording))
    }
}

impl Joined {
    /// Requests of its partitions, and those of all generators.
    pub fn said(&self) -> String {
        let own = self.share.start.members.iter();
        let own = own.filter(|one| one.member == self.share.member);
        let own: Vec<_> = own.collect();
        let partitions: usize = own.iter().map(|one| one.parts.len()).sum();
        let requests: u64 = own.iter().map(|one| one.requests()).sum();
        format!(
            "{requests} of {} recorded requests are this generator's, in {partitions} partitions",
            self.share.start.requests()
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

    /// Tells the others how it ended, and leaves the group.
    pub fn finish(
        mut self,
        ending: Ending,
        why: Option<String>,
        document: Option<serde_json::Value>,
    ) -> Result<(), Failure> {
        let told = self.member.say(&Entry::Finished(Finished {
            group: self.group.clone(),
            run: self.share.start.run.clone(),
            member: self.share.member.clone(),
            ending,
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

/// Each generator has its own, so that merged documents are told apart.
fn seed(member: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    member.hash(&mut hasher);
    hasher.finish() & SEED_BITS
}

/// What was said while it waits.
#[derive(Debug)]
struct Told {
    wanted: usize,
    quiet: bool,
    last: Option<(Step, Instant)>,
}

impl Told {
    fn new(wanted: usize, quiet: bool) -> Told {
        Told {
            wanted,
            quiet,
            last: None,
        }
    }

    fn tell(&mut self, step: Step) {
        let now = Instant::now();
        let due = self.last.is_none_or(|(last, at)| {
            last.ready != step.ready || now.duration_since(at) >= TELL_EVERY
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
