//! Plan guides: statements run with the hints of the guide that names them and their batch, as long
//! as it is enabled. The hint is MAXRECURSION, which shows in what a statement says.

use crate::support::text::Bench;

/// Its recursion goes 20 deep.
const DEEP: &str = "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) \
                    SELECT MAX(i) FROM n";
const FIVE: &str = "N'OPTION (MAXRECURSION 5)'";

/// A guide of type SQL; what is no text in quotes is NULL.
fn guide(name: &str, statement: &str, batch: &str, params: &str, hints: &str) -> String {
    format!(
        "EXEC sp_create_plan_guide N'{name}', N'{statement}', N'SQL', {batch}, {params}, {hints}"
    )
}

fn control(operation: &str, name: &str) -> String {
    format!("EXEC sp_control_plan_guide N'{operation}', N'{name}'")
}

#[test]
fn a_statement_runs_with_the_hints_of_its_guide() {
    let mut b = Bench::new();
    b.check(DEEP, "20");
    b.check(&guide("five", DEEP, "NULL", "NULL", FIVE), "");
    b.fails(DEEP, 530);
    b.fails(&format!("  {DEEP} ;\n"), 530);
    // Another batch, also with the same statement.
    b.check(&format!("{DEEP}; PRINT 'end'"), "20\nend");
    b.check(
        "SELECT name, is_disabled, query_text, scope_type_desc, scope_batch, hints \
         FROM sys.plan_guides",
        &format!("five|0|{DEEP}|SQL|NULL|OPTION (MAXRECURSION 5)"),
    );
    b.check("SELECT type, type_desc FROM sys.objects WHERE name = 'five'", "PG|PLAN_GUIDE");
    b.check(&control("DISABLE", "FIVE"), "");
    b.check(DEEP, "20");
    b.check(&control("enable", "five"), "");
    let mut b = b.restart();
    b.fails(DEEP, 530);
    b.check("EXEC sp_control_plan_guide N'DISABLE ALL'", "");
    b.check(DEEP, "20");
    b.check(&control("DROP", "five"), "");
    b.check("SELECT COUNT(*) FROM sys.plan_guides", "0");
    b.check(&guide("five", DEEP, "NULL", "NULL", FIVE), "");
    b.fails(DEEP, 530);
}

#[test]
fn a_guide_names_a_statement_of_a_batch_and_its_parameters() {
    let mut b = Bench::new();
    let deep = DEEP.replace("20", "@n");
    let batch = format!("DECLARE @n int = 20; IF @n > 1 BEGIN {deep}; {DEEP} END");
    b.check(&guide("inner", &deep, &format!("N'{batch}'"), "NULL", FIVE), "");
    b.fails(&batch, 530);
    b.check(&batch.replace("@n > 1", "@n > 2"), "20\n20");
    // As a text with parameters.
    let call = format!("EXEC sp_executesql N'{deep}', N'@n int', 20");
    b.check(&call, "20");
    b.check(&guide("typed", &deep, "NULL", "N'@n  INT'", FIVE), "");
    b.fails(&call, 530);
    b.check(&call.replace("@n int", "@n bigint"), "20");
    // Without hints its own do not count.
    let own = format!("{DEEP} OPTION (MAXRECURSION 5)");
    b.fails(&own, 530);
    b.check(&guide("none", &own, "NULL", "NULL", "NULL"), "");
    b.check(&own, "20");
    b.check("EXEC sp_control_plan_guide N'DROP ALL'; SELECT COUNT(*) FROM sys.plan_guides", "0");
    b.fails(&own, 530);
    b.check(&call, "20");
}

#[test]
fn what_is_no_guide() {
    let mut b = Bench::new();
    b.check(&guide("first", DEEP, "NULL", "NULL", FIVE), "");
    b.fails(&guide("first", "SELECT 1", "NULL", "NULL", FIVE), 2714);
    b.fails(&guide("second", DEEP, "NULL", "NULL", FIVE), 10_502);
    b.check(&control("DISABLE", "first"), "");
    b.check(&guide("second", DEEP, "NULL", "NULL", FIVE), "");
    b.fails(&control("ENABLE", "first"), 10_537);
    b.fails(&guide("third", "SELECT 1; SELECT 2", "NULL", "NULL", FIVE), 10_507);
    b.fails(&guide("third", "PRINT 1", "NULL", "NULL", FIVE), 10_507);
    b.fails(&guide("third", "SELECT 1", "N'SELECT 2'", "NULL", FIVE), 10_507);
    b.fails(&guide("third", "SELECT 1", "NULL", "NULL", "N'MAXRECURSION 5'"), 10_519);
    b.fails(&guide("third", "SELECT 1", "NULL", "NULL", "N'OPTION (NONSENSE)'"), 10_519);
    b.fails(&guide("third", "SELECT 1", "NULL", "NULL", "N'<ShowPlanXML/>'"), 40_510);
    b.fails(&guide(&"g".repeat(125), "SELECT 1", "NULL", "NULL", FIVE), 10_533);
    let long = format!("SELECT ''{}''", "x".repeat(4000));
    b.fails(&guide("third", &long, "NULL", "NULL", FIVE), 40_510);
    b.fails("EXEC sp_create_plan_guide N'third', N'SELECT 1', N'OBJECT', N'p'", 40_510);
    b.fails("EXEC sp_create_plan_guide N'third', N'SELECT 1', N'OTHER'", 15_600);
    b.fails(&control("DROP", "nowhere"), 15_009);
    b.fails(&control("REMOVE", "first"), 15_600);
    b.fails("EXEC sp_control_plan_guide N'DROP'", 15_600);
    let inside = format!("BEGIN TRAN {}", guide("third", "SELECT 1", "NULL", "NULL", FIVE));
    b.fails(&inside, 15_002);
    b.run("IF @@TRANCOUNT > 0 ROLLBACK");
    b.check("SELECT name FROM sys.plan_guides ORDER BY name", "first\nsecond");
}
