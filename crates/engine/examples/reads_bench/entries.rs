//! Entries of an index over three ints of a heap, beside the same with an included column: 43 and
//! 74 bytes. 74 is what an entry has that keeps its columns in its key and once more as a row.

use std::time::Instant;

use ringwood_engine::Session;

use crate::Wanted;
use crate::measure::{Done, Rows, Turns, in_turns};
use crate::statements::{figure, rows, run};

/// The tables, and what their index includes.
const TABLES: [(&str, &str); 2] = [("narrow", ""), ("wide", " INCLUDE (pad)")];
/// Rows of a statement.
const BATCH: u32 = 10_000;

/// Bytes of an entry, pages of a million entries, percent of the pages that is used.
type Shape = [f64; 3];

fn shape(session: &mut Session, table: &str, count: u32) -> Done<Shape> {
    let sql = format!(
        "SELECT avg_record_size_in_bytes, page_count, avg_page_space_used_in_percent
         FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('{table}'), NULL, NULL, 'DETAILED')
         WHERE index_type_desc = 'NONCLUSTERED INDEX' AND index_level = 0"
    );
    let found = rows(session, &sql)?;
    let [row] = &found[..] else {
        return Err(format!("{table} has {} indexes", found.len()).into());
    };
    let of = |at: usize| row.get(at).map_or(f64::NAN, figure);
    Ok([of(0), of(1) * 1e6 / f64::from(count), of(2)])
}

fn shapes(session: &mut Session, count: u32) -> Done<[Shape; 2]> {
    Ok([shape(session, TABLES[0].0, count)?, shape(session, TABLES[1].0, count)?])
}

/// Microseconds of a row.
fn timed(session: &mut Session, sql: &str, count: u32) -> Done<f64> {
    let begin = Instant::now();
    run(session, sql)?;
    Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(count))
}

/// Both tables are emptied and filled again in each round, by keys made of the source's column
/// `key`.
fn filled(session: &mut Session, key: &str, wanted: &Wanted) -> Done<Turns<2>> {
    in_turns::<2>(wanted.rounds, |way| {
        let table = TABLES[way].0;
        run(session, &format!("TRUNCATE TABLE {table}"))?;
        let begin = Instant::now();
        for from in (0..wanted.rows).step_by(BATCH as usize) {
            let to = (from + BATCH).min(wanted.rows);
            let insert = format!(
                "INSERT {table} SELECT {key} / 100, {key} / 10 % 10, {key} % 10, 'included' FROM source
                 WHERE n >= {from} AND n < {to}"
            );
            run(session, &insert)?;
        }
        Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(wanted.rows))
    })
}

/// What is printed of an index that was filled in some way.
struct Printed {
    rows: Rows,
}

impl Printed {
    fn pair(&mut self, filled: &str, what: &str, [narrow, wide]: [f64; 2]) {
        self.rows.row(&[filled, what], &[narrow, wide, wide / narrow]);
    }

    fn turns(&mut self, filled: &str, what: &str, turns: &Turns<2>) {
        self.rows.row(&[filled, what], &[turns.median(0), turns.median(1), turns.ratio(1, 0)]);
    }

    fn all(&mut self, filled: &str, turns: &Turns<2>, [narrow, wide]: [Shape; 2]) {
        self.turns(filled, "us a row", turns);
        self.pair(filled, "bytes of an entry", [narrow[0], wide[0]]);
        self.pair(filled, "pages of a million rows", [narrow[1], wide[1]]);
        self.pair(filled, "percent of pages used", [narrow[2], wide[2]]);
    }
}

/// Prints what there is to say of entries.
pub fn measure(session: &mut Session, wanted: &Wanted) -> Done<()> {
    for (table, included) in TABLES {
        let made = format!(
            "CREATE TABLE {table} (a int NOT NULL, b int NOT NULL, c int NOT NULL, pad char(30) NOT NULL)
             CREATE INDEX i ON {table} (a, b, c){included}"
        );
        run(session, &made)?;
    }
    // k: without an order, and the same each time.
    let source = format!(
        "CREATE TABLE source (n int PRIMARY KEY, k int NOT NULL)
         INSERT source SELECT value, CAST(SUBSTRING(HASHBYTES('MD5', CAST(value AS binary(4))), 1, 3) AS int)
         FROM GENERATE_SERIES(0, {} - 1)",
        wanted.rows
    );
    run(session, &source)?;
    let labels = &[("filled by", 24), ("figure", 24)];
    let figures = &[("43 bytes", 4), ("74 bytes", 4), ("ratio", 3)];
    let mut printed = Printed { rows: Rows::new(wanted.json, "entries", labels, figures) };
    for (filled_by, key) in [("INSERT, keys that ascend", "n"), ("INSERT, random keys", "k")] {
        let turns = filled(session, key, wanted)?;
        printed.all(filled_by, &turns, shapes(session, wanted.rows)?);
    }
    let built = in_turns::<2>(wanted.rounds, |way| {
        let (table, included) = TABLES[way];
        run(session, &format!("DROP INDEX i ON {table}"))?;
        timed(session, &format!("CREATE INDEX i ON {table} (a, b, c){included}"), wanted.rows)
    })?;
    printed.all("CREATE INDEX", &built, shapes(session, wanted.rows)?);
    let scanned = in_turns::<2>(wanted.rounds, |way| {
        let table = TABLES[way].0;
        let sql =
            format!("SELECT COUNT(*), SUM(c) FROM {table} WITH (INDEX(i), FORCESCAN) WHERE b >= 0");
        timed(session, &sql, wanted.rows)
    })?;
    printed.turns("CREATE INDEX", "us a row of a scan", &scanned);
    run(session, "DROP TABLE narrow, wide, source")
}
