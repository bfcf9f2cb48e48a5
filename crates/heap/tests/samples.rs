//! The search on the golden sample, and on random heaps against a naive oracle.

use heap::{Dump, Found, Log, alive, name, search, unnamed};
use proptest::prelude::*;
use run::leak::{Course, Retained};
use std::collections::HashMap;
use std::fs;

fn sample(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/leak");
    fs::read(format!("{folder}/{name}")).unwrap()
}

fn found() -> Found {
    let dump = Dump::read(&sample("shop.dump")[..]).unwrap();
    let log = Log::read(&sample("shop.jsonl")[..]).unwrap();
    search(&dump, &log, &|file| file.starts_with("/srv/shop/"))
}

fn of_keeper(all: &[Retained], line: u32) -> &Retained {
    let place = format!("/srv/shop/app/models/shop.rb:{line}");
    let made = |one: &&Retained| {
        one.sites
            .iter()
            .any(|site| site.made_at.as_ref() == Some(&place))
    };
    all.iter().find(made).unwrap()
}

#[test]
fn a_leak_is_found_with_its_line_its_endpoint_and_its_path() {
    let names = HashMap::from([(
        "1100-2000".to_owned(),
        (
            "SEEN".to_owned(),
            "/srv/shop/app/models/shop.rb:2".to_owned(),
        ),
    )]);
    let leaks = name(found().leaks, &names);
    let leak = of_keeper(&leaks, 7);
    assert_eq!(leak.course, Course::Growing);
    assert_eq!(leak.objects_by_round, [10; 6]);
    assert_eq!(leak.requests_by_round, [5; 6]);
    assert_eq!(leak.objects_per_thousand.estimate, 1_000.0);
    assert_eq!(leak.objects_per_thousand.between, Some([1_000.0, 1_000.0]));
    assert_eq!(leak.bytes_per_thousand.estimate, 40_000.0);
    let path: Vec<_> = leak
        .path
        .iter()
        .map(|step| (step.what.as_str(), step.name.as_deref()))
        .collect();
    assert_eq!(path, [("Shop", None), ("Array", Some("SEEN"))]);
    assert_eq!(
        leak.path[1].defined_at.as_deref(),
        Some("/srv/shop/app/models/shop.rb:2")
    );
    let sites: Vec<_> = leak
        .sites
        .iter()
        .map(|site| (site.class.as_str(), site.objects, site.directly))
        .collect();
    assert_eq!(sites, [("Hash", 30, 30), ("String", 30, 0)]);
    assert!(leak.sites.iter().all(|site| site.in_application));
    let [endpoint] = leak.endpoints.as_slice() else {
        panic!("{:?}", leak.endpoints)
    };
    assert_eq!(
        (endpoint.name.as_str(), endpoint.requests, endpoint.leaving),
        ("shop#show", 30, 30)
    );
}

#[test]
fn an_array_of_numbers_grows_without_objects() {
    let leaks = name(found().leaks, &HashMap::new());
    assert_eq!(leaks.len(), 2);
    let numbers = leaks.iter().find(|leak| leak.sites.is_empty()).unwrap();
    assert_eq!(numbers.sizes, Some(vec![100, 110, 120, 130, 140, 150, 160]));
    assert_eq!(numbers.objects_per_thousand.estimate, 0.0);
    assert_eq!(numbers.bytes_per_thousand.estimate, 8_000.0);
    assert!(numbers.endpoints.is_empty());
}

/// What is found of `Shop`, whose one container has these sizes and keeps the objects of these rounds, and these those of the rounds `below`.
fn container(sizes: [u64; 7], rounds: &[usize], below: &[usize]) -> Found {
    let address = |number: usize| format!("0x{:x}", 0x1000 + number * 0x28);
    let made = |number: usize, round: usize, held: &str| {
        format!(
            "{{\"address\":\"{}\",\"type\":\"OBJECT\",\"file\":\"shop.rb\",\"line\":3,\"generation\":{},\"references\":[{held}],\"memsize\":40}}\n",
            address(number),
            (round + 1) * 10_000 + number
        )
    };
    let mut objects = String::new();
    for (number, round) in rounds.iter().enumerate() {
        let below = (number..below.len()).step_by(rounds.len());
        let held: Vec<String> = below
            .map(|one| format!("\"{}\"", address(rounds.len() + one)))
            .collect();
        objects += &made(number, *round, &held.join(","));
    }
    for (number, round) in below.iter().enumerate() {
        objects += &made(rounds.len() + number, *round, "");
    }
    let held: Vec<String> = (0..rounds.len())
        .map(|number| format!("\"{}\"", address(number)))
        .collect();
    let dump = format!(
        "{{\"type\":\"ROOT\",\"root\":\"vm\",\"references\":[\"0x10\"]}}\n\
         {{\"address\":\"0x10\",\"type\":\"CLASS\",\"name\":\"Shop\",\"references\":[\"0x20\"]}}\n\
         {{\"address\":\"0x20\",\"type\":\"HASH\",\"size\":{},\"references\":[{}],\"memsize\":800}}\n{objects}",
        sizes[6],
        held.join(",")
    );
    let mut log = String::new();
    for (boundary, size) in sizes.iter().enumerate() {
        let first = (boundary + 1) * 10_000;
        log += &format!("[\"boundary\",{first}]\n[\"size\",{boundary},\"Hash\",32,{size}]\n");
        let requests = 0..if boundary < 6 { 1_000 } else { 0 };
        log.extend(
            requests.map(|request| format!("[\"request\",{},\"a\"]\n", first + request + 1)),
        );
    }
    search(
        &Dump::read(dump.as_bytes()).unwrap(),
        &Log::read(log.as_bytes()).unwrap(),
        &|_| true,
    )
}

/// Twenty objects of each round.
fn of_each_round() -> Vec<usize> {
    (0..120).map(|number| number / 20).collect()
}

#[test]
fn a_container_that_does_not_grow_replaces_its_entries() {
    let found = container([10_000; 7], &of_each_round(), &[]);
    assert!(found.leaks.is_empty());
    assert_eq!(found.others[0].retained.course, Course::Replaced);
    // What each entry was made with goes with it.
    let found = container([10_000; 7], &of_each_round(), &of_each_round());
    assert!(found.leaks.is_empty());
    let few_more = [10_000, 10_010, 10_011, 10_011, 10_012, 10_012, 10_012];
    assert!(container(few_more, &of_each_round(), &[]).leaks.is_empty());
}

#[test]
fn a_container_that_grows_leaks() {
    // A pair of new objects is one element.
    let grows = [100, 110, 120, 130, 140, 150, 160];
    assert_eq!(container(grows, &of_each_round(), &[]).leaks.len(), 1);
    // So many that five are added and the rest replaced: it grows all the same.
    let slowly = [1_000, 1_005, 1_010, 1_015, 1_020, 1_025, 1_030];
    let many: Vec<usize> = (0..600).map(|number| number / 100).collect();
    assert_eq!(container(slowly, &many, &[]).leaks.len(), 1);
}

#[test]
fn few_requests_that_leave_something_decide_nothing() {
    let one_each = [0, 1, 2, 3, 4, 5];
    let found = container([100, 101, 102, 103, 104, 105, 106], &one_each, &[]);
    assert!(found.leaks.is_empty());
    assert_eq!(found.undecided, [6]);
    // An entry for an entry.
    let found = container([100; 7], &one_each, &[]);
    assert_eq!(found.others[0].retained.course, Course::Replaced);
    assert!(found.undecided.is_empty());
}

#[test]
fn entries_that_take_over_what_they_replace_leak() {
    let of_earlier = &of_each_round()[..100];
    let found = container([10_000; 7], &[5; 20], of_earlier);
    assert_eq!(found.leaks.len(), 1, "{found:?}");
}

#[test]
fn an_array_of_numbers_leaks_with_a_few_objects_in_it() {
    let grows = [100, 110, 120, 130, 140, 150, 160];
    for rounds in [&[2][..], &[0, 1, 2, 3, 4], &[0; 30]] {
        let found = container(grows, rounds, &[]);
        assert_eq!(found.leaks.len(), 1, "{rounds:?}");
        assert_eq!(found.leaks[0].retained.course, Course::Growing);
    }
}

#[test]
fn caches_are_no_leaks() {
    let others = name(found().others, &HashMap::new());
    assert_eq!(of_keeper(&others, 30).course, Course::Filling);
    // Two rounds are too few for a word.
    assert_eq!(others.len(), 1);
    assert!(found().undecided.is_empty());
}

#[test]
fn classes_are_counted_with_their_bytes() {
    let classes = alive(&Dump::read(&sample("shop.dump")[..]).unwrap());
    let of = |name: &str| classes.iter().find(|one| one.class == name).unwrap();
    // The leak's strings and hashes, twenty entries of one cache and thirty of the other, and the containers.
    assert_eq!((of("String").objects, of("String").bytes), (80, 3_200));
    assert_eq!((of("Hash").objects, of("Array").objects), (31, 3));
    assert_eq!(of("classes and modules").objects, 5);
    assert_eq!(of("Ruby's ment").objects, 1);
}

#[test]
fn names_are_asked_of_each_pair_once() {
    let found = found();
    let asked = unnamed(&found.leaks);
    assert_eq!(asked, "1100-2000,1100-2300");
}

#[test]
fn a_damaged_line_is_named() {
    let read = |text: &str| Dump::read(text.as_bytes()).unwrap_err().to_string();
    assert!(read("{\"type\":\"ROOT\",\"root\":\"vm\"}\n{\"type\":").starts_with("line 2: EOF"));
    let said = read("{\"address\":\"7f\",\"type\":\"STRING\"}");
    assert!(said.contains("\"7f\" is no address"), "{said}");
}

/// A heap of a class that holds what `holds` says; objects 1 and up were made in the rounds.
fn heap_of(holds: &[Vec<usize>]) -> String {
    let address = |index: usize| format!("\"0x{:x}\"", 0x100 + index * 8);
    let mut text = format!(
        "{{\"type\":\"ROOT\",\"root\":\"vm\",\"references\":[{}]}}\n",
        address(0)
    );
    for (index, held) in holds.iter().enumerate() {
        let held: Vec<String> = held.iter().map(|held| address(*held)).collect();
        let own = match index {
            0 => "\"type\":\"CLASS\",\"name\":\"Kept\"".to_owned(),
            made => {
                format!("\"type\":\"OBJECT\",\"file\":\"a.rb\",\"line\":{made},\"generation\":1")
            }
        };
        text += &format!(
            "{{\"address\":{},{own},\"references\":[{}],\"memsize\":40}}\n",
            address(index),
            held.join(",")
        );
    }
    text
}

proptest! {
    /// What the class reaches, and nothing else, is left; by a search without a tree, again and again until nothing is new.
    #[test]
    fn what_is_reached_is_left(holds in prop::collection::vec(prop::collection::vec(0usize..12, 0..4), 12)) {
        let mut reached = vec![false; holds.len()];
        reached[0] = true;
        for _ in 0..holds.len() {
            for (holder, held) in holds.iter().enumerate() {
                if reached[holder] {
                    held.iter().for_each(|held| reached[*held] = true);
                }
            }
        }
        let left = reached.iter().skip(1).filter(|reached| **reached).count();
        prop_assert_eq!(left_of_each_round(&holds), vec![(left * COPIES) as u64; 6]);
    }
}

/// So many requests of a round make a copy each: of fewer a leak is not surely one.
const COPIES: usize = 5;

/// What the search says is left of each of six rounds, of which every request makes a copy of these objects.
fn left_of_each_round(holds: &[Vec<usize>]) -> Vec<u64> {
    let size = holds.len();
    let shifted = |copy: usize| {
        holds.iter().map(move |held| {
            held.iter()
                .map(|held| {
                    if *held == 0 {
                        0
                    } else {
                        held + copy * (size - 1)
                    }
                })
                .collect::<Vec<_>>()
        })
    };
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for copy in 0..6 * COPIES {
        for (index, held) in shifted(copy).enumerate() {
            match index {
                0 => all[0].extend(held),
                _ => all.push(held),
            }
        }
    }
    let mut lines: Vec<String> = heap_of(&all).lines().map(str::to_owned).collect();
    for (index, line) in lines.iter_mut().enumerate().skip(2) {
        let copy = (index - 2) / (size - 1);
        *line = line.replace("\"generation\":1", &format!("\"generation\":{}", 1 + copy));
    }
    let mut log = String::new();
    for copy in 0..6 * COPIES {
        if copy % COPIES == 0 {
            log += &format!("[\"boundary\",{}]\n", 1 + copy);
        }
        log += &format!("[\"request\",{},\"a\"]\n", 2 + copy);
    }
    log += &format!("[\"boundary\",{}]\n", 1 + 6 * COPIES);
    let log = Log::read(log.as_bytes()).unwrap();
    let found = search(
        &Dump::read(lines.join("\n").as_bytes()).unwrap(),
        &log,
        &|_| true,
    );
    let by_round = |round: usize| {
        found
            .leaks
            .iter()
            .map(|leak| leak.retained.objects_by_round[round])
            .sum()
    };
    (0..6).map(by_round).collect()
}
