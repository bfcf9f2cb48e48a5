//! The search: groups of what requests left, judged by round, the largest first.

use crate::dump::{Dump, Line};
use crate::groups::{self, Group, Judged, Left};
use crate::holders::Holders;
use crate::log::{Log, Sized};
use crate::paths;
use crate::rounds::{course, rate};
use run::leak::{Course, Endpoint, Retained, Site};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Reported groups: the largest of those that grow, and of the others.
const MOST_LEAKS: usize = 20;
const MOST_OTHERS: usize = 8;
/// Lines and endpoints of each.
const MOST_SITES: usize = 12;
const MOST_ENDPOINTS: usize = 12;
/// What an element takes at least: an array's reference.
const ELEMENT_BYTES: u64 = 8;
/// One of so many, or less.
const FAR_FEWER: u64 = 4;

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// What grows, the largest first.
    pub leaks: Vec<Kept>,
    /// What else requests left; the largest first.
    pub others: Vec<Kept>,
    /// For each undecided group, also those that `others` is too short for: the number of requests that left something.
    pub undecided: Vec<u64>,
}

/// A group, and the addresses of its path's steps, by which the process is asked for names.
#[derive(Debug)]
pub struct Kept {
    pub retained: Retained,
    pub addresses: Vec<u64>,
}

/// Looks for what grows. `of_application` says whether a file is the application's own.
pub fn search(dump: &Dump, log: &Log, of_application: &dyn Fn(&str) -> bool) -> Found {
    let holders = Holders::of(dump);
    let searched = Searched {
        dump,
        holders: &holders,
        log,
        asked: log.requests_by_round(),
        asked_of: log.endpoints().into_iter().collect(),
        of_application,
    };
    let by_keeper = groups::by_keeper(dump, &holders, log);
    let judged_alone = |keeper: u32, left: &[Left]| Judged {
        grows: searched.course(&[keeper], left, &searched.leaving(left)) == Some(Course::Growing),
        has_sizes: searched.sized(keeper).is_some(),
    };
    let mut groups = groups::joined(dump, &holders, by_keeper, judged_alone);
    groups.extend(searched.without_objects(&groups));
    let mut kept: Vec<Kept> = groups
        .iter()
        .filter_map(|group| searched.kept(group))
        .collect();
    kept.sort_by(|one, other| {
        let bytes = |kept: &Kept| kept.retained.bytes_per_thousand.estimate;
        bytes(other).total_cmp(&bytes(one))
    });
    let (mut leaks, mut others): (Vec<Kept>, Vec<Kept>) = kept
        .into_iter()
        .partition(|one| one.retained.course == Course::Growing);
    let undecided = others
        .iter()
        .map(|one| &one.retained)
        .filter(|one| one.course == Course::Undecided);
    let undecided = undecided
        .map(|one| one.requests_by_round.iter().sum())
        .collect();
    leaks.truncate(MOST_LEAKS);
    others.truncate(MOST_OTHERS);
    Found {
        leaks,
        others,
        undecided,
    }
}

struct Searched<'a> {
    dump: &'a Dump,
    holders: &'a Holders,
    log: &'a Log,
    /// Requests by round.
    asked: Vec<u64>,
    /// Requests by the name of their endpoint.
    asked_of: HashMap<&'a str, u64>,
    of_application: &'a dyn Fn(&str) -> bool,
}

impl Searched<'_> {
    /// The sizes of a container, where they are known.
    fn sized(&self, keeper: u32) -> Option<&Sized> {
        self.log.sizes_of(self.dump.node(keeper).address)
    }

    /// Requests that left something, by round. What was made between requests counts as one of the round.
    fn leaving(&self, left: &[Left]) -> Vec<u64> {
        let mut seen = HashSet::new();
        let mut leaving = vec![0; self.log.rounds()];
        for one in left {
            leaving[one.round] += u64::from(seen.insert((one.round, one.request)));
        }
        leaving
    }

    /// What grew in every round and keeps no object of the rounds, such as an array of numbers.
    fn without_objects(&self, groups: &[Group]) -> Vec<Group> {
        let known: HashSet<u32> = groups
            .iter()
            .flat_map(|group| &group.keepers)
            .copied()
            .collect();
        let order = self.holders.in_order().iter().copied();
        let old =
            order.filter(|object| self.log.round_of(self.dump.node(*object).made_in).is_none());
        old.filter(|object| !known.contains(object) && self.grown(&[*object]).is_some())
            .map(|object| Group {
                keepers: vec![object],
                left: Vec::new(),
            })
            .collect()
    }

    /// Elements that these gained in each round, where the sizes of all are known and any did.
    fn grown(&self, keepers: &[u32]) -> Option<Vec<u64>> {
        let mut grown = vec![0_u64; self.log.rounds()];
        for keeper in keepers {
            let sized = self.sized(*keeper)?;
            for (grown, two) in grown.iter_mut().zip(sized.sizes.windows(2)) {
                *grown = grown.saturating_add(two[1].saturating_sub(two[0]));
            }
        }
        grown.iter().any(|by| *by > 0).then_some(grown)
    }

    /// How what these keep goes on: by the requests that left something, unless the sizes of what keeps it say otherwise.
    fn course(&self, keepers: &[u32], left: &[Left], leaving: &[u64]) -> Option<Course> {
        let by_requests = course(leaving);
        let replaces = self.replaces(keepers, left);
        if by_requests == Some(Course::Growing) && !replaces {
            return by_requests;
        }
        let by_size = self.grown(keepers).and_then(|grown| course(&grown));
        match (by_size, by_requests) {
            (Some(Course::Growing), _) => by_size,
            (_, Some(Course::Growing | Course::Undecided)) if replaces => Some(Course::Replaced),
            (_, None) if left.is_empty() => by_size,
            _ => by_requests,
        }
    }

    /// Whether new objects took the places of others: containers of known sizes gained far fewer elements than they keep objects.
    /// A pair of a hash may be two objects. A new object that took over much from earlier rounds, as a longer copy does, frees nothing.
    fn replaces(&self, keepers: &[u32], left: &[Left]) -> bool {
        let mut gained: u64 = 0;
        for keeper in keepers {
            let Some(sized) = self.sized(*keeper) else {
                return false;
            };
            if let [first, .., last] = sized.sizes.as_slice() {
                gained = gained.saturating_add(last.saturating_sub(*first));
            }
        }
        let count = |which: fn(&Left) -> bool| left.iter().filter(|one| which(one)).count() as u64;
        let far_fewer = |few: u64, many: u64| few.saturating_mul(FAR_FEWER) < many;
        let directly = count(|one| one.directly);
        far_fewer(gained, directly) && far_fewer(count(|one| one.taken_over), directly)
    }

    fn kept(&self, group: &Group) -> Option<Kept> {
        let keeper = *group.keepers.first()?;
        let leaving = self.leaving(&group.left);
        let course = self.course(&group.keepers, &group.left, &leaving)?;
        let mut objects = vec![0; self.log.rounds()];
        let mut bytes = vec![0; self.log.rounds()];
        for one in &group.left {
            objects[one.round] += 1;
            bytes[one.round] += self.dump.node(one.object).bytes;
        }
        let alone = group.keepers.len() == 1;
        if let Some(grown) = self.grown(&group.keepers).filter(|_| alone) {
            let each = self.element_bytes(keeper);
            for (bytes, by) in bytes.iter_mut().zip(&grown) {
                *bytes = bytes.saturating_add(by.saturating_mul(each));
            }
        }
        let (path, addresses) = paths::path(self.dump, self.holders, keeper);
        let retained = Retained {
            course,
            path,
            keepers: group.keepers.len() as u64,
            sizes: self
                .sized(keeper)
                .filter(|_| alone)
                .map(|sized| sized.sizes.clone()),
            objects_per_thousand: rate(&objects, &self.asked),
            bytes_per_thousand: rate(&bytes, &self.asked),
            objects_by_round: objects,
            requests_by_round: leaving,
            sites: self.sites(&group.left),
            endpoints: self.endpoints(&group.left),
        };
        Some(Kept {
            retained,
            addresses,
        })
    }

    /// What one element of a container takes in it.
    fn element_bytes(&self, keeper: u32) -> u64 {
        let node = self.dump.node(keeper);
        let elements = u64::from(node.elements);
        let is_text = self
            .sized(keeper)
            .is_some_and(|sized| sized.kind == "String");
        match node.bytes.checked_div(elements) {
            Some(each) if is_text => each.clamp(1, 2),
            Some(each) => each.max(ELEMENT_BYTES),
            None => ELEMENT_BYTES,
        }
    }

    fn sites(&self, left: &[Left]) -> Vec<Site> {
        let mut sites: HashMap<(Option<Line<'_>>, String), Site> = HashMap::new();
        for one in left {
            let (node, made_at) = (self.dump.node(one.object), self.dump.made_at(one.object));
            let class = self.dump.what(one.object);
            let site = sites
                .entry((made_at, class.clone()))
                .or_insert_with(|| Site {
                    made_at: made_at.map(|(file, line)| format!("{file}:{line}")),
                    in_application: made_at.is_some_and(|(file, _)| (self.of_application)(file)),
                    class,
                    objects: 0,
                    bytes: 0,
                    directly: 0,
                });
            site.objects += 1;
            site.bytes += node.bytes;
            site.directly += u64::from(one.directly);
        }
        let mut sites: Vec<Site> = sites.into_values().collect();
        sites.sort_by(|one, other| {
            let order = |site: &Site| (Reverse(site.directly), Reverse(site.bytes));
            order(one)
                .cmp(&order(other))
                .then_with(|| one.made_at.cmp(&other.made_at))
        });
        sites.truncate(MOST_SITES);
        sites
    }

    fn endpoints(&self, left: &[Left]) -> Vec<Endpoint> {
        let mut endpoints: HashMap<u32, Endpoint> = HashMap::new();
        let mut seen = HashSet::new();
        for one in left {
            let Some(place) = one.request else { continue };
            let number = self.log.request(place).endpoint;
            let name = self.log.endpoint_name(number);
            let endpoint = endpoints.entry(number).or_insert_with(|| Endpoint {
                name: name.to_owned(),
                requests: self.asked_of.get(name).copied().unwrap_or(0),
                leaving: 0,
                objects: 0,
                bytes: 0,
            });
            endpoint.leaving += u64::from(seen.insert(place));
            endpoint.objects += 1;
            endpoint.bytes += self.dump.node(one.object).bytes;
        }
        let mut endpoints: Vec<Endpoint> = endpoints.into_values().collect();
        endpoints.sort_by(|one, other| {
            let order = |one: &Endpoint| Reverse((one.bytes, one.objects));
            order(one)
                .cmp(&order(other))
                .then_with(|| one.name.cmp(&other.name))
        });
        endpoints.truncate(MOST_ENDPOINTS);
        endpoints
    }
}
