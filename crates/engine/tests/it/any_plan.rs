//! The same query under any plan gives the same rows: queries by a generator, each under the plan
//! that the search chooses and under plans that are chosen at random among all that are possible
//! (USE HINT ('RINGWOOD_ANY_PLAN_n'): join orders with products, every join operator, every way to
//! read a table, rewrites left out), with memory for everything and with next to none. And: a
//! condition, its negation and its being unknown divide the rows of a query without it.
//!
//! `RINGWOOD_QUERIES` says how many queries (300 without it), `RINGWOOD_SEED` where to begin.

use crate::support::text::Bench;
use fastrand::Rng;

const PLANS: u64 = 3;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// The same data in an instance with memory for everything, and in one with next to none for
/// queries: each sort, hash and window goes to disk.
fn benches() -> [Bench; 2] {
    let (mut roomy, mut tiny) =
        (Bench::new(), Bench::with(|options| options.operator_bytes = Some(1)));
    fill(&mut roomy);
    fill(&mut tiny);
    [roomy, tiny]
}

/// Small tables: a product of four of them is still quick. NULLs, duplicates and values without a
/// partner everywhere.
fn fill(b: &mut Bench) {
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE a (id int PRIMARY KEY, x int, s varchar(10), d decimal(9, 2))
         CREATE TABLE b (id int PRIMARY KEY, x int, y smallint, s nvarchar(10))
         CREATE TABLE c (x int, id int, y bigint, d float, PRIMARY KEY (x, id))
         CREATE TABLE h (x int, y int, s char(3))
         CREATE INDEX b_x ON b (x) INCLUDE (y)
         CREATE INDEX a_s ON a (s)
         CREATE INDEX c_y ON c (y, id)
         CREATE INDEX h_y ON h (y)
         DECLARE @i int = 0
         WHILE @i < 40 BEGIN
             INSERT a VALUES (@i, NULLIF(@i % 9, 4), NULLIF(CONCAT(CHAR(97 + @i % 4), @i % 3), 'b1'), @i % 7 - 2.5)
             IF @i % 2 = 0 INSERT b VALUES (@i, NULLIF(@i % 12, 6), @i % 5, NULLIF(CONCAT(CHAR(65 + @i % 5), @i % 3), N'A0'))
             INSERT c VALUES (@i % 8, @i, NULLIF(@i % 6, 2), @i / 4.0)
             IF @i % 3 = 0 INSERT h VALUES (NULLIF(@i % 10, 3), @i % 4, CHAR(97 + @i % 3))
             SET @i += 1
         END",
    );
}

const TABLES: [(&str, &[&str], &[&str]); 4] = [
    ("a", &["id", "x"], &["s"]),
    ("b", &["id", "x", "y"], &["s"]),
    ("c", &["id", "x", "y"], &[]),
    ("h", &["x", "y"], &["s"]),
];

/// A table of the query, by its alias.
#[derive(Clone)]
struct Source {
    alias: String,
    table: usize,
}

struct Generator {
    rng: Rng,
    aliases: u32,
}

impl Generator {
    fn source(&mut self) -> Source {
        self.aliases += 1;
        Source { alias: format!("t{}", self.aliases), table: self.rng.usize(..TABLES.len()) }
    }

    fn number_of(&mut self, from: &[Source]) -> String {
        let source = &from[self.rng.usize(..from.len())];
        let columns = TABLES[source.table].1;
        format!("{}.{}", source.alias, columns[self.rng.usize(..columns.len())])
    }

    fn text_of(&mut self, from: &[Source]) -> Option<String> {
        let with: Vec<&Source> = from.iter().filter(|s| !TABLES[s.table].2.is_empty()).collect();
        let source = *with.get(self.rng.usize(..with.len().max(1)))?;
        Some(format!("{}.{}", source.alias, TABLES[source.table].2[0]))
    }

    fn operator(&mut self) -> &'static str {
        ["=", "=", "=", "<", "<=", ">", ">=", "<>"][self.rng.usize(..8)]
    }

    fn constant(&mut self) -> String {
        self.rng.i32(-1..12).to_string()
    }

    fn list(&mut self) -> String {
        // Now and then so many that they are looked up, or are more ranges than one seek has of
        // several lists.
        let count =
            if self.rng.u8(..8) == 0 { self.rng.usize(9..60) } else { self.rng.usize(1..5) };
        let values: Vec<String> = (0..count)
            .map(|_| if self.rng.u8(..8) == 0 { "NULL".into() } else { self.constant() })
            .collect();
        values.join(", ")
    }

    /// A condition over these sources; `depth`: how deep it may nest.
    fn condition(&mut self, from: &[Source], depth: u32) -> String {
        let kind = self.rng.u8(..if depth == 0 { 9 } else { 22 });
        match kind {
            0..=2 => format!("{} {} {}", self.number_of(from), self.operator(), self.constant()),
            3 => format!("{} {} {}", self.number_of(from), self.operator(), self.number_of(from)),
            4 => format!("{} IS {}NULL", self.number_of(from), ["", "NOT "][self.rng.usize(..2)]),
            5 => format!(
                "{} {}IN ({})",
                self.number_of(from),
                ["", "", "NOT "][self.rng.usize(..3)],
                self.list()
            ),
            6 => format!(
                "{} BETWEEN {} AND {}",
                self.number_of(from),
                self.constant(),
                self.constant()
            ),
            7 | 8 => match self.text_of(from) {
                Some(text) => {
                    let pattern =
                        ["a%", "b1", "%1", "[ac]%", "A_", "c %", "_0%"][self.rng.usize(..7)];
                    format!("{text} {}LIKE '{pattern}'", ["", "", "NOT "][self.rng.usize(..3)])
                }
                None => "1 = 1".into(),
            },
            9 | 10 => {
                let word = ["AND", "OR"][self.rng.usize(..2)];
                format!(
                    "({} {word} {})",
                    self.condition(from, depth - 1),
                    self.condition(from, depth - 1)
                )
            }
            11 => format!("NOT ({})", self.condition(from, depth - 1)),
            12 => {
                let (inner, on) = self.inner(from);
                format!(
                    "{}EXISTS (SELECT * FROM {} WHERE {on})",
                    ["", "NOT "][self.rng.usize(..2)],
                    inner
                )
            }
            13 => {
                let own = self.source();
                let column = self.number_of(std::slice::from_ref(&own));
                let (name, outer) = (TABLES[own.table].0, self.number_of(from));
                let mut all = from.to_vec();
                all.push(own.clone());
                let condition = self.condition(&all, 0);
                let not = ["", "", "NOT "][self.rng.usize(..3)];
                format!(
                    "{outer} {not}IN (SELECT {column} FROM {name} {} WHERE {condition})",
                    own.alias
                )
            }
            // What the ranges of one seek, or seeks of several indexes, may answer.
            14 | 15 => {
                let one = std::slice::from_ref(&from[self.rng.usize(..from.len())]).to_vec();
                let cases: Vec<String> =
                    (0..self.rng.usize(2..5)).map(|_| self.sought(&one)).collect();
                format!("({})", cases.join(" OR "))
            }
            16 => {
                let own = self.source();
                let column = self.number_of(std::slice::from_ref(&own));
                let condition = self.condition(std::slice::from_ref(&own), 0);
                let aggregate = ["MIN", "MAX", "COUNT"][self.rng.usize(..3)];
                let (outer, operator, name) =
                    (self.number_of(from), self.operator(), TABLES[own.table].0);
                format!(
                    "{outer} {operator} (SELECT {aggregate}({column}) FROM {name} {} WHERE {condition})",
                    own.alias
                )
            }
            17 => {
                let (value, outer, operator) =
                    (self.value(from), self.number_of(from), self.operator());
                format!("{outer} {operator} {value}")
            }
            18 => {
                let (value, operator, constant) =
                    (self.value(from), self.operator(), self.constant());
                format!("ISNULL({value}, 1) {operator} {constant}")
            }
            19 => {
                let own = self.source();
                let column = self.number_of(std::slice::from_ref(&own));
                let (inner, on) = self.inner_of(own, from);
                let not = ["", "", "NOT "][self.rng.usize(..3)];
                format!(
                    "{} {not}IN (SELECT {column} FROM {inner} WHERE {on})",
                    self.number_of(from)
                )
            }
            20 => self.in_groups(from),
            _ => self.terms(from),
        }
    }

    /// An aggregate of the rows that belong to a row.
    fn value(&mut self, from: &[Source]) -> String {
        let own = self.source();
        let column = self.number_of(std::slice::from_ref(&own));
        let aggregate = ["MIN(", "MAX(", "COUNT(", "SUM(", "COUNT(DISTINCT "][self.rng.usize(..5)];
        let (inner, on) = self.inner_of(own, from);
        format!("(SELECT {aggregate}{column}) FROM {inner} WHERE {on})")
    }

    /// Whether there is a group of a derived table.
    fn in_groups(&mut self, from: &[Source]) -> String {
        let own = self.source();
        let key = self.number_of(std::slice::from_ref(&own));
        let (name, outer) = (TABLES[own.table].0, self.number_of(from));
        let (not, least) = (["", "NOT "][self.rng.usize(..2)], self.rng.u8(..4));
        self.aliases += 1;
        let (alias, group) = (&own.alias, format!("g{}", self.aliases));
        format!(
            "{not}EXISTS (SELECT 1 FROM (SELECT {key} AS k, COUNT(*) AS n FROM {name} {alias} GROUP BY {key}) {group} \
             WHERE {group}.k = {outer} AND {group}.n > {least})"
        )
    }

    /// A list that is written term by term.
    fn terms(&mut self, from: &[Source]) -> String {
        let (column, count) = (self.number_of(from), self.rng.i32(30..40));
        let (operator, word) = [("=", " OR "), ("<>", " AND ")][self.rng.usize(..2)];
        let first = self.rng.i32(-40..6);
        let terms: Vec<String> =
            (first..first + count).map(|n| format!("{column} {operator} {n}")).collect();
        format!("({})", terms.join(word))
    }

    /// A condition of one table that an index may answer, or two that hold together.
    fn sought(&mut self, one: &[Source]) -> String {
        let (column, other) = (self.number_of(one), self.number_of(one));
        let (low, high) = (self.rng.i32(-1..10), self.rng.i32(0..6));
        match self.rng.u8(..6) {
            0 | 1 => format!("{column} = {low}"),
            2 => format!("{column} BETWEEN {low} AND {}", low + high),
            3 => format!("{column} IN ({})", self.list()),
            4 => format!("({column} = {low} AND {other} {} {high})", self.operator()),
            _ => format!("({column} > {low} AND {column} < {})", low + high),
        }
    }

    fn inner(&mut self, outer: &[Source]) -> (String, String) {
        let own = self.source();
        self.inner_of(own, outer)
    }

    /// A table and a condition that links it with a row around it.
    fn inner_of(&mut self, own: Source, outer: &[Source]) -> (String, String) {
        let link =
            format!("{} = {}", self.number_of(std::slice::from_ref(&own)), self.number_of(outer));
        let mut all = outer.to_vec();
        all.push(own.clone());
        let more = if self.rng.bool() {
            format!(" AND {}", self.condition(&all, 0))
        } else {
            String::new()
        };
        (format!("{} {}", TABLES[own.table].0, own.alias), format!("{link}{more}"))
    }

    /// A source as FROM has it: a table, or its rows with the number of those of the same x.
    fn written(&mut self, source: &Source) -> String {
        let (table, alias) = (TABLES[source.table].0, &source.alias);
        match self.rng.u8(..6) {
            0 => format!("(SELECT *, COUNT(*) OVER (PARTITION BY x) AS same FROM {table}) {alias}"),
            _ => format!("{table} {alias}"),
        }
    }

    /// An APPLY of rows that need nothing of those to its left, or of what is computed of those
    /// that belong to one.
    fn apply(&mut self, from: &[Source]) -> (String, Source) {
        let own = self.source();
        let (name, numbers, texts) = TABLES[own.table];
        let kind = ["CROSS", "OUTER"][self.rng.usize(..2)];
        let (columns, condition) = if self.rng.bool() {
            ("*".to_owned(), self.condition(std::slice::from_ref(&own), 0))
        } else {
            let aggregate = |column: &&str| match self.rng.u8(..3) {
                0 => format!("COUNT({column}) AS {column}"),
                1 => format!("MAX({column}) + 1 AS {column}"),
                _ => format!("MIN({column}) AS {column}"),
            };
            let mut columns: Vec<String> = numbers.iter().map(aggregate).collect();
            columns.extend(texts.iter().map(|column| format!("MAX({column}) AS {column}")));
            (columns.join(", "), self.inner_of(own.clone(), from).1)
        };
        let text = format!(
            " {kind} APPLY (SELECT {columns} FROM {name} {0} WHERE {condition}) {0}",
            own.alias
        );
        (text, own)
    }

    /// FROM and the sources in sight.
    fn from(&mut self) -> (String, Vec<Source>) {
        let first = self.source();
        let mut text = self.written(&first);
        let mut from = vec![first];
        for _ in 0..[0, 1, 1, 2, 2, 3][self.rng.usize(..6)] {
            if from.len() < 3 && self.rng.u8(..12) == 0 {
                let (apply, own) = self.apply(&from);
                text.push_str(&apply);
                from.push(own);
                continue;
            }
            let next = self.source();
            let kind =
                ["JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
                    [self.rng.usize(..7)];
            let link = format!(
                "{} = {}",
                self.number_of(std::slice::from_ref(&next)),
                self.number_of(&from)
            );
            let written = self.written(&next);
            text.push_str(&format!(" {kind} {written} ON {link}"));
            from.push(next);
            if self.rng.u8(..3) == 0 {
                let more = self.condition(&from, 0);
                text.push_str(&format!(" AND {more}"));
            }
        }
        (text, from)
    }

    /// A query without its WHERE: what comes before, the sources, what comes after.
    fn query(&mut self) -> (String, Vec<Source>, String) {
        let (text, from) = self.from();
        let columns: Vec<String> =
            (0..self.rng.usize(1..4)).map(|_| self.number_of(&from)).collect();
        let list = columns.join(", ");
        match self.rng.u8(..5) {
            0 => {
                let aggregate =
                    ["SUM", "MIN", "MAX", "COUNT", "COUNT(DISTINCT"][self.rng.usize(..5)];
                let open = if aggregate.contains('(') { " " } else { "(" };
                let value = self.number_of(&from);
                let having = if self.rng.bool() { " HAVING COUNT(*) > 1" } else { "" };
                (
                    format!("SELECT {list}, COUNT(*), {aggregate}{open}{value}) FROM {text}"),
                    from,
                    format!(" GROUP BY {list}{having}"),
                )
            }
            1 => (format!("SELECT DISTINCT {list} FROM {text}"), from, String::new()),
            2 => {
                let value = self.number_of(&from);
                (
                    format!("SELECT COUNT(*), MIN({value}), MAX({value}) FROM {text}"),
                    from,
                    String::new(),
                )
            }
            3 => {
                let value = self.value(&from);
                (format!("SELECT {list}, {value} FROM {text}"), from, String::new())
            }
            _ => (format!("SELECT {list} FROM {text}"), from, String::new()),
        }
    }
}

fn rows(b: &mut Bench, sql: &str) -> Vec<String> {
    let said = b.run(sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
    let mut rows: Vec<String> = said.trim().lines().map(str::to_owned).collect();
    rows.sort();
    rows
}

/// The operators, without the text of the query.
fn plan_of(b: &mut Bench, sql: &str) -> Vec<String> {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown.lines().filter(|line| line.contains("|--")).map(str::to_owned).collect()
}

#[test]
fn any_plan_gives_the_same_rows() {
    let [mut b, mut tiny] = benches();
    let (count, first) = (number("RINGWOOD_QUERIES", 300), number("RINGWOOD_SEED", 1));
    let (mut failed, mut others, before) = (Vec::new(), 0, tiny.io_count());
    for seed in first..first + count {
        let mut g = Generator { rng: Rng::with_seed(seed), aliases: 0 };
        let (head, from, tail) = g.query();
        let condition = g.condition(&from, 2);
        let sql = format!("{head} WHERE {condition}{tail}");
        let wanted = rows(&mut b, &sql);
        let chosen = plan_of(&mut b, &sql);
        for plan in 0..PLANS {
            let hinted =
                format!("{sql} OPTION (USE HINT ('RINGWOOD_ANY_PLAN_{}'))", seed * PLANS + plan);
            others += u64::from(plan_of(&mut b, &hinted) != chosen);
            let bench = if plan == 0 { &mut b } else { &mut tiny };
            let given = rows(bench, &hinted);
            if given != wanted {
                failed.push(format!(
                    "seed {seed}: {hinted}\n  {} rows, not {}",
                    given.len(),
                    wanted.len()
                ));
                break;
            }
        }
    }
    assert!(failed.is_empty(), "{} of {count} queries:\n{}", failed.len(), failed.join("\n"));
    assert!(tiny.io_count() > before + count * PLANS, "queries with no memory did not go to disk");
    assert!(others > count * PLANS / 2, "only {others} of {} plans were other ones", count * PLANS);
}

#[test]
fn a_condition_divides_the_rows_in_three() {
    let [_, mut b] = benches();
    let (count, first) = (number("RINGWOOD_QUERIES", 300), number("RINGWOOD_SEED", 1));
    for seed in first..first + count {
        let mut g = Generator { rng: Rng::with_seed(seed + 1_000_000), aliases: 0 };
        let (text, from) = g.from();
        let column = g.number_of(&from);
        let condition = g.condition(&from, 2);
        let all = rows(&mut b, &format!("SELECT {column} FROM {text}"));
        let mut parts = rows(&mut b, &format!("SELECT {column} FROM {text} WHERE {condition}"));
        parts.extend(rows(&mut b, &format!("SELECT {column} FROM {text} WHERE NOT ({condition})")));
        let unknown =
            format!("CASE WHEN {condition} THEN 1 WHEN NOT ({condition}) THEN 0 END IS NULL");
        parts.extend(rows(&mut b, &format!("SELECT {column} FROM {text} WHERE {unknown}")));
        parts.sort();
        assert_eq!(parts, all, "seed {seed}: {text} with {condition}");
    }
}
