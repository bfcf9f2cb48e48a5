//! The whole simulated server: its processes with their GVLs, the threads that
//! ask for them, and the cores.
//!
//! What a thread does once it runs is left to `serving` (requests) and `puma`
//! (acceptor and reactor), and in which order to `events`.

use super::arrivals::ArrivalStream;
use super::calendar::{Calendar, Ticket};
use super::cores::{Cores, SPEED_BITS};
use super::fifo::{Fifo, NO_TASK};
use super::front::Front;
use super::service::{Service, StationState};
use super::{Outcome, REFUSED_NS, Scenario, Work};

/// What a task waits for or does; a task is whatever may ask for a GVL: serving
/// threads, then acceptors, then reactors, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskState {
    /// Until another task or a connection wakes it.
    Asleep,
    /// In the line for the GVL, or handed it and not yet running.
    Ready,
    /// Running with the GVL.
    Held,
    /// Computing without it.
    Native,
    /// Until an instant in the calendar.
    Waiting,
}

/// How a task came by its GVL, until it computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// It computed all along.
    Warm,
    /// It slept, and the GVL was free.
    Woken,
    /// It waited in the line.
    HandedOver,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub process: u32,
    pub state: TaskState,
    pub wake: Wake,
    /// Since when it is ready, or computes.
    pub since_ns: u64,
    /// CPU time under the GVL that it is to spend next, or spends.
    pub held_ns: u64,
    /// Its entry in the calendar that still counts; 0 is none.
    pub ticket: Ticket,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Gvl {
    pub owner: u32,
    /// The thread that ran last: its time goes on counting if no other ran
    /// since.
    pub last: u32,
    line: Fifo,
    since_ns: u64,
    /// Ticks that the owner ran through while others waited.
    pub ran_ns: u64,
    /// Whether the timer's next tick is in the calendar.
    ticking: bool,
}

/// Sums as they grow; see [`Outcome`].
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub queue_ns: u64,
    pub gvl_wait_ns: u64,
    pub core_wait_ns: u64,
    pub station_wait_ns: u64,
    pub io_ns: u64,
    pub gvl_held_ns: u64,
    pub busy_ns: u64,
    /// In units of a full speed.
    cold_hand_overs: u128,
    cold_wakes: u128,
    cold_ns: u64,
}

pub(super) struct Machine<'a> {
    pub work: &'a Work,
    pub scenario: &'a Scenario,
    pub stream: ArrivalStream<'a>,
    pub now_ns: u64,
    pub calendar: Calendar,
    pub cores: Cores,
    pub tasks: Vec<Task>,
    /// Who stands behind whom, in whichever line.
    pub behind: Vec<u32>,
    pub gvls: Vec<Gvl>,
    /// Tasks that have got a GVL and not yet run.
    pub granted: Vec<u32>,
    pub services: Vec<Service>,
    pub stations: Vec<StationState>,
    pub front: Front,
    pub sums: Sums,
    /// By request: when it arrived until it is answered, then how long it took.
    pub times_ns: Vec<u64>,
    /// Requests that threads are done with.
    pub answered: u64,
    pub refused: u64,
    /// When the last answer or refusal was out.
    pub last_out_ns: u64,
    /// Requests in threads.
    pub serving: u32,
    pub threads: u32,
    pub processes: u32,
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        work: &'a Work,
        scenario: &'a Scenario,
        stream: ArrivalStream<'a>,
        seed: u64,
    ) -> Self {
        let processes = u32::from(scenario.processes);
        let per_process = u32::from(scenario.serving_threads());
        let threads = processes * per_process;
        let process_of = |task: u32| match task.checked_sub(threads) {
            None => task / per_process,
            Some(own) => own % processes,
        };
        let tasks = threads + 2 * processes;
        let requests = stream.requests();
        Self {
            work,
            scenario,
            stream,
            now_ns: 0,
            calendar: Calendar::default(),
            cores: Cores::new(scenario.cores, scenario.quota, tasks as usize),
            tasks: (0..tasks)
                .map(|task| Task {
                    process: process_of(task),
                    state: TaskState::Asleep,
                    wake: Wake::Warm,
                    since_ns: 0,
                    held_ns: 0,
                    ticket: 0,
                })
                .collect(),
            behind: vec![NO_TASK; tasks as usize],
            gvls: vec![Gvl::default(); processes as usize],
            granted: Vec::new(),
            services: vec![Service::default(); threads as usize],
            stations: StationState::of(&scenario.stations, scenario.processes),
            front: Front::new(scenario, seed),
            sums: Sums::default(),
            times_ns: Vec::with_capacity(requests),
            answered: 0,
            refused: 0,
            last_out_ns: 0,
            serving: 0,
            threads,
            processes,
        }
    }

    pub(super) fn acceptors_wake(&self) -> u32 {
        self.tasks.len() as u32 + self.processes
    }

    pub(super) fn connection_due(&self, connection: u32) -> u32 {
        self.acceptors_wake() + 1 + connection
    }

    /// `task` needs the GVL of its process.
    pub(super) fn ask(&mut self, task: u32) {
        let asking = &mut self.tasks[task as usize];
        asking.since_ns = self.now_ns;
        asking.wake = match asking.state {
            TaskState::Native => Wake::Warm,
            _ => Wake::Woken,
        };
        asking.state = TaskState::Ready;
        let process = asking.process;
        let gvl = &mut self.gvls[process as usize];
        if gvl.owner == NO_TASK {
            gvl.owner = task;
            gvl.since_ns = self.now_ns;
            self.granted.push(task);
            return;
        }
        gvl.line.push(&mut self.behind, task);
        if !gvl.ticking {
            gvl.ticking = true;
            self.set_tick(process);
        }
    }

    /// The owner lets go of the GVL, and the first in the line has it.
    pub(super) fn let_go(&mut self, process: u32) {
        let gvl = &mut self.gvls[process as usize];
        self.sums.gvl_held_ns += self.now_ns - gvl.since_ns;
        gvl.since_ns = self.now_ns;
        gvl.owner = NO_TASK;
        let Some(next) = gvl.line.pop(&self.behind) else {
            return;
        };
        gvl.owner = next;
        self.tasks[next as usize].wake = Wake::HandedOver;
        match self.scenario.overheads.hand_over_ns {
            0 => self.granted.push(next),
            hand_over_ns => self.wait(next, hand_over_ns, TaskState::Ready),
        }
    }

    /// `task` does something that ends by itself.
    pub(super) fn wait(&mut self, task: u32, for_ns: u64, state: TaskState) {
        let ticket = self.calendar.set(self.now_ns + for_ns, task);
        let waiting = &mut self.tasks[task as usize];
        waiting.state = state;
        waiting.ticket = ticket;
    }

    /// `task` slept in the kernel, and has something to do.
    pub(super) fn wake(&mut self, task: u32) {
        match self.scenario.overheads.wake_ns {
            0 => self.ask(task),
            wake_ns => self.wait(task, wake_ns, TaskState::Waiting),
        }
    }

    /// `task`, which has the GVL, spends what it is to spend.
    pub(super) fn spend(&mut self, task: u32) {
        let cold_ns = self.cold_ns(task);
        let spending = &mut self.tasks[task as usize];
        spending.state = TaskState::Held;
        spending.since_ns = self.now_ns;
        spending.held_ns += cold_ns;
        self.cores.start(self.now_ns, task, spending.held_ns);
    }

    /// What `task`, which begins to compute, takes longer because its process
    /// was elsewhere. Acceptor and reactor touch too little to be slowed down.
    fn cold_ns(&mut self, task: u32) -> u64 {
        let wake = std::mem::replace(&mut self.tasks[task as usize].wake, Wake::Warm);
        if wake == Wake::Warm || task >= self.threads {
            return 0;
        }
        let idle = self.cores.idle_beside();
        let (count, whole_ns) = match wake {
            Wake::HandedOver => (
                &mut self.sums.cold_hand_overs,
                self.scenario.overheads.hand_over_cpu_ns,
            ),
            _ => (
                &mut self.sums.cold_wakes,
                self.scenario.overheads.wake_cpu_ns,
            ),
        };
        *count += u128::from(idle);
        let cold_ns = ((u128::from(whole_ns) * u128::from(idle)) >> SPEED_BITS) as u64;
        self.sums.cold_ns += cold_ns;
        cold_ns
    }

    fn set_tick(&mut self, process: u32) {
        let who = self.tasks.len() as u32 + process;
        self.calendar.set(self.now_ns + self.scenario.tick_ns, who);
    }

    /// The timer's tick: with no waiter it stops; else the owner has run
    /// through one more, and goes to the end of the line after a quantum.
    pub(super) fn tick(&mut self, process: u32) {
        let gvl = &mut self.gvls[process as usize];
        if gvl.line.is_empty() {
            gvl.ticking = false;
            return;
        }
        let owner = gvl.owner;
        // A thread that was handed the GVL and does not run yet is not looked
        // at.
        if self.tasks[owner as usize].state == TaskState::Held {
            gvl.ran_ns += self.scenario.tick_ns;
            if gvl.ran_ns >= self.scenario.quantum_ns {
                self.preempt(owner, process);
            }
        }
        self.set_tick(process);
    }

    fn preempt(&mut self, owner: u32, process: u32) {
        let left_ns = self.cores.stop(self.now_ns, owner);
        let preempted = &mut self.tasks[owner as usize];
        if owner < self.threads {
            let ran_ns = preempted.held_ns - left_ns;
            self.sums.core_wait_ns += self.now_ns - preempted.since_ns - ran_ns;
        }
        preempted.held_ns = left_ns;
        preempted.since_ns = self.now_ns;
        preempted.state = TaskState::Ready;
        self.gvls[process as usize]
            .line
            .push(&mut self.behind, owner);
        self.let_go(process);
    }

    pub(super) fn gvl_is_free(&self, process: u32) -> bool {
        self.gvls[process as usize].owner == NO_TASK
    }

    pub(super) fn outcome(self) -> Outcome {
        let span_ns = self.now_ns;
        let open: u64 = self
            .gvls
            .iter()
            .filter(|gvl| gvl.owner != NO_TASK)
            .map(|gvl| self.now_ns - gvl.since_ns)
            .sum();
        let share = |part_ns: u64, of: f64| match span_ns {
            0 => 0.0,
            ns => part_ns as f64 / (ns as f64 * of),
        };
        let quota = self.scenario.quota.map_or(f64::INFINITY, |quota| {
            quota.quota_ns as f64 / quota.period_ns as f64
        });
        let whole = |count: u128| count as f64 / (1_u64 << SPEED_BITS) as f64;
        let stations = self.scenario.stations.len();
        let full_ns = |station: usize| {
            let own = self.stations.iter().skip(station).step_by(stations);
            own.map(|state| state.full_ns(self.now_ns)).sum::<u64>()
        };
        let station_full_ns = (0..stations).map(full_ns).max().unwrap_or(0);
        let network_ns = self.scenario.overheads.network_ns;
        let mut response_ns = self.times_ns;
        for ns in response_ns.iter_mut().filter(|ns| **ns != REFUSED_NS) {
            *ns += network_ns;
        }
        Outcome {
            answered: self.answered,
            refused: self.refused,
            span_ns: self.last_out_ns,
            response_ns,
            queue_ns: self.sums.queue_ns,
            gvl_wait_ns: self.sums.gvl_wait_ns,
            core_wait_ns: self.sums.core_wait_ns,
            station_wait_ns: self.sums.station_wait_ns,
            io_ns: self.sums.io_ns,
            cpu_ns: self.cores.done_ns(),
            cold_hand_overs: whole(self.sums.cold_hand_overs),
            cold_wakes: whole(self.sums.cold_wakes),
            cold_ns: self.sums.cold_ns,
            gvl_utilisation: share(
                self.sums.gvl_held_ns + open,
                f64::from(self.scenario.processes),
            ),
            core_utilisation: share(self.cores.done_ns(), self.scenario.cores.min(quota)),
            station_utilisation: share(station_full_ns, f64::from(self.scenario.processes)),
            thread_utilisation: share(self.sums.busy_ns, f64::from(self.threads)),
        }
    }
}

impl Default for Gvl {
    fn default() -> Self {
        Self {
            owner: NO_TASK,
            last: NO_TASK,
            line: Fifo::default(),
            since_ns: 0,
            ran_ns: 0,
            ticking: false,
        }
    }
}
