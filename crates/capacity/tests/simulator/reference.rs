//! A second simulator, as plain as it can be: it looks at everybody at every
//! event, keeps each one's remaining work as a number of its own, and shares
//! nothing with the first but the draws of chance.

mod cases;
mod front;
mod serving;

pub use cases::{Case, cases};

use capacity::sim::{Arrivals, Scenario, Step};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    Idle,
    Serves,
    Lingers(Option<usize>),
    Select,
    Full,
    Delay,
    Told,
    Takes(usize),
    Reactor,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Sleeps,
    InLine,
    HandedOver,
    Holds,
    Native,
    Times,
}

struct Person {
    process: usize,
    role: Role,
    does: Does,
    left: f64,
    since: u64,
    request: usize,
    steps: VecDeque<Step>,
    holds: Vec<u8>,
    in_row: u32,
    /// What its next stretch costs more where a core is idle.
    cold: u64,
}

#[derive(Default)]
struct Process {
    owner: Option<usize>,
    line: VecDeque<usize>,
    last: Option<usize>,
    ticks: u64,
    ticking: bool,
    /// Threads in the order in which they began to wait, those included that
    /// were notified of work and have not come to it.
    waiting: Vec<usize>,
    told: Vec<usize>,
    pool: VecDeque<usize>,
    reactor: VecDeque<usize>,
    stations: Vec<(u16, VecDeque<usize>)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Timer {
    Person(usize),
    Tick(usize),
    Herd,
    User(usize),
}

#[derive(Clone, Copy, PartialEq)]
enum Known {
    Nowhere,
    Thread(usize),
    Reactor(usize),
}

struct Naive<'a> {
    case: &'a Case,
    now: f64,
    set: u64,
    people: Vec<Person>,
    processes: Vec<Process>,
    timers: Vec<(f64, u64, Timer)>,
    runs: VecDeque<usize>,
    backlog: VecDeque<usize>,
    free_alone: VecDeque<usize>,
    arrived: Vec<f64>,
    connection_of: Vec<usize>,
    known: Vec<Known>,
    free_connections: VecDeque<usize>,
    responses: Vec<f64>,
    sent: usize,
    done: usize,
    serving: f64,
    random: Pcg64,
    chance: u64,
    used: f64,
    period_end: f64,
}

/// Response times in nanoseconds; infinite for who was refused.
pub fn simulate(case: &Case) -> Vec<f64> {
    let mut naive = Naive::new(case);
    while naive.done < case.requests() {
        naive.next_event();
    }
    naive.responses
}

impl<'a> Naive<'a> {
    fn scenario(&self) -> &'a Scenario {
        &self.case.scenario
    }

    fn next_event(&mut self) {
        let quota = self.scenario().quota;
        if quota.is_some() && self.now >= self.period_end {
            let period = quota.map_or(1.0, |quota| quota.period_ns as f64);
            self.period_end = ((self.now / period).floor() + 1.0) * period;
            self.used = 0.0;
        }
        let left_of_quota = quota.map(|quota| quota.quota_ns as f64 - self.used);
        let out = left_of_quota.is_some_and(|left| left < 1e-2);
        let computes = |person: &Person| matches!(person.does, Does::Holds | Does::Native);
        let computing = self.people.iter().filter(|person| computes(person));
        let count = computing.clone().count() as f64;
        let speed = if out {
            0.0
        } else {
            (self.scenario().cores / count).min(1.0)
        };
        let least = computing
            .map(|person| person.left.max(0.0))
            .fold(f64::INFINITY, f64::min);
        let whole = |ns: f64| (ns - 1e-4).ceil();
        let mut cpu = if speed > 0.0 {
            whole(self.now + least / speed)
        } else {
            f64::INFINITY
        };
        if let (Some(left), true) = (left_of_quota, count > 0.0) {
            let exhausted = if out {
                f64::INFINITY
            } else {
                whole(self.now + left / speed / count)
            };
            cpu = cpu.min(exhausted).min(self.period_end);
        }
        let first = self
            .timers
            .iter()
            .copied()
            .min_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).expect("ordered"));
        let due = first.map_or(f64::INFINITY, |timer| timer.0);
        let arrival = match &self.case.arrivals {
            Arrivals::Given(times) => times.get(self.sent).map_or(f64::INFINITY, |&ns| ns as f64),
            _ => f64::INFINITY,
        };
        let next = cpu.min(due).min(arrival);
        assert!(next.is_finite(), "nothing more happens");
        let passed = next - self.now;
        self.now = next;
        for person in self.people.iter_mut().filter(|person| computes(person)) {
            person.left -= speed * passed;
            self.used += speed * passed;
        }
        if cpu == next {
            let ended = self
                .people
                .iter()
                .enumerate()
                .filter(|(_, p)| computes(p) && p.left < 1e-2);
            let key = |p: &Person| (p.left.max(0.0), p.since);
            let ended = ended.min_by(|a, b| key(a.1).partial_cmp(&key(b.1)).expect("ordered"));
            if let Some((who, _)) = ended {
                self.computed(who);
            }
        } else if due == next {
            if let Some(timer) = first {
                self.timers.retain(|other| *other != timer);
                self.due(timer.2);
            }
        } else {
            self.sent += 1;
            self.arrives(None);
        }
        while let Some(who) = self.runs.pop_front() {
            self.run(who);
        }
    }

    fn due(&mut self, timer: Timer) {
        match timer {
            Timer::Person(who) if self.people[who].does == Does::HandedOver => {
                self.runs.push_back(who)
            }
            Timer::Person(who) => self.ask(who),
            Timer::Tick(process) => self.tick(process),
            Timer::Herd => self.herd(),
            Timer::User(connection) => self.arrives(Some(connection)),
        }
    }

    fn timer(&mut self, after: u64, timer: Timer) {
        self.set += 1;
        self.timers.push((self.now + after as f64, self.set, timer));
    }

    fn sleeps_for(&mut self, who: usize, after: u64) {
        self.people[who].does = Does::Times;
        self.timer(after, Timer::Person(who));
    }

    fn wake(&mut self, who: usize) {
        match self.scenario().overheads.wake_ns {
            0 => self.ask(who),
            wake => self.sleeps_for(who, wake),
        }
    }

    fn ask(&mut self, who: usize) {
        let process = self.people[who].process;
        let computed = self.people[who].does == Does::Native;
        self.people[who].does = Does::InLine;
        if self.processes[process].owner.is_none() {
            let wake = self.scenario().overheads.wake_cpu_ns;
            self.people[who].cold = if computed { 0 } else { wake };
            self.processes[process].owner = Some(who);
            self.runs.push_back(who);
            return;
        }
        self.processes[process].line.push_back(who);
        if !self.processes[process].ticking {
            self.processes[process].ticking = true;
            self.timer(self.scenario().tick_ns, Timer::Tick(process));
        }
    }

    fn let_go(&mut self, process: usize) {
        let next = self.processes[process].line.pop_front();
        self.processes[process].owner = next;
        if let Some(next) = next {
            self.people[next].cold = self.scenario().overheads.hand_over_cpu_ns;
        }
        match (next, self.scenario().overheads.hand_over_ns) {
            (Some(next), 0) => self.runs.push_back(next),
            (Some(next), hand_over) => {
                self.sleeps_for(next, hand_over);
                self.people[next].does = Does::HandedOver;
            }
            (None, _) => {}
        }
    }

    fn tick(&mut self, process: usize) {
        if self.processes[process].line.is_empty() {
            self.processes[process].ticking = false;
            return;
        }
        let owner = self.processes[process].owner.expect("others wait for it");
        if self.people[owner].does == Does::Holds {
            self.processes[process].ticks += self.scenario().tick_ns;
            if self.processes[process].ticks >= self.scenario().quantum_ns {
                self.people[owner].does = Does::InLine;
                self.processes[process].line.push_back(owner);
                self.let_go(process);
            }
        }
        self.timer(self.scenario().tick_ns, Timer::Tick(process));
    }

    fn compute(&mut self, who: usize, does: Does) {
        let cold = std::mem::take(&mut self.people[who].cold) as f64;
        let serves = who < self.case.threads() as usize;
        // Who was warm all along may itself still count as computing.
        if does == Does::Holds && serves && cold > 0.0 {
            let computes = |person: &&Person| matches!(person.does, Does::Holds | Does::Native);
            let others = self.people.iter().filter(computes);
            let others = others.count() as f64;
            let idle = (self.scenario().cores - others - 1.0).clamp(0.0, 1.0);
            self.people[who].left += (cold * idle).floor();
        }
        self.set += 1;
        self.people[who].does = does;
        self.people[who].since = self.set;
    }

    fn computed(&mut self, who: usize) {
        self.people[who].left = 0.0;
        match (self.people[who].does, self.people[who].role) {
            (Does::Native, _) => self.ask(who),
            (_, Role::Takes(request)) => self.taken(who, request),
            (_, Role::Reactor) => {
                self.pass_on(who);
                self.reactor(who);
            }
            _ => self.serve(who),
        }
    }

    fn run(&mut self, who: usize) {
        let process = &mut self.processes[self.people[who].process];
        if process.last != Some(who) {
            process.last = Some(who);
            process.ticks = 0;
        }
        if self.people[who].left > 0.0 {
            return self.compute(who, Does::Holds);
        }
        match self.people[who].role {
            Role::Serves => self.serve(who),
            Role::Idle if self.case.is_puma() => {
                let process = self.people[who].process;
                self.processes[process].told.retain(|&told| told != who);
                self.next_of_pool(who);
            }
            Role::Idle => self.begin(who, self.people[who].request, 1),
            Role::Lingers(Some(request)) => self.begin(who, request, self.people[who].in_row + 1),
            Role::Lingers(None) => {
                let connection = self.connection_of[self.people[who].request];
                self.known[connection] = Known::Reactor(self.people[who].process);
                self.next_of_pool(who);
            }
            Role::Reactor => self.reactor(who),
            Role::Select | Role::Full | Role::Delay | Role::Told | Role::Takes(_) => {
                self.accept(who)
            }
        }
    }

    fn new(case: &'a Case) -> Self {
        let processes = usize::from(case.scenario.processes);
        let threads = case.threads() as usize;
        let per_process = threads / processes;
        let person = |who: usize| Person {
            process: if who < threads {
                who / per_process
            } else {
                (who - threads) % processes
            },
            role: match who {
                _ if who < threads => Role::Idle,
                _ if who < threads + processes => Role::Select,
                _ => Role::Reactor,
            },
            does: Does::Sleeps,
            left: 0.0,
            since: 0,
            request: 0,
            steps: VecDeque::new(),
            holds: Vec::new(),
            in_row: 0,
            cold: 0,
        };
        let process = |number: usize| Process {
            waiting: (number * per_process..(number + 1) * per_process).collect(),
            stations: case
                .scenario
                .stations
                .iter()
                .map(|&free| (free, VecDeque::new()))
                .collect(),
            ..Process::default()
        };
        let mut naive = Self {
            case,
            now: 0.0,
            set: 0,
            people: (0..threads + 2 * processes).map(person).collect(),
            processes: (0..processes).map(process).collect(),
            timers: Vec::new(),
            runs: VecDeque::new(),
            backlog: VecDeque::new(),
            free_alone: (0..threads).collect(),
            arrived: Vec::new(),
            connection_of: Vec::new(),
            known: Vec::new(),
            free_connections: VecDeque::new(),
            responses: vec![f64::INFINITY; case.requests()],
            sent: 0,
            done: 0,
            serving: 0.0,
            random: Pcg64::seed_from_u64(case.seed),
            chance: case.seed,
            used: 0.0,
            period_end: case
                .scenario
                .quota
                .map_or(f64::INFINITY, |quota| quota.period_ns as f64),
        };
        if let Arrivals::Closed { connections, .. } = case.arrivals {
            for connection in 0..connections as usize {
                naive.known.push(Known::Nowhere);
                if let Some(think) = naive.think() {
                    naive.timer(think, Timer::User(connection));
                }
            }
        }
        naive
    }
}
