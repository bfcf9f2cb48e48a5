//! `mirror`: live traffic to the primary, copies of it to shadows, and what came of both.

mod batch;
mod ending;
mod keeper;
mod kept;
mod layers;
mod notices;
mod notify;
mod recording;
mod resolve;
mod signals;
mod status;
mod tap;
mod values;
mod view;
mod written;

use crate::args::MirrorArgs;
use crate::commands::topic;
use crate::{Failure, asked, output};
use ::mirror::http1::Forwarding;
use ::mirror::proxy::{Control, Drained, Proxy};
use ::mirror::shadow::{Shadows, Telling};
use ::mirror::{Address, Counts, ListenAt, OpenFiles, Settings};
use ending::GRACE;
use experiment::config::{Asked, Problem, parse_duration};
use keeper::{Clock, Generation, Keeper};
use notices::Notices;
use resolve::{Resolved, resolve};
use signals::{Signals, Wish};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tap::Both;
use view::View;

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(50);

/// `powerband mirror`.
pub fn mirror(args: MirrorArgs) -> Result<u8, Failure> {
    let mut problems = Vec::new();
    let length = length(&args, &mut problems);
    let resolved = read(&args, problems).map_err(|problems| asked::failure(&problems))?;
    // Before anything serves, so that no signal finds the mirror without its files ended.
    let signals = Signals::listen()
        .map_err(|e| Failure::usage(format!("signals cannot be handled here: {e}")))?;
    let mut running = Running::start(resolved, length.is_some())?;
    let (mut view, mut notices) = (View::new(args.output.quiet), Notices::default());
    view.begun(&running.told());
    notify::notify("READY=1");
    if let Some(warning) = hidden_clients(&running.settings, &running.address) {
        output::error(warning);
    }
    if let Some(said) = capture::unredacted(&running.files.keep) {
        output::error(&format!("warning: {said}"));
    }
    let ends = length.map(|length| running.clock.began + length);
    loop {
        match signals.wish() {
            Some(Wish::End) => break,
            Some(Wish::Reload) => running.reload(&args),
            None => {}
        }
        if running
            .proxy
            .as_ref()
            .is_none_or(std::thread::JoinHandle::is_finished)
            || ends.is_some_and(|ends| Instant::now() >= ends)
        {
            break;
        }
        let backlog = running.keeper.inbox.lost();
        let said = notices.due(Instant::now(), &running.counts, &running.limit(), backlog);
        said.iter().for_each(|line| view.warn(line));
        view.show(
            running.clock.began.elapsed(),
            &running.counts.snapshot(),
            || running.keeper.shelf.ask(),
        );
        std::thread::sleep(TICK);
    }
    running.wait_as_lame_duck(&mut view);
    view.ending(&running.counts.snapshot());
    running.end(&args, view)
}

fn length(args: &MirrorArgs, problems: &mut Vec<Problem>) -> Option<Duration> {
    let asked = Asked::new(args.length.as_ref()?, "--for");
    parse_duration(&asked)
        .map_err(|problem| problems.push(problem))
        .ok()
}

/// Flags, and the file that they name, as it is now.
fn read(args: &MirrorArgs, mut problems: Vec<Problem>) -> Result<Resolved, Vec<Problem>> {
    let text = args
        .config
        .as_ref()
        .map(|path| (std::fs::read_to_string(path), path));
    let file = match &text {
        Some((Ok(text), path)) => Some((text.as_str(), path.as_path())),
        Some((Err(e), path)) => {
            let what = format!("--config = {:?}: {e}", path.display().to_string());
            problems.push(Problem::with(what, "name a file that can be read"));
            None
        }
        None => None,
    };
    let layers = layers::Layers::read(args, file, &mut problems);
    let mut resolved = resolve(&layers, problems)?;
    let files = &mut resolved.files;
    if let Some(text) = files.record.as_deref().and_then(topic::named) {
        files.topic = Some(topic::addressed("--record", text, &args.kafka)?);
    }
    Ok(resolved)
}

/// A mirror that serves.
struct Running {
    clock: Clock,
    counts: Arc<Counts>,
    open_files: OpenFiles,
    keeper: Keeper,
    control: Control,
    proxy: Option<std::thread::JoinHandle<Result<Drained, String>>>,
    shadows: Option<Arc<Shadows>>,
    status: Option<status::Serving>,
    settings: Settings,
    files: resolve::Files,
    lame_duck: Duration,
    generation: u32,
    address: Address,
}

impl Running {
    fn start(resolved: Resolved, length_was_chosen: bool) -> Result<Running, Failure> {
        let Resolved {
            settings,
            files,
            status,
            lame_duck,
        } = resolved;
        let open_files = OpenFiles::raise();
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let clock = Clock {
            began: Instant::now(),
            began_unix_ns: u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX),
            length_was_chosen,
        };
        let counts = Arc::new(Counts::default());
        let generation = Generation::of(0, &settings.shadows);
        let keeper = Keeper::start(&files, &primary_of(&settings), generation, clock)
            .map_err(Failure::usage)?;
        let shadows =
            shadows(&settings, &counts, &keeper, clock, &files, 0).map_err(Failure::usage)?;
        let tap = tap(&shadows, &keeper, &files);
        // Before the proxy: clients that it has connected would be reset where this address is taken.
        let status = status.map(status::Reserved::new).transpose();
        let status = status.map_err(Failure::usage)?;
        let proxy = Proxy::bind(&settings, open_files, counts.clone(), tap)
            .map_err(|e| Failure::usage(e.to_string()))?;
        let (address, control) = (proxy.address().clone(), proxy.control());
        let shown = status::Shown {
            counts: counts.clone(),
            shelf: keeper.shelf.clone(),
            open_files,
        };
        let status = status.map(|reserved| reserved.serve(shown)).transpose();
        let status = status.map_err(Failure::usage)?;
        let serving = std::thread::Builder::new().name("proxy".to_owned());
        let serving = serving.spawn(move || proxy.serve().map_err(|e| e.to_string()));
        let serving =
            serving.map_err(|e| Failure::broken(format!("cannot start a thread: {e}")))?;
        Ok(Running {
            clock,
            counts,
            open_files,
            keeper,
            control,
            proxy: Some(serving),
            shadows,
            status,
            settings,
            files,
            lame_duck,
            generation: 0,
            address,
        })
    }

    /// What is said once it serves.
    fn told(&self) -> Vec<String> {
        let listens = match (&self.address, &self.settings.listen.tls) {
            (Address::Tcp(address), None) => format!("http://{address}"),
            (Address::Tcp(address), Some(_)) => format!("https://{address}"),
            (unix, _) => unix.to_string(),
        };
        let primaries: Vec<String> = self
            .settings
            .primaries
            .iter()
            .map(|one| view::url(&one.upstream))
            .collect();
        let mut told = vec![format!(
            "listening on {listens}; the primary is {}",
            primaries.join(", ")
        )];
        told.push(format!("room for {}", self.limit()));
        told.extend(self.settings.shadows.iter().map(view::shadow));
        told.extend(self.status.as_ref().map(|status| {
            format!(
                "status on http://{}/metrics, /status.json and /readyz",
                status.address()
            )
        }));
        told
    }

    fn limit(&self) -> String {
        let most = self.counts.client.most.get();
        notices::limit(most, self.settings.client.connections, &self.open_files)
    }

    /// The file again. What cannot be used changes nothing.
    fn reload(&mut self, args: &MirrorArgs) {
        match self.reloaded(args) {
            Ok(()) => output::say(&format!(
                "powerband: the configuration was read again; room for {}",
                self.limit()
            )),
            Err(why) => output::error(&format!("the configuration stays as it was: {why}")),
        }
    }

    fn reloaded(&mut self, args: &MirrorArgs) -> Result<(), String> {
        let resolved = read(args, Vec::new()).map_err(|problems| {
            problems
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        })?;
        let number = self.generation + 1;
        let settings = resolved.settings;
        let new = shadows(
            &settings,
            &self.counts,
            &self.keeper,
            self.clock,
            &self.files,
            number,
        )?;
        if let Err(e) = self
            .control
            .reload(&settings, tap(&new, &self.keeper, &self.files))
        {
            return Err(e.to_string());
        }
        if stays(&settings) != stays(&self.settings) || resolved.files != self.files {
            output::error(
                "where it listens and what it writes stay as they were until it is started again",
            );
        }
        self.keeper
            .follow(Generation::of(number, &settings.shadows));
        self.generation = number;
        let deadline = longest(&self.settings);
        self.settings = settings;
        self.lame_duck = resolved.lame_duck;
        if let Some(old) = std::mem::replace(&mut self.shadows, new) {
            // In its own time: its open requests are answered or counted.
            let finishing = std::thread::Builder::new().name("finishing".to_owned());
            let _ = finishing.spawn(move || old.stop(deadline + GRACE));
        }
        Ok(())
    }

    /// Clients go on being served and accepted, so that balancers have time to learn that this one ends.
    fn wait_as_lame_duck(&self, view: &mut View) {
        notify::notify("STOPPING=1");
        if let Some(status) = &self.status {
            status.not_ready();
        }
        let ends = Instant::now() + self.lame_duck;
        let serves = || {
            self.proxy
                .as_ref()
                .is_some_and(|proxy| !proxy.is_finished())
        };
        if !self.lame_duck.is_zero() && serves() {
            view.lame_duck(self.lame_duck);
        }
        while Instant::now() < ends && serves() {
            std::thread::sleep(TICK);
        }
    }

    fn end(mut self, args: &MirrorArgs, view: View) -> Result<u8, Failure> {
        self.control.drain();
        let drained = self.proxy.take().map(std::thread::JoinHandle::join);
        if let Some(shadows) = &self.shadows {
            shadows.stop(longest(&self.settings) + GRACE);
        }
        let kept = self.keeper.end();
        let counts = self.counts.snapshot();
        drop(self.status);
        view.ended(&counts, &kept);
        if let Some(joined) = drained {
            view.drained(&cut(joined)?);
        }
        let Some(comparison) = &kept.comparison else {
            if args.output.json {
                output::json(&counts)?;
            }
            return Ok(0);
        };
        match args.output.json {
            true => output::json(comparison)?,
            false => output::print(&report::duplex_page(
                comparison,
                view::ENDPOINTS,
                output::style(),
            ))?,
        }
        Ok(comparison.exit_code)
    }
}

/// What the proxy cut at its end. It ends by itself only where it is broken.
fn cut(joined: std::thread::Result<Result<Drained, String>>) -> Result<Drained, Failure> {
    match joined {
        Ok(drained) => drained.map_err(Failure::broken),
        Err(_) => Err(Failure::broken(
            "the proxy's thread ended in a panic; what it said is above",
        )),
    }
}

/// What of the listener a reload does not change.
fn stays(settings: &Settings) -> (&ListenAt, bool) {
    (&settings.listen.at, settings.listen.proxy_protocol)
}

/// The warning where others than this machine connect, and the primary takes all of them for this machine.
fn hidden_clients(settings: &Settings, address: &Address) -> Option<&'static str> {
    let is_open = match address {
        Address::Tcp(address) => !address.ip().to_canonical().is_loopback(),
        Address::Unix(_) => false,
    };
    let from_elsewhere = is_open || settings.listen.proxy_protocol;
    let told = settings.client.forwarded != Forwarding::Off
        || settings
            .primaries
            .iter()
            .all(|primary| primary.proxy_protocol.is_some());
    (from_elsewhere && !told).then_some(
        "warning: the primary sees this mirror's address as that of every client, and believes a client's own X-Forwarded-For \
         where it trusts this address: give --forwarded replace (append behind another proxy) or --send-proxy-protocol v1",
    )
}

fn longest(settings: &Settings) -> Duration {
    settings
        .shadows
        .iter()
        .map(|shadow| shadow.deadline)
        .max()
        .unwrap_or_default()
}

fn primary_of(settings: &Settings) -> String {
    let urls: Vec<String> = settings
        .primaries
        .iter()
        .map(|primary| view::url(&primary.upstream))
        .collect();
    urls.join(", ")
}

fn shadows(
    settings: &Settings,
    counts: &Arc<Counts>,
    keeper: &Keeper,
    clock: Clock,
    files: &resolve::Files,
    generation: u32,
) -> Result<Option<Arc<Shadows>>, String> {
    if settings.shadows.is_empty() {
        return Ok(None);
    }
    let rules = files.rules();
    let inbox = keeper.inbox.clone();
    let telling = Telling {
        began: clock.began,
        seed: clock.began_unix_ns,
        rules,
        pair: Box::new(move |pair| inbox.pair(generation, pair)),
    };
    let started = Shadows::start(settings, counts, telling).map_err(|e| e.to_string())?;
    Ok(Some(Arc::new(started)))
}

fn tap(
    shadows: &Option<Arc<Shadows>>,
    keeper: &Keeper,
    files: &resolve::Files,
) -> Arc<dyn ::mirror::Tap> {
    Arc::new(Both {
        shadows: shadows.clone(),
        recording: files.record.as_ref().map(|_| keeper.inbox.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_proxy_has_an_exit_code_that_no_comparison_has() {
        let panicked = std::thread::spawn(|| -> Result<Drained, String> { panic!("a test") });
        for joined in [panicked.join(), Ok(Err("no event queue".to_owned()))] {
            assert_eq!(cut(joined).unwrap_err().code, 70);
        }
        assert!(cut(Ok(Ok(Drained::default()))).is_ok());
    }
}
