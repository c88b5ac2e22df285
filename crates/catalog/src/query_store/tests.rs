use super::*;

fn options() -> QueryStoreOptions {
    let (state, capture) = (StoreState::ReadWrite, CaptureMode::All);
    QueryStoreOptions { state, capture, interval_minutes: 1, ..QueryStoreOptions::default() }
}

fn ran(count: u64, last: u64, took: u64) -> Executions {
    let duration = Sample {
        total: (count * took) as f64,
        squares: (count * took * took) as f64,
        last: took,
        least: took,
        greatest: took,
    };
    Executions {
        times: UseCount { count, last },
        duration,
        processor: duration,
        rows: Sample::default(),
    }
}

fn tell(
    kept: &mut StoredQueries,
    options: &QueryStoreOptions,
    text: &str,
    plan: u8,
    ran: &Executions,
    now: u64,
) {
    let document = || "plan".repeat(1000);
    let told = QueryReport {
        key: QueryKey { text: text.into(), object_id: 0, parameterized: 0 },
        hash: [1; 8],
        batch: vec![2; 20],
        offsets: (0, -1),
        compiled: 5,
        plan_hash: [plan; 8],
        plan: &document,
        trivial: false,
        level: 160,
    };
    kept.add(options, told, ran, now);
}

#[test]
fn executions_add_up_by_plan_and_interval() {
    let (mut kept, options) = (StoredQueries::default(), options());
    tell(&mut kept, &options, "a", 1, &ran(3, 100, 10), MINUTE);
    tell(&mut kept, &options, "a", 1, &ran(1, 200, 50), MINUTE + 1);
    tell(&mut kept, &options, "a", 2, &ran(1, 300, 5), 3 * MINUTE);
    tell(&mut kept, &options, "b", 1, &ran(1, 400, 5), 3 * MINUTE);
    assert_eq!(
        (kept.texts.len(), kept.queries.len(), kept.plans.len(), kept.intervals.len()),
        (2, 2, 3, 2)
    );
    let first = kept.runtime[&(1, 1)].executions;
    assert_eq!((first.times, first.duration.total), (UseCount { count: 4, last: 200 }, 80.0));
    assert_eq!((first.duration.least, first.duration.greatest, first.duration.last), (10, 50, 50));
    assert_eq!(kept.intervals[&1], (MINUTE, 2 * MINUTE));
    let bytes = kept.bytes();
    assert!(kept.remove_query(1) && !kept.remove_query(1));
    assert_eq!(
        (kept.texts.len(), kept.queries.len(), kept.plans.len(), kept.runtime.len()),
        (1, 1, 1, 1)
    );
    assert!(kept.remove_query(2) && kept.bytes() == 0 && bytes > 0, "{}", kept.bytes());
}

#[test]
fn it_is_bounded() {
    let (mut kept, mut options) = (StoredQueries::default(), options());
    (options.max_megabytes, options.max_plans) = (1, 3);
    for n in 0..2000u64 {
        tell(&mut kept, &options, &format!("query {n}"), 1, &ran(1, n + 1, 1), MINUTE);
    }
    assert!(kept.bytes() <= 1_048_576 + 20_000 && kept.queries.len() < 200, "{}", kept.bytes());
    assert!(kept.queries.values().any(|q| &*q.key.text == "query 1999"), "the newest are kept");
    options.cleanup = false;
    for n in 0..2000u64 {
        tell(&mut kept, &options, &format!("other {n}"), 1, &ran(1, n + 1, 1), MINUTE);
    }
    assert_eq!(kept.readonly_reason, FULL);
    let mut kept = StoredQueries::default();
    (0..10).for_each(|plan| tell(&mut kept, &options, "a", plan, &ran(1, 1, 1), MINUTE));
    assert_eq!(kept.plans.len(), 3);
}

#[test]
fn what_runs_seldom_is_not_shown_and_what_is_stale_goes() {
    let store = QueryStore::default();
    let mut options = options();
    options.capture = CaptureMode::Auto;
    {
        let mut kept = store.kept();
        tell(&mut kept, &options, "seldom", 1, &ran(29, DAY, 10), DAY);
        assert!(!kept.is_shown(1));
        // A day later it begins again.
        tell(&mut kept, &options, "seldom", 1, &ran(29, 3 * DAY, 10), 3 * DAY);
        assert!(!kept.is_shown(1));
        tell(&mut kept, &options, "seldom", 1, &ran(1, 3 * DAY, 10), 3 * DAY);
        assert!(kept.is_shown(1));
        tell(&mut kept, &options, "long", 1, &ran(1, 3 * DAY, 100_000), 3 * DAY);
        assert!(kept.is_shown(2));
        options.capture = CaptureMode::None;
        tell(&mut kept, &options, "new", 1, &ran(50, 3 * DAY, 10), 3 * DAY);
        assert_eq!(kept.queries.len(), 2);
    }
    store.forget_stale(&options, 20 * DAY);
    assert_eq!(store.kept().queries.len(), 2);
    store.forget_stale(&options, 40 * DAY);
    assert!(store.kept().queries.is_empty() && store.kept().intervals.is_empty());
    assert!(!store.notes());
    store.set_state(StoreState::ReadWrite);
    assert!(store.notes());
}
