use predict::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let files = flight::find(std::path::Path::new(&a[1])).unwrap();
    let secs: f64 = a[2].parse().unwrap();
    let cpu_accept: Option<u64> = a.get(3).and_then(|s| s.parse().ok());
    let mut recs: Vec<flight::Record> = files
        .iter()
        .flat_map(|f| {
            flight::FlightFile::open(f)
                .unwrap()
                .snapshot()
                .unwrap()
                .records
        })
        .collect();
    recs.sort_by_key(|r| r.arrival_wall_ns);
    let last = recs.last().unwrap().arrival_wall_ns;
    let since = last - (secs * 1e9) as u64;
    let sel: Vec<_> = recs.iter().filter(|r| r.arrival_wall_ns >= since).collect();
    let n = sel.len() as f64;
    let mean = |f: &dyn Fn(&flight::Record) -> f64| sel.iter().map(|r| f(r)).sum::<f64>() / n;
    println!(
        "n {} held {:.3} gvl {:.3} io {:.3} lock {:.3} cpu {:.3} srv_held {:.3} srv_gvl {:.3} queue {:.3} parse {:.3} write {:.3} wall {:.3} busy {:.2} yields {:.2}",
        n,
        mean(&|r| r.held_ns as f64 / 1e6),
        mean(&|r| r.gvl_wait_ns as f64 / 1e6),
        mean(&|r| r.io_ns as f64 / 1e6),
        mean(&|r| r.lock_wait_ns as f64 / 1e6),
        mean(&|r| r.cpu_ns as f64 / 1e6),
        mean(&|r| r.server_held_us as f64 / 1e3),
        mean(&|r| r.server_gvl_wait_us as f64 / 1e3),
        mean(&|r| r.queue_ns.unwrap_or(0) as f64 / 1e6),
        mean(&|r| r.parse_us.unwrap_or(0) as f64 / 1e3),
        mean(&|r| r.write_us.unwrap_or(0) as f64 / 1e3),
        mean(&|r| r.wall_ns as f64 / 1e6),
        mean(&|r| f64::from(r.busy_threads)),
        mean(&|r| f64::from(r.yields))
    );
    let app = Application::read(
        &files,
        &Selection {
            since_ns: Some(since),
            least: 100,
            ..Selection::default()
        },
    )
    .unwrap();
    let app = match cpu_accept {
        Some(us) => {
            let cpu = (mean(&|r| r.cpu_ns as f64) + us as f64 * 1e3) * n;
            app.with_process_cpu(cpu as u64)
        }
        None => app,
    };
    println!("costs {:?}", app.costs());
    println!("patterns {:?} traced {:?}", app.patterns(), app.traced());
    let cores: f64 = a.get(4).and_then(|s| s.parse().ok()).unwrap_or(2.0);
    let m = Machine {
        cores,
        quota: None,
        keep_alive: Some(false),
    };
    let point = Point {
        processes: app.traced().processes,
        threads: app.traced().threads,
    };
    let arr = app.work().arrivals_ns().to_vec();
    let b = Bench::new(app, m).unwrap();
    println!(
        "recorded  {:?}\npredicted {:?}\nerror {:?}",
        b.self_check().recorded,
        b.self_check().predicted,
        b.self_check().error()
    );
    let p = b
        .predict(point, &Coming::Given { arrivals_ns: arr }, 0)
        .unwrap();
    println!(
        "queue {:.3} gvl {:.3} core {:.3} io {:.3} cpu {:.3} ut gvl {:.3} thr {:.3}",
        p.queue_ms,
        p.gvl_wait_ms,
        p.core_wait_ms,
        p.io_ms,
        p.cpu_ms,
        p.utilisation_gvl,
        p.utilisation_threads
    );
}
