//! PIVOT and UNPIVOT. Expected rows are worked out by hand.

use crate::support::text::Bench;

fn sales() -> Bench {
    let mut b = Bench::new();
    b.run(
        "create table Sales (Region varchar(10), Yr int, Qty int null); \
         insert Sales values ('north', 2020, 1), ('north', 2020, 2), ('north', 2021, 5), ('south', 2021, 7), ('south', 2022, null)",
    );
    b
}

#[test]
fn pivot() {
    let mut b = sales();
    for (sql, want) in [
        (
            "select * from Sales pivot (sum(Qty) for Yr in ([2020], [2021], [2022])) as p order by Region",
            "north|3|5|NULL\nsouth|NULL|7|NULL",
        ),
        (
            "select Region, [2020] as a, [2021] + 1 as b from (select Region, Yr, Qty from Sales) s \
             pivot (count(Qty) for Yr in ([2020], [2021], [2022])) p where [2021] > 0 order by 1",
            "north|2|2\nsouth|0|2",
        ),
        (
            "select * from (select Yr, Qty from Sales) s pivot (max(Qty) for Yr in ([2021], [2020])) p",
            "7|2",
        ),
        (
            "select p.* from (select Region, 'r' + Region as k, Qty from Sales) s pivot (avg(Qty) for k in (rnorth, [rsouth])) p order by Region",
            "north|2|NULL\nsouth|NULL|7",
        ),
        (
            "select x.Region, x.[2020] from (values (1)) v (n) cross apply (select * from Sales pivot (sum(Qty) for Yr in ([2020])) q) x order by 1",
            "north|3\nsouth|NULL",
        ),
        (
            "with s as (select * from Sales) select [2020] from s pivot (sum(Qty) for Yr in ([2020])) p where Region = 'north'",
            "3",
        ),
    ] {
        b.check(sql, want);
    }
    for (sql, number) in [
        ("select * from Sales pivot (sum(Qty) for Yr in ([20x0])) p", 473),
        ("select * from Sales pivot (sum(Qty) for Nothing in ([2020])) p", 207),
        ("select * from Sales pivot (count(*) for Yr in ([2020])) p", 102),
        ("select * from Sales pivot (upper(Qty) for Yr in ([2020])) p", 102),
        ("select * from Sales pivot (sum(Qty) for Yr in ([2020], [2020])) p", 8156),
        ("select Qty from Sales pivot (sum(Qty) for Yr in ([2020])) p", 207),
    ] {
        b.fails(sql, number);
    }
}

#[test]
fn unpivot() {
    let mut b = Bench::new();
    b.run("create table Wide (Id int, A int, B int null, C int null, D bigint); insert Wide values (1, 10, null, 12, 1), (2, 20, 21, null, 2)");
    for (sql, want) in [
        (
            "select Id, Name, Val from Wide unpivot (Val for Name in (A, B, C)) as u order by Id, Name",
            "1|A|10\n1|C|12\n2|A|20\n2|B|21",
        ),
        (
            "select * from (select Id, A, B from Wide) w unpivot (Val for Name in (A, B)) u order by Id, Name",
            "1|10|A\n2|20|A\n2|21|B",
        ),
        (
            "select sum(Val), max(D) from Wide unpivot (Val for Name in (A, B, C)) u where Name <> 'B'",
            "42|2",
        ),
        // There and back.
        (
            "select * from (select Id, Name, Val from Wide unpivot (Val for Name in (A, B, C)) u) s pivot (sum(Val) for Name in (A, B, C)) p order by Id",
            "1|10|NULL|12\n2|20|21|NULL",
        ),
    ] {
        b.check(sql, want);
    }
    for (sql, number) in [
        ("select * from Wide unpivot (Val for Name in (A, D)) u", 8167),
        ("select * from Wide unpivot (Val for Name in (A, Nothing)) u", 207),
        ("select * from Wide unpivot (Id for Name in (A, B)) u", 8156),
    ] {
        b.fails(sql, number);
    }
}
