//! The trees themselves: precedence, associativity and what is kept of a construct. Expressions are
//! written back with all their parentheses and compared as text.

use ringwood_syntax::ast::*;
use ringwood_syntax::parse;

/// Writes an expression with a pair of parentheses around every operator.
fn show(expr: &Expr) -> String {
    let list = |items: &[Expr], by: &str| items.iter().map(show).collect::<Vec<_>>().join(by);
    match &expr.kind {
        ExprKind::Literal(Literal::Integer(value)) => value.to_string(),
        ExprKind::Literal(Literal::Decimal(text) | Literal::Float(text)) => text.to_string(),
        ExprKind::Literal(Literal::String { value, .. }) => format!("'{value}'"),
        ExprKind::Literal(other) => format!("{other:?}"),
        ExprKind::Column(column) => match &column.qualifier {
            Some(qualifier) => format!("{qualifier}.{}", column.name),
            None => column.name.to_string(),
        },
        ExprKind::Variable(name) | ExprKind::GlobalVariable(name) => name.to_string(),
        ExprKind::Unary { op, operand } => format!("({op:?} {})", show(operand)),
        ExprKind::Binary { op, left, right } => format!("({} {op:?} {})", show(left), show(right)),
        ExprKind::Compare { op, left, right } => format!("({} {op:?} {})", show(left), show(right)),
        ExprKind::And(items) => format!("({})", list(items, " AND ")),
        ExprKind::Or(items) => format!("({})", list(items, " OR ")),
        ExprKind::Not(operand) => format!("(NOT {})", show(operand)),
        ExprKind::Between { operand, low, high, negated } => {
            format!("({} BETWEEN {negated} {}..{})", show(operand), show(low), show(high))
        }
        ExprKind::InList { operand, list: items, negated } => {
            format!("({} IN {negated} {})", show(operand), list(items, ","))
        }
        ExprKind::IsNull { operand, negated } => format!("({} ISNULL {negated})", show(operand)),
        ExprKind::Collate { operand, collation } => {
            format!("({} COLLATE {collation})", show(operand))
        }
        ExprKind::Function(call) => format!("{}({})", call.name, list(&call.args, ",")),
        ExprKind::InQuery { operand, .. } => format!("({} IN query)", show(operand)),
        ExprKind::Subquery(_) => "query".to_owned(),
        other => format!("{other:?}"),
    }
}

fn only(sql: &str) -> StmtKind {
    let mut statements = parse(sql).unwrap_or_else(|error| panic!("{sql:?}: {error}"));
    assert_eq!(statements.len(), 1, "{sql:?}");
    statements.remove(0).kind
}

fn query(sql: &str) -> Query {
    match only(sql) {
        StmtKind::Select(query) => *query,
        other => panic!("{sql:?} is {other:?}"),
    }
}

/// A value must parse into this tree.
fn check(scalar: &str, expected: &str) {
    let query = query(&format!("SELECT {scalar}"));
    match query.body.first_select().items.as_slice() {
        [SelectItem::Expr { expr, alias: None }] => assert_eq!(show(expr), expected, "{scalar}"),
        other => panic!("{scalar}: {other:?}"),
    }
}

/// A condition must parse into this tree.
fn check_condition(condition: &str, expected: &str) {
    let query = query(&format!("SELECT 1 WHERE {condition}"));
    let filter = query.body.first_select().filter.as_ref().map(show);
    assert_eq!(filter.as_deref(), Some(expected), "{condition}");
}

#[test]
fn arithmetic() {
    check("a + b * c - d", "((a Add (b Multiply c)) Subtract d)");
    check("a & b + c | d ^ e", "((((a BitAnd b) Add c) BitOr d) BitXor e)");
    check("a % b / c * d", "(((a Modulo b) Divide c) Multiply d)");
    check("(a + b) * c", "((a Add b) Multiply c)");
    check("~a * b", "((BitNot a) Multiply b)");
    // A sign binds weaker than a product: -100.0 / -100.0 * 10.0 is 0.1 in T-SQL.
    check("-a * b", "(Minus (a Multiply b))");
    check("a / -b * c", "(a Divide (Minus (b Multiply c)))");
    check("-a + b", "((Minus a) Add b)");
    check("a - -1", "(a Subtract (Minus 1))");
    check("'a' + b COLLATE x + c", "(('a' Add (b COLLATE x)) Add c)");
    check("f(a, s.g(b) + 1)", "f(a,(s.g(b) Add 1))");
    check("((SELECT 1)) + 1", "(query Add 1)");
    check("d..t.c + s.t.c", "(d..t.c Add s.t.c)");
    check("TRIM(LEADING 'x' FROM a)", "LTRIM(a,'x')");
    check("1e", "1e0");
    check("99999999999999999999", "99999999999999999999");
}

#[test]
fn conditions() {
    check_condition("a = 1 OR b = 2 AND c = 3", "((a Equal 1) OR ((b Equal 2) AND (c Equal 3)))");
    check_condition("(a = 1 OR b = 2) AND c = 3", "(((a Equal 1) OR (b Equal 2)) AND (c Equal 3))");
    check_condition("a = 1 AND b = 2 AND c = 3", "((a Equal 1) AND (b Equal 2) AND (c Equal 3))");
    check_condition("NOT a = 1 AND b = 2", "((NOT (a Equal 1)) AND (b Equal 2))");
    check_condition("a BETWEEN 1 AND 2 AND b = 3", "((a BETWEEN false 1..2) AND (b Equal 3))");
    check_condition(
        "a NOT IN (1, 2 + 3) OR b IS NOT NULL",
        "((a IN true 1,(2 Add 3)) OR (b ISNULL true))",
    );
    check_condition("((a + 1) * 2) > (3)", "(((a Add 1) Multiply 2) Greater 3)");
    check_condition(
        "a !> 1 OR b !< 2 OR c < > 3",
        "((a LessEqual 1) OR (b GreaterEqual 2) OR (c NotEqual 3))",
    );
    check_condition("a IN ((SELECT 1))", "(a IN query)");
}

#[test]
fn set_operators_bind_to_the_left_and_intersect_first() {
    fn shape(body: &QueryBody) -> String {
        match body {
            QueryBody::Select(select) => match &select.items[0] {
                SelectItem::Expr { expr, .. } => show(expr),
                other => format!("{other:?}"),
            },
            QueryBody::Ordered(query) => format!("[{}]", shape(&query.body)),
            QueryBody::Set { op, all, left, right } => {
                format!("({} {op:?} {all} {})", shape(left), shape(right))
            }
        }
    }
    let sql = "SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3 EXCEPT (SELECT 4 UNION SELECT 5) ORDER BY 1";
    let query = query(sql);
    assert_eq!(
        shape(&query.body),
        "((1 Union true (2 Intersect false 3)) Except false (4 Union false 5))"
    );
    assert_eq!(query.order_by.len(), 1);
}

#[test]
fn joins_nest_as_their_conditions_say() {
    fn shape(table: &TableRef) -> String {
        match &table.kind {
            TableRefKind::Named { name, alias, hints, .. } => {
                let alias = alias.as_ref().map(|alias| format!(" {alias}")).unwrap_or_default();
                let hints: String = hints.iter().map(|hint| format!(" {}", hint.name)).collect();
                format!("{name}{alias}{hints}")
            }
            TableRefKind::Join { kind, hint, left, right, on } => {
                let on = on.as_ref().map(show).unwrap_or_default();
                format!("[{} {kind:?} {hint:?} {} {on}]", shape(left), shape(right))
            }
            other => format!("{other:?}"),
        }
    }
    let from = |sql: &str| shape(&query(sql).body.first_select().from[0]);
    assert_eq!(
        from("SELECT * FROM a x WITH (NOLOCK) LEFT JOIN b JOIN c ON d = 1 ON e = 2"),
        "[a x NOLOCK Left None [b Inner None c (d Equal 1)] (e Equal 2)]"
    );
    assert_eq!(
        from("SELECT * FROM a JOIN b ON d = 1 INNER HASH JOIN c ON e = 2 CROSS JOIN f"),
        "[[[a Inner None b (d Equal 1)] Inner Some(Hash) c (e Equal 2)] Cross None f ]"
    );
}

#[test]
fn files_keep_their_units() {
    let sql =
        "ALTER DATABASE d MODIFY FILE (NAME = 'x', SIZE = 5, MAXSIZE = 2GB, FILEGROWTH = 10%)";
    let StmtKind::AlterDatabase(alter) = only(sql) else { panic!("not ALTER DATABASE") };
    let AlterDatabaseAction::ModifyFile(file) = alter.action else { panic!("not MODIFY FILE") };
    assert_eq!(file.name.as_deref(), Some("x"));
    assert_eq!(file.size.and_then(FileSize::bytes), Some(5 << 20));
    assert_eq!(file.max_size, Some(MaxSize::Size(FileSize { value: 2, unit: SizeUnit::Gb })));
    assert_eq!(file.growth, Some(FileGrowth::Percent(10)));
}

#[test]
fn updates_tell_variables_from_columns() {
    let StmtKind::Update(update) =
        only("UPDATE t SET @a = b = 1, @c = d, @e += 2, f.WRITE('x', 0, 1), g *= 3")
    else {
        panic!("not UPDATE")
    };
    let kinds: Vec<String> = update
        .assignments
        .iter()
        .map(|assignment| match assignment {
            Assignment::Column { variable, column, op, .. } => {
                format!("{variable:?} {} {op:?}", column.name)
            }
            Assignment::Variable { variable, op, .. } => format!("{variable} {op:?}"),
            Assignment::Write { column, args } => format!("{} {}", column.name, args.len()),
        })
        .collect();
    assert_eq!(kinds, ["Some(\"@a\") b Set", "@c Set", "@e Add", "f 3", "None g Multiply"]);
}

#[test]
fn else_belongs_to_the_nearest_if() {
    let StmtKind::If { then, otherwise, .. } = only("IF a = 1 IF b = 2 PRINT 1 ELSE PRINT 2")
    else {
        panic!("not IF")
    };
    assert!(otherwise.is_none());
    assert!(matches!(then.kind, StmtKind::If { otherwise: Some(_), .. }), "{then:?}");
    let sql = "IF a = 1 PRINT 1; ELSE\nIF b = 2 PRINT 2 ELSE PRINT 3";
    let StmtKind::If { otherwise: Some(second), .. } = only(sql) else { panic!("not IF") };
    assert_eq!((second.span.line, second.span.text(sql)), (2, "IF b = 2 PRINT 2 ELSE PRINT 3"));
}

#[test]
fn modules_keep_their_text() {
    let sql = "\n-- before\nCREATE PROC p @a int = 5 AS\nSELECT @a -- inside\n;SELECT 2 -- after\n";
    let StmtKind::CreateProcedure(procedure) = only(sql) else { panic!("not CREATE PROCEDURE") };
    assert_eq!(procedure.text, "CREATE PROC p @a int = 5 AS\nSELECT @a -- inside\n;SELECT 2");
    assert_eq!(
        procedure.body.iter().map(|statement| statement.span.line).collect::<Vec<_>>(),
        [4, 5]
    );
    assert_eq!(procedure.params[0].name, "@a");
}

#[test]
fn option_lists_keep_names_values_units_and_lists() {
    let sql = "ALTER DATABASE d SET TARGET_RECOVERY_TIME = 60 SECONDS, RECOVERY full, READ_ONLY, QUERY_STORE = ON (a = 1)";
    let StmtKind::AlterDatabase(alter) = only(sql) else { panic!("not ALTER DATABASE") };
    let AlterDatabaseAction::Set { options, .. } = alter.action else { panic!("not SET") };
    let [time, recovery, read_only, store] = options.as_slice() else { panic!("{options:?}") };
    assert_eq!(
        (time.name.as_str(), time.unit.as_deref()),
        ("TARGET_RECOVERY_TIME", Some("SECONDS"))
    );
    assert!(matches!(&time.value, OptionValue::Expr(expr) if show(expr) == "60"));
    assert_eq!(recovery.value, OptionValue::Word("FULL".into()));
    assert_eq!((read_only.name.as_str(), &read_only.value), ("READ_ONLY", &OptionValue::None));
    assert!(store.is_on() && store.nested.len() == 1);
}
