//! The latest run of a group of generators, out of the topic of its results: one document, which says what each could not do.

use super::asked::Of;
use super::documents::{Merged, One, shown, summed};
use crate::args::LoadMergeArgs;
use crate::commands::load::assertions::Limit;
use crate::commands::topic;
use crate::signals::Signals;
use crate::{Failure, asked, output};
use kafka::{Address, Cluster, Ending, Entry, Finished, KafkaError, Latest, Ready, Run};
use run::load::{GeneratorEnding, Group, GroupGenerator};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// After the last answer must be there: for the way of a result to here.
const GRACE: Duration = Duration::from_secs(60);
/// How often the topic is read while results are missing.
const EVERY: Duration = Duration::from_secs(1);

/// `load merge kafka://… --group NAME`.
pub fn merge(args: &LoadMergeArgs, text: &str, limits: &[Limit]) -> Result<u8, Failure> {
    let reached = topic::addressed("FILE", text, &args.kafka);
    let (address, access) = reached.map_err(|problems| asked::failure(&problems))?;
    let Some(group) = args.group.as_deref().filter(|name| !name.is_empty()) else {
        return Err(Failure::usage(format!(
            "{address} holds the results of groups, and none is named; give --group NAME"
        )));
    };
    if args.files.len() > 1 {
        return Err(Failure::usage(
            "a topic is merged alone: it has the results of all generators of the group; leave the other files out",
        ));
    }
    let signals = Signals::taken()?;
    let cluster = topic::connected(&address, &access)?;
    let run = complete(&cluster, &address, group, &signals)?;
    let group = described(&address, &run);
    let documents = run.start.members.iter().filter_map(|member| {
        let document = run.of(&member.member)?.document.as_ref()?;
        let read = One::of(&member.generator, document.clone());
        Some(read.map_err(|why| format!("{}: {why}", member.generator)))
    });
    let documents = super::all(documents).map_err(Failure::usage)?;
    if documents.is_empty() {
        return Err(Failure::no_answer(format!(
            "no generator of the group {} has a result: {}",
            group.name,
            losses(&group).join("; ")
        )));
    }
    let mut merged = summed(documents, limits, Of::Group).map_err(Failure::usage)?;
    with_losses(&mut merged, group);
    shown(args, merged)
}

/// The latest run of the group, once all its generators have ended, have left, or had time to end.
fn complete(
    cluster: &Cluster,
    address: &Address,
    group: &str,
    signals: &Signals,
) -> Result<Run, Failure> {
    let failed = |e: KafkaError| topic::failure(&e);
    let none = || {
        Failure::usage(format!(
            "the group {group} has no run on {address}; replay with load --replay {address} --group {group}"
        ))
    };
    let mut reading = cluster.reading(&address.results()).map_err(|e| match e {
        KafkaError::NoTopic { .. } => none(),
        e => failed(e),
    })?;
    let mut latest = Latest::of(group);
    let mut read = |latest: &mut Latest| {
        reading.read(|_, message| {
            // Documents of other groups are large, and are not decoded.
            if message.key == group.as_bytes()
                && let Ok(entry) = serde_json::from_slice::<Entry>(&message.value)
            {
                latest.take(entry);
            }
        })
    };
    let mut said = Instant::now();
    loop {
        read(&mut latest).map_err(failed)?;
        let run = latest.run.as_ref().ok_or_else(none)?;
        let ends = Duration::from_nanos(run.start.at_ns.saturating_add(run.start.lasts_ns)) + GRACE;
        let left = (UNIX_EPOCH + ends).duration_since(SystemTime::now());
        let left = left.unwrap_or_default();
        if run.is_complete() || left.is_zero() || signals.received().is_some() {
            break;
        }
        if none_is_left(cluster, group, run)? {
            // A result may have been written between the two questions.
            read(&mut latest).map_err(failed)?;
            break;
        }
        if said.elapsed() >= topic::TELL_EVERY {
            said = Instant::now();
            output::say(&format!(
                "{} of {} generators have ended; the others are waited for up to {} s more (Ctrl-C: no longer)",
                run.finished.len(),
                run.start.members.len(),
                left.as_secs()
            ));
        }
        std::thread::sleep(EVERY.min(left));
    }
    reading.close();
    latest.run.ok_or_else(none)
}

/// The generators without a result are no members of the group any more.
fn none_is_left(cluster: &Cluster, group: &str, run: &Run) -> Result<bool, Failure> {
    let members = cluster.members(group).map_err(|e| topic::failure(&e))?;
    let missing = run.start.members.iter().map(|one| &one.member);
    let mut missing = missing.filter(|member| run.of(member).is_none());
    Ok(!missing.any(|member| members.contains(member)))
}

fn described(address: &Address, run: &Run) -> Group {
    let generators: Vec<GroupGenerator> = run
        .start
        .members
        .iter()
        .map(|member| generator(member, run.of(&member.member)))
        .collect();
    let lost = generators.iter().map(|one| one.lost).sum();
    Group {
        name: run.start.group.clone(),
        topic: address.to_string(),
        run: run.start.run.clone(),
        requests: run.start.requests(),
        lost,
        generators,
    }
}

fn generator(member: &Ready, finished: Option<&Finished>) -> GroupGenerator {
    let done = finished.filter(|one| one.ending == Ending::Done);
    GroupGenerator {
        lost: done.map_or(member.requests(), |one| one.left_out.min(member.requests())),
        generator: member.generator.clone(),
        partitions: member.partitions(),
        requests: member.requests(),
        ending: match finished.map(|one| one.ending) {
            None => GeneratorEnding::Missing,
            Some(Ending::Done) => GeneratorEnding::Done,
            Some(Ending::Moved) => GeneratorEnding::Moved,
            Some(Ending::Failed) => GeneratorEnding::Failed,
        },
        why: finished.and_then(|one| one.why.as_deref().map(report::plain)),
    }
}

/// What each generator could not do, a sentence for each.
fn losses(group: &Group) -> Vec<String> {
    let lost = |one: &GroupGenerator| {
        let what = match one.ending {
            GeneratorEnding::Done if one.lost == 0 => return None,
            GeneratorEnding::Done => {
                let why = one.why.as_deref().unwrap_or("it did not say why");
                format!("left them out ({why}); the group does not replay them")
            }
            GeneratorEnding::Missing => {
                "gave no result; what it sent is not counted, and the group does not replay it".to_owned()
            }
            GeneratorEnding::Moved => {
                "sent nothing, because Kafka moved its partitions before the start; the group's next run replays them".to_owned()
            }
            GeneratorEnding::Failed => {
                let why = one.why.as_deref().unwrap_or("it did not say why");
                format!("has no figures ({why}); the group does not replay what it has claimed")
            }
        };
        let partitions: Vec<String> = one.partitions.iter().map(ToString::to_string).collect();
        Some(format!(
            "{} of {} requests are lost: {} (partitions {}) {what}",
            one.lost,
            group.requests,
            one.generator,
            partitions.join(", ")
        ))
    };
    group.generators.iter().filter_map(lost).collect()
}

/// Figures of a part of the traffic are no honest answer about all of it.
fn with_losses(merged: &mut Merged, group: Group) {
    let losses = losses(&group);
    let document = &mut merged.document;
    let sentences = losses.iter().map(|loss| format!("{loss}."));
    document.warnings.splice(0..0, sentences);
    // What a generator left out of its share is a warning as for a file; where it was interrupted, its document says so.
    let mut all = group.generators.iter();
    if all.any(|one| one.ending != GeneratorEnding::Done) {
        document.exit_code = match document.exit_code {
            signal if signal >= 128 => signal,
            _ => 3,
        };
        let broken_off = merged.broken_off.take().into_iter();
        merged.broken_off = Some(
            losses
                .into_iter()
                .chain(broken_off)
                .collect::<Vec<_>>()
                .join("\n"),
        );
    }
    document.group = Some(group);
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka::{Part, Start};

    fn ready(member: &str, partition: i32) -> Ready {
        Ready {
            group: "g".into(),
            member: member.into(),
            generator: format!("web:{member}"),
            asked: String::new(),
            parts: vec![Part {
                partition,
                from: 0,
                to: 10,
                requests: 10,
            }],
            first_ns: Some(1),
            last_ns: Some(2),
        }
    }

    #[test]
    fn what_a_generator_could_not_do_is_said_with_its_requests() {
        let finished = |member: &str, ending, why: Option<&str>| Finished {
            group: "g".into(),
            run: "1".into(),
            member: member.into(),
            ending,
            left_out: 3,
            why: why.map(str::to_owned),
            document: None,
        };
        let run = Run {
            start: Start {
                group: "g".into(),
                run: "1".into(),
                at_ns: 0,
                origin_ns: 0,
                lasts_ns: 0,
                members: vec![ready("1", 0), ready("2", 1), ready("3", 2), ready("4", 3)],
            },
            finished: vec![
                finished("1", Ending::Done, Some("it was interrupted")),
                finished("2", Ending::Moved, None),
                finished("3", Ending::Failed, Some("no ports")),
            ],
        };
        let address = Address::parse("kafka://127.0.0.1:1/t").unwrap();
        let group = described(&address, &run);
        assert_eq!((group.requests, group.lost), (40, 33));
        let said = losses(&group);
        let parts = [
            "3 of 40 requests are lost: web:1 (partitions 0) left them out (it was interrupted)",
            "10 of 40 requests are lost: web:2 (partitions 1) sent nothing",
            "10 of 40 requests are lost: web:3 (partitions 2) has no figures (no ports)",
            "10 of 40 requests are lost: web:4 (partitions 3) gave no result",
        ];
        assert_eq!(said.len(), 4);
        for (said, part) in said.iter().zip(parts) {
            assert!(said.starts_with(part), "{said}");
        }
    }
}
