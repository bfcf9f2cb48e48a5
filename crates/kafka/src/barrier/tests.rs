//! Generators against a Kafka of a few lines in memory.

use super::*;
use std::sync::{Arc, Mutex};
use std::thread;

/// What the brokers know.
#[derive(Debug, Default)]
struct World {
    members: BTreeMap<String, Vec<i32>>,
    generation: u64,
    messages: BTreeMap<i32, Vec<Message>>,
    claimed: BTreeMap<i32, i64>,
    said: Vec<Entry>,
    now_ns: u64,
    /// Members that are given to another at the start.
    moves: bool,
    /// Claims get no answer.
    silent: bool,
}

impl World {
    fn of(partitions: i32, each: i64) -> Arc<Mutex<World>> {
        let message = |partition: i32, offset: i64| Message {
            key: Vec::new(),
            value: format!("{partition}/{offset}").into_bytes(),
            headers: Vec::new(),
            at_ms: 1_000 + offset * 10 + i64::from(partition),
        };
        let messages =
            (0..partitions).map(|p| (p, (0..each).map(|offset| message(p, offset)).collect()));
        Arc::new(Mutex::new(World {
            messages: messages.collect(),
            now_ns: 1,
            ..World::default()
        }))
    }

    /// Partitions in turn, as Kafka does when a member comes or goes.
    fn share_out(&mut self) {
        self.generation += 1;
        let names: Vec<String> = self.members.keys().cloned().collect();
        self.members.values_mut().for_each(Vec::clear);
        for partition in self.messages.keys() {
            let name = &names[*partition as usize % names.len()];
            self.members.get_mut(name).unwrap().push(*partition);
        }
    }
}

struct One {
    world: Arc<Mutex<World>>,
    name: String,
    generation: u64,
    positions: BTreeMap<i32, i64>,
    heard: usize,
}

impl One {
    fn join(world: &Arc<Mutex<World>>, name: &str) -> One {
        let mut shared = world.lock().unwrap();
        shared.members.insert(name.to_owned(), Vec::new());
        shared.share_out();
        One {
            world: world.clone(),
            name: name.to_owned(),
            generation: 0,
            positions: BTreeMap::new(),
            heard: shared.said.len(),
        }
    }
}

impl Group for One {
    fn poll(&mut self, _: Duration) -> Result<Vec<(Place, Message)>, KafkaError> {
        thread::yield_now();
        let mut world = self.world.lock().unwrap();
        world.now_ns += 10_000_000;
        if self.generation != world.generation {
            self.generation = world.generation;
            // As after a rebalance: from what is claimed, however much was read.
            self.positions = world.members[&self.name]
                .iter()
                .map(|p| (*p, world.claimed.get(p).copied().unwrap_or(0)))
                .collect();
        }
        let mut found = Vec::new();
        for (partition, at) in &mut self.positions {
            let next = world.messages[partition].get(*at as usize);
            if let Some(message) = next {
                let (partition, offset) = (*partition, *at);
                found.push((Place { partition, offset }, message.clone()));
                *at += 1;
            }
        }
        Ok(found)
    }
    fn assignment(&mut self) -> Option<(String, Vec<i32>)> {
        Some((self.name.clone(), self.positions.keys().copied().collect()))
    }
    fn unclaimed(&mut self, partitions: &[i32]) -> Result<BTreeMap<i32, Range<i64>>, KafkaError> {
        let world = self.world.lock().unwrap();
        let range = |p: &i32| {
            let from = world.claimed.get(p).copied().unwrap_or(0);
            (*p, from..world.messages[p].len() as i64)
        };
        Ok(partitions.iter().map(range).collect())
    }
    fn seek(&mut self, partition: i32, offset: i64) -> Result<(), KafkaError> {
        self.positions.insert(partition, offset);
        Ok(())
    }
    fn position(&mut self, partition: i32) -> Option<i64> {
        self.positions.get(&partition).copied()
    }
    fn members(&mut self) -> Result<Option<BTreeMap<String, Vec<i32>>>, KafkaError> {
        Ok(Some(self.world.lock().unwrap().members.clone()))
    }
    fn say(&mut self, entry: &Entry) -> Result<(), KafkaError> {
        self.world.lock().unwrap().said.push(entry.clone());
        Ok(())
    }
    fn heard(&mut self) -> Result<Vec<Entry>, KafkaError> {
        let world = self.world.lock().unwrap();
        let new = world.said[self.heard..].to_vec();
        self.heard = world.said.len();
        Ok(new)
    }
    fn claim(&mut self, next: &[(i32, i64)]) -> Result<(), KafkaError> {
        let mut world = self.world.lock().unwrap();
        if world.silent {
            return Err(KafkaError::Late {
                what: "the commit".into(),
                limit: Duration::ZERO,
            });
        }
        if world.moves {
            world.share_out();
        }
        if self.generation != world.generation {
            return Err(KafkaError::Fenced {
                why: "ILLEGAL_GENERATION".into(),
            });
        }
        world.claimed.extend(next.iter().copied());
        Ok(())
    }
    fn now_ns(&mut self) -> u64 {
        self.world.lock().unwrap().now_ns
    }
}

fn asked(generators: usize, limit_s: u64) -> Asked {
    Asked {
        group: "g".into(),
        generator: "host".into(),
        generators,
        asked: "speed 1".into(),
        speed: 2.0,
        timeout: Duration::from_secs(1),
        limit: Duration::from_secs(limit_s),
    }
}

fn instant(message: &Message) -> Option<u64> {
    u64::try_from(message.at_ms * 1_000_000).ok()
}

type Messages = Vec<(Place, Message)>;

fn together(world: &Arc<Mutex<World>>, names: &[&str]) -> Vec<Result<Share<Messages>, WaitError>> {
    let count = names.len();
    thread::scope(|scope| {
        let threads = names.iter().map(|name| {
            let world = world.clone();
            scope.spawn(move || {
                let mut one = One::join(&world, name);
                wait(&mut one, &asked(count, 3_600), instant, Ok, |_| {
                    ControlFlow::Continue(())
                })
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

#[test]
fn each_message_is_of_one_generator_in_the_order_of_its_partition() {
    let world = World::of(7, 20);
    let shares: Vec<Share<Messages>> = together(&world, &["a", "b", "c"])
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(shares.iter().all(|one| one.start == shares[0].start));
    let start = &shares[0].start;
    assert_eq!(start.requests(), 140);
    assert_eq!(
        (start.origin_ns, start.lasts_ns),
        (1_000_000_000, 1_098_000_000)
    );
    let mut all: Vec<&[u8]> = Vec::new();
    for share in &shares {
        let mut last: BTreeMap<&[u8], i64> = BTreeMap::new();
        for (_, message) in &share.prepared {
            let partition = message.value.split(|b| *b == b'/').next().unwrap();
            let before = last.insert(partition, message.at_ms);
            assert!(before.is_none_or(|before| before < message.at_ms));
            all.push(&message.value);
        }
    }
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 140, "each once");
    assert_eq!(world.lock().unwrap().claimed.values().sum::<i64>(), 140);
    let again = together(&world, &["a", "b", "c"]);
    assert!(
        again
            .iter()
            .all(|one| matches!(one, Err(WaitError::Nothing { .. }))),
        "{again:?}"
    );
}

#[test]
fn a_generator_whose_partitions_move_sends_nothing_and_claims_nothing() {
    let world = World::of(4, 5);
    world.lock().unwrap().moves = true;
    let ended = together(&world, &["a", "b"]);
    assert!(
        ended
            .iter()
            .all(|one| matches!(one, Err(WaitError::Moved { .. }))),
        "{ended:?}"
    );
    assert!(world.lock().unwrap().claimed.is_empty());
}

#[test]
fn one_that_is_alone_says_how_many_came() {
    let world = World::of(4, 5);
    let mut one = One::join(&world, "a");
    let ended = wait(&mut one, &asked(2, 5), instant, Ok, |_| {
        ControlFlow::Continue(())
    });
    let said = ended.unwrap_err().to_string();
    assert!(
        said.starts_with("1 of 2 generators were ready within 5 s"),
        "{said}"
    );
    let ended = wait(&mut one, &asked(2, 5), instant, Ok, |_| {
        ControlFlow::Break(())
    });
    assert_eq!(ended, Err(WaitError::Interrupted));
}

#[test]
fn generators_that_were_asked_different_things_do_not_start() {
    let world = World::of(4, 5);
    let mut one = One::join(&world, "a");
    let mut other = asked(2, 3_600);
    other.asked = "speed 2".into();
    let ready = Ready {
        group: "g".into(),
        member: "b".into(),
        generator: "web-2".into(),
        asked: other.asked,
        parts: Vec::new(),
        first_ns: None,
        last_ns: None,
    };
    world.lock().unwrap().said.push(Entry::Ready(ready));
    let ended = wait(&mut one, &asked(2, 3_600), instant, Ok, |_| {
        ControlFlow::Continue(())
    });
    let said = ended.unwrap_err().to_string();
    assert!(
        said.starts_with("web-2 was asked speed 2, and this generator speed 1"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_sent_is_not_claimed() {
    let world = World::of(4, 5);
    let mut one = One::join(&world, "a");
    let ended = wait(
        &mut one,
        &asked(1, 3_600),
        instant,
        |messages| Err::<(), _>(format!("{} are refused", messages.len())),
        |_| ControlFlow::Continue(()),
    );
    assert_eq!(ended, Err(WaitError::Unusable("20 are refused".into())));
    let world = world.lock().unwrap();
    assert!(world.claimed.is_empty() && world.said.is_empty());
}

#[test]
fn a_claim_without_an_answer_may_have_been_taken() {
    let world = World::of(4, 5);
    world.lock().unwrap().silent = true;
    let ended = together(&world, &["a", "b"]);
    let unclear = |one: &Result<_, _>| matches!(one, Err(WaitError::Unclear { .. }));
    assert!(ended.iter().all(unclear), "{ended:?}");
}
