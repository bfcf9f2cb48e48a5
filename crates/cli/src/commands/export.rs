//! `export`: gives what running servers count to Prometheus, which asks, to a receiver of OpenTelemetry, or to Parquet files. It reads
//! flight files alone; the servers notice nothing.

mod background;
mod page;
mod pushing;
mod receiver;
mod recording;
mod reports;
mod resource;
mod secrets;
mod source;
mod wanted;

use crate::args::ExportArgs;
use crate::listener::{Admitted, Bound, refused};
use crate::signals::{LOOK, Signals};
use crate::{Failure, output};
use page::Page;
use pushing::Pushing;
use recording::Recording;
use source::Source;
use std::sync::Arc;
use wanted::{Scrapes, Wanted};

const REFUSAL: &str =
    "this page answers to its own address and to localhost; allow another name with --host\n";

/// `powerband export`.
pub fn export(args: &ExportArgs) -> Result<u8, Failure> {
    let wanted = Wanted::of(args)?;
    let source = Arc::new(Source::new(
        wanted.folder,
        wanted.application,
        wanted.endpoints,
    ));
    source.check()?;
    let pushing = wanted
        .pushes
        .as_ref()
        .map(|pushes| Pushing::new(Arc::clone(&source), pushes, wanted.opentelemetry));
    let mut pushing = pushing.transpose()?;
    let recording = wanted
        .files
        .as_ref()
        .map(|files| Recording::new(&source, files));
    let mut recording = recording.transpose()?;
    if wanted.once {
        if let Some(recording) = &mut recording {
            recording.once()?;
        }
        if let Some(pushing) = &mut pushing {
            let pushed = pushing.once();
            pushed.map_err(|refused| Failure::no_answer(refused.why))?;
        }
        return Ok(0);
    }
    // Not before: one push is ended by the first signal.
    let signals = Signals::taken()?;
    let listener = match wanted.scrapes {
        Some(scrapes) => Some(served(scrapes, wanted.opentelemetry, &source)?),
        None => None,
    };
    let pushing = pushing.map(Pushing::started).transpose()?;
    let recording = recording.map(Recording::started).transpose()?;
    while signals.received().is_none() {
        std::thread::sleep(LOOK);
    }
    background::end([recording, pushing].into_iter().flatten());
    drop(listener);
    Ok(0)
}

fn served(
    scrapes: Scrapes,
    opentelemetry: bool,
    source: &Arc<Source>,
) -> Result<crate::listener::Listener, Failure> {
    let Scrapes {
        address,
        path,
        hosts,
    } = scrapes;
    let failed = |e: &std::io::Error| Failure::usage(refused(wanted::LISTEN, address, e));
    let bound = Bound::new(address).map_err(|e| failed(&e))?;
    let url = format!("http://{}{path}", bound.address());
    let page = Page::new(path, opentelemetry, Arc::clone(source));
    let admitted = Admitted {
        hosts,
        refusal: REFUSAL,
    };
    let listener = bound.serve(admitted, move |question| page.answer(question));
    let listener = listener.map_err(|e| failed(&e))?;
    output::print(&format!("{url}\n"))?;
    Ok(listener)
}
