//! What seeks past the first columns of an index lock under SERIALIZABLE: no row comes into what
//! was read, also of a value that was not there, and nobody is kept out of the rest.

use super::{bench, beside, plan, run, same, scans};
use crate::support::text::Bench;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const TIMEOUT: &str = "Msg 1222: Lock request time out period exceeded.";

fn keys_locked(b: &mut Bench) -> usize {
    let locks = b.run("SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'KEY'");
    locks.trim().parse().expect("a number")
}

/// MAX and MIN of the column that is passed over end with the first value that has a row.
#[test]
fn the_last_number_of_an_item_is_the_first_that_is_found() {
    let mut b = bench();
    for (who, item, last) in [(141, 7, "2"), (159, 7, "38"), (141, 8, "NULL")] {
        let sql = format!("SELECT MAX(nr) FROM bid {{}} WHERE item = {item} AND who = {who}");
        let shown = plan(&mut b, &sql.replace("{}", ""));
        let parts = ["Top", "(EACH [nr], [item], [who])", "ORDERED BACKWARD"];
        assert!(parts.iter().all(|part| shown.contains(part)), "{shown}");
        assert_eq!(b.run(&sql.replace("{}", "")).trim(), last);
        same(&mut b, &sql);
        same(&mut b, &sql.replace("MAX", "MIN"));
    }
    let mut locks = |who: u32| {
        let read = "SELECT MAX(nr) FROM bid WHERE item = 7 AND who =";
        b.run(&format!("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE BEGIN TRAN {read} {who}"));
        let locks = keys_locked(&mut b);
        b.run("COMMIT");
        locks
    };
    // Nineteen values: of each where it begins and where its rows would be.
    let (all, first) = (locks(141), locks(159));
    assert!((19..60).contains(&all), "{all} locks");
    assert!((1..6).contains(&first), "{first} locks");
}

#[test]
fn no_value_comes_into_what_was_passed_by() {
    let bids = [
        ("4, 7, 999, 0, 0", true),
        ("5, 7, 0, 0, 0", true),
        ("-1, 7, 0, 0, 0", true),
        ("39, 7, 0, 0, 0", true),
        ("38, 7, 999, 0, 0", true),
        ("0, 7, 0, 0, 0", true),
        ("4, 0, 999, 0, 0", false),
        ("4, 500, 999, 0, 0", false),
        ("38, 500, 0, 0, 0", false),
    ];
    let entries = [
        ("0, 3, 7, 0, 0", true),
        ("0, NULL, 7, 0, 0", true),
        ("0, 10, 7, 0, 0", true),
        ("0, -5, 7, 0, 0", true),
        ("0, 3, 500, 0, 0", false),
        ("0, NULL, 500, 0, 0", false),
    ];
    let pairs = [
        ("9, 3, 7, 0, 0", true),
        ("-1, 3, 7, 0, 0", true),
        ("1, -5, 7, 0, 0", true),
        ("1, 50, 7, 0, 0", true),
        ("1, NULL, 7, 0, 0", true),
        ("2, 3, 7, 0, 0", true),
        ("1, 3, 500, 0, 0", false),
        ("2, NULL, 500, 0, 0", false),
    ];
    // Values above those that have the item are searched for it, those below are not.
    let latest = [
        ("39, 7, 0, 0, 0", true),
        ("39, 7, 141, 0, 0", true),
        ("21, 7, 141, 0, 0", true),
        ("38, 7, 141, 0, 0", true),
        ("1, 7, 141, 0, 0", false),
        ("0, 7, 141, 0, 0", false),
        ("38, 500, 0, 0, 0", false),
    ];
    let backward = "ORDER BY nr DESC, item DESC, who DESC";
    let against = "ORDER BY kind, nr DESC, item DESC";
    for (read, rows, tried) in [
        ("SELECT nr FROM bid WITH (HOLDLOCK) WHERE item = 7".to_owned(), 20, &bids[..]),
        (format!("SELECT nr FROM bid WITH (HOLDLOCK) WHERE item = 7 {backward}"), 20, &bids[..]),
        ("SELECT nr FROM bid WITH (UPDLOCK, HOLDLOCK) WHERE item = 7".to_owned(), 20, &bids[..]),
        ("SELECT w FROM m WITH (HOLDLOCK) WHERE item = 7".to_owned(), 21, &entries[..]),
        ("SELECT v FROM m WITH (HOLDLOCK) WHERE item = 7".to_owned(), 21, &entries[..]),
        ("SELECT nr FROM n WITH (HOLDLOCK) WHERE item = 7".to_owned(), 21, &pairs[..]),
        ("SELECT v FROM n WITH (HOLDLOCK) WHERE item = 7".to_owned(), 21, &pairs[..]),
        (format!("SELECT nr FROM n WITH (HOLDLOCK) WHERE item = 7 {against}"), 21, &pairs[..]),
        (
            "SELECT MAX(nr) FROM bid WITH (HOLDLOCK) WHERE item = 7 AND who = 141".to_owned(),
            1,
            &latest[..],
        ),
    ] {
        let mut b = bench();
        let table =
            ["m", "n", "bid"].into_iter().find(|table| read.contains(&format!(" {table} ")));
        let table = table.expect("one of them");
        let mut other = beside(&b);
        run(&mut other, "SET LOCK_TIMEOUT 30");
        let shown = plan(&mut b, &read);
        assert!(shown.contains("EACH [nr], [item]"), "{read}: {shown}");
        let found = b.run(&format!("BEGIN TRAN {read}"));
        assert_eq!(found.trim().lines().count(), rows, "{read}: {found}");
        // Of each of at most 21 values where it begins, its rows and where they end.
        let locks = keys_locked(&mut b);
        assert!((15..80).contains(&locks), "{read}: {locks} locks");
        for (row, kept_out) in tried {
            let said =
                run(&mut other, &format!("BEGIN TRAN INSERT {table} VALUES ({row}) ROLLBACK"));
            assert!(!said.contains("Msg ") || said.contains(TIMEOUT), "{read}, {row}: {said}");
            assert_eq!(said.contains(TIMEOUT), *kept_out, "{read}, {row}: {said}");
        }
        if table == "bid" {
            // Rows that do not qualify are others' to change.
            assert_eq!(run(&mut other, "UPDATE bid SET w = 0 WHERE nr = 4 AND item = 500"), "(1)");
        }
        b.run("COMMIT");
    }
}

/// Where the values are too many, some are visited and the others read as they lie: no row comes
/// in on either side of where that begins.
#[test]
fn no_value_comes_into_what_is_read_as_it_lies() {
    for order in ["ORDER BY nr", "ORDER BY nr DESC"] {
        let mut b = Bench::new();
        b.run(
            "SET NOCOUNT ON
             ALTER DATABASE t SET AUTO_UPDATE_STATISTICS OFF
             CREATE TABLE s (nr int NOT NULL, item int NOT NULL, PRIMARY KEY (nr, item))
             ALTER TABLE s SET (LOCK_ESCALATION = DISABLE)
             INSERT s SELECT value % 30 * 2, value / 30 * 2 FROM GENERATE_SERIES(0, 17999)",
        );
        let sql = format!("SELECT nr FROM s {{}} WHERE item = 8 {order}");
        let read = sql.replace("{}", "WITH (HOLDLOCK)");
        let shown = plan(&mut b, &read);
        assert!(shown.contains("(EACH [nr], [item])"), "{shown}");
        // Nothing is known of these: a row each, but for one that has two.
        b.run("INSERT s SELECT value * 2, 9000 FROM GENERATE_SERIES(50, 5049) INSERT s VALUES (9000, 8)");
        let shown = plan(&mut b, &read);
        assert!(shown.contains("(EACH [nr], [item])"), "{shown}");
        same(&mut b, &sql);
        let count = scans(&mut b, &read);
        assert!((500..3_000).contains(&count), "{count} scans");
        let mut other = beside(&b);
        run(&mut other, "SET LOCK_TIMEOUT 30");
        let found = b.run(&format!("BEGIN TRAN {read}"));
        assert_eq!(found.trim().lines().count(), 31, "{found}");
        // What is visited leaves the other items of a value to others.
        let visited = order == "ORDER BY nr";
        for (row, kept_out) in [
            ("-2, 8", true),
            ("3, 8", true),
            ("101, 8", true),
            ("8001, 8", true),
            ("20000, 8", true),
            ("10, 301", !visited),
        ] {
            let said = run(&mut other, &format!("BEGIN TRAN INSERT s VALUES ({row}) ROLLBACK"));
            assert!(!said.contains("Msg ") || said.contains(TIMEOUT), "{order}, {row}: {said}");
            assert_eq!(said.contains(TIMEOUT), kept_out, "{order}, {row}: {said}");
        }
        b.run("COMMIT");
    }
}

/// A change of some rows of few items; numbers come and go.
fn change(rng: &mut fastrand::Rng) -> String {
    let (nr, to, item, who) = (rng.u32(..48), rng.u32(..48), rng.u32(5..10), rng.u32(..600));
    let some = format!("nr = {nr} AND item = {item}");
    match rng.u8(..5) {
        0 | 1 => format!("INSERT bid VALUES ({nr}, {item}, {who}, {who}, 0)"),
        2 => format!("DELETE TOP (1) FROM bid WHERE {some}"),
        3 => format!("UPDATE TOP (1) bid SET nr = {to} WHERE {some}"),
        // There for a moment only.
        _ => {
            format!(
                "BEGIN TRAN INSERT bid VALUES ({nr}, 7, {who}, 5000, 0) DELETE bid WHERE {some} ROLLBACK"
            )
        }
    }
}

/// A transaction that has read so finds the same rows again, whichever way it reads, while others
/// change rows beside it.
#[test]
fn what_was_read_stays_as_it_was() {
    let mut b = bench();
    b.run("ALTER DATABASE t SET AUTO_UPDATE_STATISTICS OFF");
    let list = "SELECT COUNT(*), SUM(v) FROM";
    let forward = format!("{list} bid WITH (HOLDLOCK) WHERE item = 7");
    let rows =
        "SELECT TOP (100000) v FROM bid WITH (HOLDLOCK) WHERE item = 7 ORDER BY nr DESC, item DESC";
    let backward = format!("{list} ({rows}) AS x");
    for sql in [&forward, &backward] {
        let shown = plan(&mut b, sql);
        assert!(shown.contains("(EACH [nr], [item])"), "{shown}");
    }
    // Nobody is in the middle of a change of what is locked.
    let all = format!("{list} bid WITH (NOLOCK, INDEX(0)) WHERE item = 7");
    let over = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|seed| {
                let (mut session, over) = (beside(&b), &over);
                let mut rng = fastrand::Rng::with_seed(seed);
                run(&mut session, "SET XACT_ABORT ON SET NOCOUNT ON");
                scope.spawn(move || {
                    let mut done = 0;
                    while !over.load(Relaxed) {
                        done += u32::from(run(&mut session, &change(&mut rng)).is_empty());
                    }
                    done
                })
            })
            .collect();
        let readers: Vec<_> = [[&forward, &backward], [&backward, &forward]]
            .map(|[first, second]| {
                let mut session = beside(&b);
                let text = format!("BEGIN TRAN {first} {all} {second} COMMIT");
                run(&mut session, "SET DEADLOCK_PRIORITY HIGH");
                scope.spawn(move || {
                    let read = || run(&mut session, &text);
                    let is_wrong = |said: &String| {
                        let lines: Vec<&str> = said.lines().collect();
                        !matches!(lines[..], [one, two, three] if one == two && two == three)
                    };
                    std::iter::repeat_with(read).take(20).filter(is_wrong).collect::<Vec<String>>()
                })
            })
            .into_iter()
            .collect();
        let results: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        over.store(true, Relaxed);
        let wrong: Vec<String> =
            results.into_iter().flat_map(|wrong| wrong.expect("a reader")).collect();
        assert!(wrong.is_empty(), "{} transactions: {:?}", wrong.len(), wrong.first());
        writers.into_iter().map(|writer| writer.join().expect("a writer")).sum::<u32>()
    });
    assert!(done > 0, "nobody has changed anything");
}
