use proptest::prelude::*;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::super::tests_support::{settings, shadow, taken};
use super::*;

fn gate(shadows: &[(usize, u16)], bytes: usize) -> (Arc<Gate>, UnboundedReceiver<Told>) {
    let shadows = shadows.iter().enumerate().map(|(index, (places, copies))| {
        let mut shadow = shadow(&format!("s{index}"), 1);
        (shadow.queue, shadow.connections, shadow.copies) = (*places, 0, *copies);
        shadow
    });
    let mut settings = settings(shadows.collect());
    settings.limits.bytes = bytes;
    let (sender, receiver) = unbounded_channel();
    (
        Arc::new(Gate::new(&settings, Arc::default(), sender)),
        receiver,
    )
}

fn head(body_bytes: Option<u64>) -> Head<'static> {
    Head {
        id: 1,
        connection: 1,
        method: "GET",
        target: "/",
        headers: crate::headers::Offered::Listed(&[]),
        body_bytes,
    }
}

#[derive(Debug, Clone)]
enum Step {
    Wants(Option<u64>),
    Takes { body: usize, whole: bool },
    Leaves,
    Ends,
    Unreachable(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop::option::of(0..70_000_u64).prop_map(Step::Wants),
        3 => (0..60_000_usize, prop::bool::weighted(0.9)).prop_map(|(body, whole)| Step::Takes { body, whole }),
        1 => Just(Step::Leaves),
        2 => Just(Step::Ends),
        1 => any::<bool>().prop_map(Step::Unreachable),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_every_place_and_every_byte_comes_back(
        steps in prop::collection::vec(step(), 0..120),
        limit in 10_000..300_000_usize,
    ) {
        let (gate, mut told) = gate(&[(3, 1), (5, 2), (1, 3)], limit);
        let mut waiting = Vec::new();
        let mut under_way = Vec::new();
        for step in steps {
            match step {
                Step::Wants(body) => waiting.extend(gate.admit(&head(body))),
                Step::Takes { body, whole } => {
                    let Some(admission) = waiting.pop() else { continue };
                    let mut request = taken(1, "GET", "/", &[], &vec![b'x'; body]);
                    request.body_bytes += u64::from(!whole);
                    request.admission = admission;
                    let request = Arc::new(request);
                    let admitted = request.admission.0.as_ref().unwrap();
                    admitted.taken(&request);
                    // Called twice, it counts once.
                    admitted.taken(&request);
                }
                Step::Leaves => drop(waiting.pop()),
                Step::Ends => drop(under_way.pop()),
                Step::Unreachable(unreachable) => gate.places[0].set_unreachable(unreachable),
            }
            while let Ok(told) = told.try_recv() {
                if let Told::Taken(_, wanted, held) = told {
                    under_way.push(Ending { gate: gate.clone(), to: wanted.to, _held: held });
                }
            }
            prop_assert!(gate.counts.held_bytes.get() <= limit as u64);
            for places in &gate.places {
                prop_assert!(places.taken.load(Ordering::SeqCst) <= places.most);
            }
        }
        drop((waiting, under_way));
        prop_assert!(gate.is_empty());
        prop_assert_eq!(gate.counts.held_bytes.get(), 0);
        for shadow in gate.counts.snapshot().shadows {
            let ended = shadow.answered + shadow.dropped.values().sum::<u64>();
            prop_assert_eq!((shadow.sampled, shadow.pending), (ended, 0));
        }
    }
}

/// Answered by all as it is dropped.
struct Ending {
    gate: Arc<Gate>,
    to: Set,
    _held: Held,
}

impl Drop for Ending {
    fn drop(&mut self) {
        for places in self.gate.chosen(self.to) {
            for _ in 0..places.copies {
                places.counts.answered.add(1);
                places.ended();
            }
        }
    }
}

#[test]
fn nobody_is_admitted_where_nobody_listens() {
    let (gate, told) = gate(&[(3, 1)], 100_000);
    let admission = gate.admit(&head(None));
    drop(told);
    let mut request = taken(1, "GET", "/", &[], b"");
    request.admission = admission.unwrap();
    let request = Arc::new(request);
    request.admission.0.as_ref().unwrap().taken(&request);
    assert_eq!(gate.counts.snapshot().shadows[0].dropped["ended"], 1);
    assert!(gate.is_empty());
    gate.close(tokio::time::Instant::now());
    assert!(gate.admit(&head(None)).is_none());
}
