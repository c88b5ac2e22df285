//! ROLLUP, CUBE, GROUPING SETS, GROUPING and GROUPING_ID: what single cases give, and for random
//! ones the same rows as the GROUP BYs that they stand for, one after another.

use crate::support::text::Bench;

fn sales() -> Bench {
    let mut b = Bench::new();
    b.check(
        "create table s (region varchar(10), product varchar(10), year int, amount int)
         insert s values ('east', 'pen', 2001, 1), ('east', 'ink', 2001, 2), ('west', 'pen', 2001, 4),
             ('west', 'pen', 2002, 8), (null, 'ink', 2002, 16)",
        "(5)",
    );
    b
}

#[test]
fn rollup() {
    let b = &mut sales();
    let wanted = "NULL|ink|16|0|0\nNULL|NULL|16|0|1\neast|ink|2|0|0\neast|pen|1|0|0\neast|NULL|3|0|1\nwest|pen|12|0|0\n\
                  west|NULL|12|0|1\nNULL|NULL|31|1|3";
    let order = "order by grouping(region), region, grouping(product), product";
    let asked = "region, product, sum(amount), grouping(region), grouping_id(region, product)";
    b.check(&format!("select {asked} from s group by rollup (region, product) {order}"), wanted);
    b.check(&format!("select {asked} from s group by region, product with rollup {order}"), wanted);
    let sets = "grouping sets ((region, product), region, ())";
    b.check(&format!("select {asked} from s group by {sets} {order}"), wanted);
    // Several columns as one key; a key in front of all.
    b.check(
        "select region, product, count(*) from s group by rollup ((region, product)) order by 3, 1, 2",
        "NULL|ink|1\neast|ink|1\neast|pen|1\nwest|pen|2\nNULL|NULL|5",
    );
    b.check(
        "select year, product, count(*) n from s group by year, rollup (product) order by year, n, product",
        "2001|ink|1\n2001|pen|2\n2001|NULL|3\n2002|ink|1\n2002|pen|1\n2002|NULL|2",
    );
}

#[test]
fn cube_and_sets() {
    let b = &mut sales();
    b.check(
        "select product, year, sum(amount), grouping_id(product, year) g from s group by cube (product, year) order by g, 1, 2",
        "ink|2001|2|0\nink|2002|16|0\npen|2001|5|0\npen|2002|8|0\nink|NULL|18|1\npen|NULL|13|1\nNULL|2001|7|2\n\
         NULL|2002|24|2\nNULL|NULL|31|3",
    );
    b.check(
        "select count(*) from (select product p from s group by product, year with cube) as d",
        "9",
    );
    // Equal sets stay apart; HAVING asks for the set.
    b.check(
        "select product, count(*) from s group by grouping sets (product, product) order by 1",
        "ink|2\nink|2\npen|3\npen|3",
    );
    b.check(
        "select year, sum(amount) from s group by rollup (year) having grouping(year) = 0 order by 1",
        "2001|7\n2002|24",
    );
    b.check("select sum(amount) from s group by grouping sets ((), ())", "31\n31");
    b.check("select sum(amount) from s group by ()", "31");
    // Products of lists, nested lists, expressions as keys, what aggregates read of a key.
    b.check(
        "select count(*) from (select 1 a from s group by rollup (region), cube (product, year)) as d",
        "25",
    );
    b.check(
        "select year % 2, max(year), count(distinct product) from s group by grouping sets (rollup (year % 2)) order by 1, 2",
        "NULL|2002|2\n0|2002|2\n1|2001|2",
    );
}

#[test]
fn of_no_rows() {
    let b = &mut sales();
    b.check("select region, count(*), sum(amount), grouping(region) from s where amount > 99 group by rollup (region)", "NULL|0|NULL|1");
    b.check("select count(*) from s where 1 = 0 group by grouping sets ((), (year), ())", "0\n0");
    b.check(
        "select year, count(*) from s where amount > 99 group by grouping sets (year, (year, product))",
        "",
    );
    b.check(
        "select year, count(*) from s where amount > 99 group by cube (year) having grouping(year) = 0",
        "",
    );
}

#[test]
fn errors() {
    let b = &mut sales();
    let fails = |b: &mut Bench, sql: &str, number: i32| {
        let said = b.run(sql);
        assert!(said.starts_with(&format!("Msg {number}:")), "{sql}: {said}");
    };
    fails(b, "select grouping(amount) from s group by rollup (year)", 8161);
    fails(b, "select grouping_id(year, region) from s group by year", 8161);
    fails(b, "select amount from s group by cube (year)", 8120);
    fails(b, "select 1 from s group by rollup (year), year with cube", 10702);
    let many: Vec<String> = (1..=13).map(|n| format!("amount + {n}")).collect();
    fails(b, &format!("select 1 from s group by cube ({})", many.join(", ")), 10703);
    let many: Vec<String> = (1..=33).map(|n| format!("amount + {n}")).collect();
    fails(b, &format!("select 1 from s group by rollup ({})", many.join(", ")), 10706);
}

/// Sorted lines of a query.
fn sorted(b: &mut Bench, sql: &str) -> Vec<String> {
    let said = b.run(sql);
    assert!(!said.contains("Msg "), "{sql}: {said}");
    let mut lines: Vec<String> = said.lines().map(str::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn as_groups_one_after_another() {
    let mut rng = fastrand::Rng::with_seed(11);
    let b = &mut Bench::new();
    b.check("create table r (a int, b varchar(5), c int not null, v int)", "");
    for _ in 0..60 {
        b.check("set nocount on delete r", "");
        let null = |rng: &mut fastrand::Rng, text: String| {
            if rng.u8(0..6) == 0 { "null".to_string() } else { text }
        };
        let rows: Vec<String> = (0..rng.usize(1..60))
            .map(|_| {
                let (a, v) = (rng.u8(0..4).to_string(), rng.u8(0..100).to_string());
                let word = format!("'{}'", ["x", "y", "z"][rng.usize(0..3)]);
                let c = rng.u8(0..3);
                format!(
                    "({}, {}, {c}, {})",
                    null(&mut rng, a),
                    null(&mut rng, word),
                    null(&mut rng, v)
                )
            })
            .collect();
        b.check(&format!("insert r values {}", rows.join(", ")), "");
        let names = ["a", "b", "c"];
        let sets: Vec<Vec<&str>> = (0..rng.usize(2..6))
            .map(|_| names.iter().copied().filter(|_| rng.bool()).collect())
            .collect();
        let aggregates = "count(*), sum(v), min(b), count(distinct c)";
        let list: Vec<String> = sets.iter().map(|set| format!("({})", set.join(", "))).collect();
        let shown: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| sets.iter().any(|set| set.contains(name)))
            .collect();
        let whole = match shown.is_empty() {
            true => {
                format!("select {aggregates} from r group by grouping sets ({})", list.join(", "))
            }
            false => {
                let keys = shown.join(", ");
                format!(
                    "select {keys}, grouping_id({keys}), {aggregates} from r group by grouping sets ({})",
                    list.join(", ")
                )
            }
        };
        let single = |set: &Vec<&str>| {
            let keys: Vec<String> = shown
                .iter()
                .map(|name| if set.contains(name) { name.to_string() } else { "null".to_string() })
                .collect();
            let bits = shown.iter().fold(0, |bits, name| bits * 2 + i32::from(!set.contains(name)));
            let lead = if keys.is_empty() {
                String::new()
            } else {
                format!("{}, {bits}, ", keys.join(", "))
            };
            let group = if set.is_empty() {
                String::new()
            } else {
                format!(" group by {}", set.join(", "))
            };
            format!("select {lead}{aggregates} from r{group}")
        };
        let parts: Vec<String> = sets.iter().map(single).collect();
        assert_eq!(sorted(b, &whole), sorted(b, &parts.join(" union all ")), "{whole}");
    }
}

#[test]
fn columns_of_two_tables_with_one_name_are_two_keys() {
    let mut b = Bench::new();
    b.run("CREATE TABLE a (x int) CREATE TABLE b (x int) INSERT a VALUES (1), (2) INSERT b VALUES (5), (6)");
    b.check(
        "SELECT a.x, b.x, COUNT(*) FROM a CROSS JOIN b GROUP BY a.x, b.x ORDER BY 1, 2",
        "1|5|1\n1|6|1\n2|5|1\n2|6|1",
    );
    b.check(
        "SELECT b.x + 1, a.x + 1 FROM a CROSS JOIN b GROUP BY a.x + 1, b.x + 1 ORDER BY 1, 2",
        "6|2\n6|3\n7|2\n7|3",
    );
    b.check(
        "SELECT COUNT(*) FROM (SELECT a.x FROM a CROSS JOIN b GROUP BY ROLLUP (a.x, b.x), a.x) d",
        "8",
    );
}
