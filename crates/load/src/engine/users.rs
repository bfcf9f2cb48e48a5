//! Sessions and recorded connections in the loop: whose turn an arrival is, requests that wait for a
//! user's answer before them, and what an answer means for its session.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::lanes::{Lanes, lanes};
use super::turn::Turn;
use super::{BATCH, Engine, NEVER, to_wall};
use crate::clock::monotonic_ns;
use crate::connection::{Event, Job};
use crate::failure::{Failure, Judgement, Rejected};
use crate::https::{shown_location, to_https};
use crate::plan::{LoadError, Mode, Plan};
use crate::session::Recipe;
use crate::session::capture::{Capture, headers};
use crate::session::pattern::Values;
use crate::session::users::{SessionCounts, Users};
use crate::tally::Timing;
use crate::template::Filling;

/// [`Job::who`] of a request that belongs to no user and takes no row.
pub(super) const NOBODY: u32 = u32::MAX;
/// What is said of such an answer to a request of a session that sends a body.
const WRONG_LOGIN: &str =
    "if this is a login, the user, the password or the name of its token field is wrong";
/// Most users that are made unasked.
const MOST_UNASKED: usize = 20_000;

/// What a run with sessions, data files or recorded connections keeps in addition to the loop.
#[derive(Debug)]
pub(super) struct Cast<'a> {
    users: Users<'a>,
    pub(super) lanes: Option<Lanes>,
    /// Of each request with a data file: rows taken.
    rows: Vec<u32>,
    /// Users whose turn has come and that have no connection yet: (when it was
    /// due, since when it could be started, whose turn).
    ready: VecDeque<(u64, u64, Turn)>,
    /// Requests that fell due, and are with their users or in `ready`.
    held: u64,
    /// When those that are with their users were due, and how many at once.
    with_users: BTreeMap<u64, u32>,
    /// The request under preparation.
    bytes: Vec<u8>,
}

/// `None` when no request varies and none waits for another.
pub(super) fn cast<'a>(plan: &'a Plan) -> Option<Box<Cast<'a>>> {
    let workload = &plan.workload;
    let requests = workload.requests().len();
    let varies = |request| workload.recipe(request).is_some_and(Recipe::varies);
    let lanes = lanes(plan);
    if lanes.is_none() && !(0..requests).any(varies) {
        return None;
    }
    let total: f64 = workload.weights().sum();
    let counts: Vec<usize> = workload
        .sessions()
        .iter()
        .map(|session| match &plan.mode {
            Mode::Closed { connections, .. } => *connections,
            Mode::Open { arrivals, .. } => session.users.unwrap_or_else(|| {
                // One of a user's requests a second.
                let rate = arrivals.highest_rate() * session.weight / total;
                (rate.ceil() as usize).clamp(1, MOST_UNASKED)
            }),
        })
        .collect();
    Some(Box::new(Cast {
        users: Users::new(workload.sessions(), &counts, plan.seed),
        lanes,
        rows: vec![0; requests],
        ready: VecDeque::new(),
        held: 0,
        with_users: BTreeMap::new(),
        bytes: Vec::new(),
    }))
}

impl Cast<'_> {
    /// Requests that fell due and have not been started.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// The instant at which something is to be done about them.
    fn wake_at(&self, starved: bool, timeout_ns: u64) -> u64 {
        match self.ready.front() {
            None => NEVER,
            Some((due, ..)) if starved => due.saturating_add(timeout_ns),
            Some(_) => 0,
        }
    }

    /// When the oldest of them was due.
    fn oldest_ns(&self) -> u64 {
        let with_users = self.with_users.first_key_value();
        let ready = self.ready.iter().map(|(due, ..)| *due);
        ready
            .chain(with_users.map(|(due, _)| *due))
            .min()
            .unwrap_or(NEVER)
    }

    fn left_user(&mut self, due: u64) {
        if let Some(count) = self.with_users.get_mut(&due) {
            *count -= 1;
            if *count == 0 {
                self.with_users.remove(&due);
            }
        }
    }

    /// What waited for an answer before it can begin, since then.
    pub(super) fn waits_no_more(&mut self, due: u64, since: u64, turn: Turn) {
        self.left_user(due);
        self.ready.push_back((due, since, turn));
    }

    /// Which request this turn is, and whose.
    fn begin(&mut self, turn: Turn) -> (usize, u32) {
        match turn {
            Turn::Request(request) => (request, self.row(request)),
            Turn::User(user) => (self.users.begin(user), index(user)),
            Turn::Lane(_, request) => (request, NOBODY),
        }
    }

    fn row(&mut self, request: usize) -> u32 {
        let row = self.rows[request];
        // Which of some 4 billion rows counts modulo the file's length only.
        self.rows[request] = row.wrapping_add(1) % NOBODY;
        row
    }
}

impl Engine<'_> {
    /// When held requests need the loop.
    pub(super) fn held_wake_at(&self) -> u64 {
        let cast = self.cast.as_ref();
        cast.map_or(NEVER, |cast| cast.wake_at(self.starved, self.timeout_ns))
    }

    /// Due, but not started: they belong to the window and are not yet counted
    /// as scheduled, because which step they are is known when they begin.
    pub(super) fn held(&self) -> u64 {
        self.cast.as_ref().map_or(0, |cast| cast.held())
    }

    pub(super) fn oldest_held_ns(&self) -> u64 {
        self.cast.as_ref().map_or(NEVER, |cast| cast.oldest_ns())
    }

    /// [`Engine::start_due`] for a workload with sessions, data files or recorded connections.
    pub(super) fn start_turns(&mut self, now: u64) -> Result<bool, LoadError> {
        for _ in 0..BATCH {
            let Some(cast) = &mut self.cast else {
                return Ok(false);
            };
            let Some(&(due, since, turn)) = cast.ready.front() else {
                if !self.has_due() {
                    let taken = self.tally.counts.scheduled + self.held();
                    if !self.draining && self.plan.stop.requests == Some(taken) {
                        self.end_window(now);
                    }
                    return Ok(false);
                }
                if self.next_due_ns > now {
                    return Ok(false);
                }
                self.take_turn();
                continue;
            };
            if due.saturating_add(self.timeout_ns) <= now {
                self.too_late(due, since, now);
                self.fail_ready(turn, now - due, Failure::Timeout);
                continue;
            }
            let Some(slot) = self.connection_for(turn) else {
                self.starved = true;
                return Ok(false);
            };
            let ready = self.ready_from(since);
            self.starved = false;
            let (request, who) = self.begin_ready(turn);
            self.start(slot, request, who, due, ready, monotonic_ns())?;
        }
        Ok(true)
    }

    /// Takes the next arrival off the schedule: to those that are ready, or to
    /// the user whose answer it must wait for.
    fn take_turn(&mut self) {
        let due = self.next_due_ns;
        let card = self.take_arrival();
        let Some(cast) = &mut self.cast else {
            return;
        };
        cast.held += 1;
        if let Some(lanes) = &mut cast.lanes {
            match lanes.arrives(card, due) {
                Some(lane) => cast.ready.push_back((due, due, Turn::Lane(lane, card))),
                None => *cast.with_users.entry(due).or_default() += 1,
            }
            return;
        }
        let outside = self.plan.workload.outside_sessions();
        let turn = match card.checked_sub(outside) {
            None => Turn::Request(card),
            Some(session) => {
                let user = cast.users.take_turn(session);
                if cast.users.waits(user, due) {
                    *cast.with_users.entry(due).or_default() += 1;
                    return;
                }
                Turn::User(user)
            }
        };
        cast.ready.push_back((due, due, turn));
    }

    /// The first of those that are ready begins.
    fn begin_ready(&mut self, turn: Turn) -> (usize, u32) {
        let Some(cast) = &mut self.cast else {
            return (0, NOBODY);
        };
        if let Some((due, since, _)) = cast.ready.pop_front() {
            cast.held -= 1;
            if since > due {
                self.tally.session_waited(since - due);
            }
        }
        let (request, who) = cast.begin(turn);
        self.tally.scheduled(request);
        (request, who)
    }

    fn fail_ready(&mut self, turn: Turn, after_ns: u64, failure: Failure) {
        let (request, who) = self.begin_ready(turn);
        self.label_failure(request, who);
        self.tally.failed(request, after_ns, failure);
        match turn {
            Turn::Lane(lane, _) => self.lane_over(lane),
            Turn::Request(_) | Turn::User(_) => self.step_ended(request, who, false),
        }
    }

    /// Closed loop: the next request of this slot.
    pub(super) fn next_of_slot(&mut self, slot: usize) -> (usize, u32) {
        let card = self.sequence.next_index();
        let outside = self.plan.workload.outside_sessions();
        match (&mut self.cast, card.checked_sub(outside)) {
            (None, _) => (card, NOBODY),
            (Some(cast), None) => (card, cast.row(card)),
            (Some(cast), Some(session)) => {
                let user = cast.users.at(session, slot);
                (cast.users.begin(user), index(user))
            }
        }
    }

    /// A user's step is over; the request after it may now begin.
    pub(super) fn step_ended(&mut self, request: usize, who: u32, good: bool) {
        let recipe = self.templates[request].recipe;
        if let Some(cast) = &mut self.cast
            && recipe.is_some_and(|recipe| recipe.session.is_some())
        {
            let user = who as usize;
            if let Some(due) = cast.users.end(user, good) {
                cast.waits_no_more(due, monotonic_ns(), Turn::User(user));
            }
        }
    }

    /// A user's step was cut, which is no failure of its session.
    pub(super) fn step_cut(&mut self, request: usize, who: u32) {
        self.step_ended(request, who, true);
    }

    /// The run is cancelled: requests that wait are cut.
    pub(super) fn cut_held(&mut self, now: u64) {
        while self.cast.is_some() && self.has_due() {
            self.take_turn();
        }
        self.free_waiting();
        let counts = self.session_counts();
        while let Some(cast) = &mut self.cast
            && let Some((due, _, turn)) = cast.ready.pop_front()
        {
            cast.held -= 1;
            let (request, who) = cast.begin(turn);
            self.tally.scheduled(request);
            let age = Duration::from_nanos(now.saturating_sub(due));
            self.tally.cut(request, age);
            if !matches!(turn, Turn::Lane(..)) {
                self.step_cut(request, who);
            }
        }
        // None of these was sent.
        if let Some(cast) = &mut self.cast {
            cast.users.counts = counts;
        }
    }

    /// The drain is over: requests that wait get no answer.
    pub(super) fn give_up_held(&mut self, now: u64) {
        while self.cast.is_some() && self.has_due() {
            self.take_turn();
        }
        self.free_waiting();
        while let Some(&(due, _, turn)) = self.cast.as_ref().and_then(|cast| cast.ready.front()) {
            self.fail_ready(turn, now.saturating_sub(due), Failure::Drained);
        }
    }

    /// At the end nothing waits for an answer any more.
    fn free_waiting(&mut self) {
        let Some(cast) = &mut self.cast else {
            return;
        };
        let waiting = cast.lanes.as_mut().map(Lanes::take_waiting);
        for (due, lane, request) in waiting.unwrap_or_default() {
            cast.waits_no_more(due, due, Turn::Lane(lane, request));
        }
    }

    /// Puts a varying request together and sends it.
    pub(super) fn send_filled(&mut self, slot: usize, job: Job) -> Event {
        let Some(cast) = &mut self.cast else {
            return Event::Pending;
        };
        let template = &mut self.templates[job.request];
        let of_user = template
            .recipe
            .is_some_and(|recipe| recipe.session.is_some());
        let user = of_user.then(|| cast.users.user(job.who as usize));
        let filling = Filling {
            values: values(&cast.users, template.recipe, job.who),
            jar: user.map(|user| &user.jar),
            secure: self.plan.is_by_https(),
            wall_ns: to_wall(job.scheduled_ns, self.wall_offset_ns),
        };
        template.fill(filling, &mut cast.bytes);
        let connection = &mut self.connections[slot];
        let event = connection.send(&cast.bytes, template.to_head);
        if let Some(recipe) = template.recipe.filter(|_| of_user) {
            connection.keep(recipe.captures.iter().any(Capture::needs_body));
        }
        event
    }

    /// Before a failure is counted: messages name the path as it was sent, because the server's log has no other.
    pub(super) fn label_failure(&mut self, request: usize, who: u32) {
        let template = &self.templates[request];
        if !template.varies || !self.tally.shows_next_failure(request) {
            return;
        }
        if let Some(cast) = &self.cast {
            let path = template.path(values(&cast.users, template.recipe, who));
            self.tally.set_label(request, template.label(&path));
        }
    }

    /// What messages say of a bad answer in addition to its status: the row of the data file, and the cause where it may be a login.
    fn detail_of_failure(&self, job: Job, recipe: &Recipe, status: u16) -> String {
        let Some(cast) = &self.cast else {
            return String::new();
        };
        if !self.tally.shows_next_failure(job.request) {
            return String::new();
        }
        let row = match (recipe.session, &recipe.data) {
            (Some(_), _) => cast.users.row_named(job.who as usize),
            (None, Some(data)) => Some(data.named(u64::from(job.who))),
            (None, None) => None,
        };
        let row = row.map_or_else(String::new, |row| format!(" ({row})"));
        let may_be_login = recipe.session.is_some()
            && matches!(status, 401 | 403 | 422)
            && self.templates[job.request].sends_values();
        match may_be_login {
            true => format!("{row}; {WRONG_LOGIN}"),
            false => row,
        }
    }

    /// A whole answer to a request whose answer is looked at: good or not, and
    /// what it means for the user.
    pub(super) fn judge(&mut self, slot: usize, job: Job, timing: Timing, status: u16) {
        let template = &self.templates[job.request];
        let Some(recipe) = template.recipe else {
            return;
        };
        let mut path = Cow::Borrowed(template.written_path());
        // Before the answer gives its values to the user.
        if let Some(cast) = self.cast.as_ref().filter(|_| template.varies)
            && to_https(status, self.connections[slot].location()).is_some()
        {
            path = Cow::Owned(template.path(values(&cast.users, template.recipe, job.who)));
        }
        let rejected = if status >= 400 {
            None
        } else if !recipe.expected.is_empty() && !recipe.expected.contains(&status) {
            let location = self.connections[slot].location();
            Some(Rejected::Status {
                status,
                location: location.map(shown_location),
            })
        } else if recipe.session.is_some() {
            self.take_values(slot, job, recipe, timing.done_ns)
                .err()
                .map(Rejected::Capture)
        } else {
            None
        };
        let good = status < 400 && rejected.is_none();
        let mut detail = String::new();
        if !good {
            detail = self.detail_of_failure(job, recipe, status);
            self.label_failure(job.request, job.who);
        }
        let redirect = self.connections[slot].location();
        let expected = recipe.expected.contains(&status);
        self.tally.judged(
            job.request,
            timing,
            Judgement {
                status,
                expected,
                path: &path,
                location: redirect,
                rejected: rejected.as_ref(),
                detail: &detail,
            },
        );
        self.step_ended(job.request, job.who, good);
    }

    /// Cookies and captures of a good answer.
    fn take_values(
        &mut self,
        slot: usize,
        job: Job,
        recipe: &Recipe,
        now_ns: u64,
    ) -> Result<(), String> {
        let Some(cast) = &mut self.cast else {
            return Ok(());
        };
        let kept = self.connections[slot].kept();
        let user = job.who as usize;
        let now_s = to_wall(now_ns, self.wall_offset_ns) / 1_000_000_000;
        let now_s = i64::try_from(now_s).unwrap_or(i64::MAX);
        let mut path = None;
        for (name, value) in headers(kept.head) {
            if name.eq_ignore_ascii_case("set-cookie") {
                let template = &self.templates[job.request];
                let path = path.get_or_insert_with(|| template.path(cast.users.values(user)));
                cast.users.user_mut(user).jar.set(&value, path, now_s);
            }
        }
        for capture in &recipe.captures {
            let value = capture
                .take(kept, &cast.users.user(user).jar)
                .map_err(|why| {
                    let session = recipe.session.unwrap_or(0);
                    let name = &self.plan.workload.sessions()[session].name;
                    format!("session {name:?}, {why}")
                })?;
            cast.users.user_mut(user).captured[capture.slot] = value;
        }
        Ok(())
    }

    pub(super) fn session_counts(&self) -> SessionCounts {
        let cast = self.cast.as_ref();
        cast.map_or_else(SessionCounts::default, |cast| cast.users.counts)
    }
}

/// What fills a request of this user, or with this row.
fn values<'v>(users: &'v Users<'_>, recipe: Option<&'v Recipe>, who: u32) -> Values<'v> {
    if recipe.is_some_and(|recipe| recipe.session.is_some()) {
        return users.values(who as usize);
    }
    let data = recipe.and_then(|recipe| recipe.data.as_deref());
    let row = data.map_or(&[][..], |data| data.row(u64::from(who)));
    Values { row, captured: &[] }
}

/// Far fewer users than this are made.
fn index(user: usize) -> u32 {
    u32::try_from(user).unwrap_or(NOBODY)
}
