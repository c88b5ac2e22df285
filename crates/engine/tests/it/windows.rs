//! Window functions against a reference that computes each row by looking at all rows of its
//! partition, with memory for everything and with next to none.
//!
//! `RINGWOOD_WINDOWS` says how many random windows (60 without it).

use crate::support::text;
use engine::{Instance, InstanceOptions};
use fastrand::Rng;
use sim::SimDisk;
use std::sync::Arc;

#[derive(Clone, Copy)]
struct Row {
    id: i64,
    p: Option<i64>,
    k: Option<i64>,
    x: Option<i64>,
}

fn open(operator_bytes: Option<usize>) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: Some(32 << 20),
        operator_bytes,
        disk: Arc::new(SimDisk::new(3)),
        ..InstanceOptions::new("/data")
    };
    let instance = Instance::open(options).expect("the instance opens");
    assert_eq!(text::say(&instance, "create database d"), "");
    instance
}

/// What a batch in the database says.
fn ask(instance: &Arc<Instance>, sql: &str) -> String {
    let (mut session, mut out) = (instance.session().expect("a session"), text::Text::default());
    session.use_database("d").expect("the database");
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

fn shown(value: Option<i64>) -> String {
    value.map_or("NULL".into(), |n| n.to_string())
}

/// A table of random rows, the same in each instance.
fn fill(instances: &[Arc<Instance>], rng: &mut Rng) -> Vec<Row> {
    let (parts, keys) = ([1, 2, 5, 60][rng.usize(..4)], [1, 3, 30, 1000][rng.usize(..4)]);
    let count = [1, 50, 400, 900][rng.usize(..4)];
    let mut some = |below: i64| (rng.u8(..9) > 0).then(|| rng.i64(0..below));
    let rows: Vec<Row> = (0..count)
        .map(|n| Row { id: n * 7919 % count, p: some(parts), k: some(keys), x: some(50) })
        .collect();
    let values: Vec<String> = rows
        .iter()
        .map(|r| format!("({},{},{},{})", r.id, shown(r.p), shown(r.k), shown(r.x)))
        .collect();
    // The filler makes rows so long that a partition has several blocks.
    let mut sql =
        "drop table if exists t create table t (id int, p int, k int, x int, f char(400) default 'f')"
            .to_owned();
    for chunk in values.chunks(500) {
        sql.push_str(&format!(" insert t (id, p, k, x) values {}", chunk.join(",")));
    }
    for instance in instances {
        let said = ask(instance, &sql);
        assert!(!said.contains("Msg"), "{said}");
    }
    rows
}

/// Which rows of the partition, from the current one; none: unbounded.
#[derive(Clone, Copy)]
struct Frame {
    start: Option<i64>,
    end: Option<i64>,
}

impl Frame {
    fn any(rng: &mut Rng) -> Frame {
        let (a, b) = (rng.i64(-40..40), rng.i64(-40..40));
        let start = (rng.u8(..3) > 0).then_some(a.min(b));
        Frame { start, end: (rng.u8(..3) > 0).then_some(a.max(b)) }
    }

    fn text(self) -> String {
        let side = |by: Option<i64>, unbounded: &str| match by {
            None => format!("UNBOUNDED {unbounded}"),
            Some(0) => "CURRENT ROW".into(),
            Some(by) if by < 0 => format!("{} PRECEDING", -by),
            Some(by) => format!("{by} FOLLOWING"),
        };
        format!(
            "ROWS BETWEEN {} AND {}",
            side(self.start, "PRECEDING"),
            side(self.end, "FOLLOWING")
        )
    }

    fn of(self, rows: &[Row], at: usize) -> &[Row] {
        let n = rows.len() as i64;
        let start = self.start.map_or(0, |by| at as i64 + by).clamp(0, n);
        let end = self.end.map_or(n, |by| at as i64 + by + 1).clamp(start, n);
        &rows[start as usize..end as usize]
    }
}

type Expected = Box<dyn Fn(&[Row], usize) -> Option<i64>>;

fn aggregate(name: &str, rows: &[Row]) -> Option<i64> {
    let values: Vec<i64> = rows.iter().filter_map(|r| r.x).collect();
    match name {
        "COUNT" => Some(values.len() as i64),
        "SUM" => (!values.is_empty()).then(|| values.iter().sum()),
        "MIN" => values.iter().min().copied(),
        _ => values.iter().max().copied(),
    }
}

/// A call over rows in the order (k, id), so that each has its own place; the call and what it
/// should give.
fn any_call(rng: &mut Rng) -> (String, String, Expected) {
    let frame = Frame::any(rng);
    let by = rng.i64(0..60);
    match rng.u8(..8) {
        0 => ("ROW_NUMBER()".into(), String::new(), Box::new(|_, at| Some(at as i64 + 1))),
        1 => (
            format!("LAG(x, {by}, -1)"),
            String::new(),
            Box::new(move |rows, at| match at.checked_sub(by as usize) {
                Some(at) => rows[at].x,
                None => Some(-1),
            }),
        ),
        2 => (
            format!("LEAD(x, {by})"),
            String::new(),
            Box::new(move |rows, at| rows.get(at + by as usize).and_then(|r| r.x)),
        ),
        3 => (
            // A negative offset is none.
            "LAG(id, ABS(k % 7))".into(),
            String::new(),
            Box::new(|rows, at| {
                let by = rows[at].k.map_or(0, |k| (k % 7).abs());
                at.checked_sub(by as usize).map(|at| rows[at].id)
            }),
        ),
        4 => (
            "FIRST_VALUE(id)".into(),
            frame.text(),
            Box::new(move |rows, at| frame.of(rows, at).first().map(|r| r.id)),
        ),
        5 => (
            "LAST_VALUE(id)".into(),
            frame.text(),
            Box::new(move |rows, at| frame.of(rows, at).last().map(|r| r.id)),
        ),
        6 => {
            let groups = rng.usize(1..9);
            let tile = move |rows: &[Row], at: usize| {
                let (size, larger) = (rows.len() / groups, rows.len() % groups);
                let ends = (0..groups).scan(0, |end, g| {
                    *end += size + usize::from(g < larger);
                    Some(*end)
                });
                Some(ends.take_while(|end| *end <= at).count() as i64 + 1)
            };
            (format!("NTILE({groups})"), String::new(), Box::new(tile))
        }
        _ => {
            let name = ["COUNT", "SUM", "MIN", "MAX"][rng.usize(..4)];
            let expected = move |rows: &[Row], at: usize| aggregate(name, frame.of(rows, at));
            (format!("{name}(x)"), frame.text(), Box::new(expected))
        }
    }
}

/// A call over rows in the order of k alone, among which there are peers.
fn any_call_of_peers(rng: &mut Rng) -> (String, Expected) {
    let first = |rows: &[Row], at: usize| rows.iter().position(|r| r.k == rows[at].k).unwrap_or(0);
    match rng.u8(..4) {
        0 => ("RANK()".into(), Box::new(move |rows, at| Some(first(rows, at) as i64 + 1))),
        1 => {
            let dense = |rows: &[Row], at: usize| {
                let mut keys: Vec<_> = rows[..=at].iter().map(|r| r.k).collect();
                keys.dedup();
                Some(keys.len() as i64)
            };
            ("DENSE_RANK()".into(), Box::new(dense))
        }
        2 => {
            let below = move |rows: &[Row], at: usize| {
                Some((first(rows, at) as f64 / (rows.len() - 1).max(1) as f64 * 1e6).round() as i64)
            };
            ("CAST(ROUND(1e6 * PERCENT_RANK()".into(), Box::new(below))
        }
        _ => {
            let name = ["COUNT", "SUM", "MIN", "MAX"][rng.usize(..4)];
            let upto = move |rows: &[Row], at: usize| {
                let end = rows.iter().rposition(|r| r.k == rows[at].k).unwrap_or(at) + 1;
                aggregate(name, &rows[..end])
            };
            (format!("{name}(x)"), Box::new(upto))
        }
    }
}

/// The expected value of each id.
fn expected(rows: &[Row], partitioned: bool, of: &Expected) -> Vec<(i64, Option<i64>)> {
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(|r| (partitioned.then_some(r.p), r.k, r.id));
    let mut out = Vec::new();
    for part in sorted.chunk_by(|a, b| !partitioned || a.p == b.p) {
        out.extend((0..part.len()).map(|at| (part[at].id, of(part, at))));
    }
    out.sort_by_key(|(id, _)| *id);
    out
}

fn given(instance: &Arc<Instance>, sql: &str) -> Vec<(i64, Option<i64>)> {
    let said = ask(instance, sql);
    let mut rows: Vec<_> = said
        .lines()
        .map(|line| {
            let (id, value) = line.split_once('|').unwrap_or_else(|| panic!("{sql}\n{said}"));
            (id.parse().unwrap_or_else(|_| panic!("{sql}\n{said}")), value.parse().ok())
        })
        .collect();
    rows.sort_by_key(|(id, _)| *id);
    rows
}

#[test]
fn every_window_is_that_of_the_reference() {
    let count = std::env::var("RINGWOOD_WINDOWS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    // The last two have indexes in whose order the rows may come: nothing is sorted then.
    let instances = [open(None), open(Some(1)), open(Some(200 << 10)), open(None), open(Some(1))];
    let mut rows = Vec::new();
    for seed in 0..count {
        let mut rng = Rng::with_seed(seed);
        if seed % 6 == 0 {
            rows = fill(&instances, &mut rng);
            for instance in &instances[3..] {
                let indexes = "create index by_part on t (p, k, id) include (x)
                               create index by_key on t (k, id) include (p, x)";
                assert_eq!(ask(instance, indexes), "");
            }
        }
        let partitioned = rng.u8(..3) > 0;
        let by = if partitioned { "PARTITION BY p " } else { "" };
        let (call, of) = if rng.bool() {
            let (call, frame, of) = any_call(&mut rng);
            (format!("{call} OVER ({by}ORDER BY k, id {frame})"), of)
        } else {
            let (call, of) = any_call_of_peers(&mut rng);
            let close = if call.starts_with("CAST") { ", 0) AS int)" } else { "" };
            (format!("{call} OVER ({by}ORDER BY k){close}"), of)
        };
        let sql = format!("select id, {call} from t");
        let wanted = expected(&rows, partitioned, &of);
        for instance in &instances {
            assert!(given(instance, &sql) == wanted, "seed {seed}: {sql}");
        }
    }
}

#[test]
fn several_windows_stand_beside_each_other() {
    let instances = [open(None), open(Some(1))];
    let mut rng = Rng::with_seed(1);
    let n = std::iter::repeat_with(|| fill(&instances, &mut rng).len())
        .find(|n| *n >= 400)
        .unwrap_or(0);
    let sql = "select top (5) id, row_number() over (order by id desc) a, count(*) over () b,
               row_number() over (order by id) c, sum(1) over (order by id desc rows unbounded preceding) d,
               last_value(id) over (order by id desc rows between current row and unbounded following) e
               from t order by a";
    let said: Vec<String> = instances.iter().map(|i| ask(i, sql)).collect();
    let wanted: Vec<String> =
        (1..=5).map(|a| format!("{}|{a}|{n}|{}|{a}|0", n - a, n - a + 1)).collect();
    assert_eq!(said[0].lines().collect::<Vec<_>>(), wanted);
    assert_eq!(said[0], said[1]);
}
