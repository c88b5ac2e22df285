//! Every construct of the grammar, kept as scripts in `tests/data`, and the scripts of the studies:
//! each batch parses into the statements that stand there, and every statement knows its place and
//! line.

use ringwood_syntax::{parse, split_batches};

/// Parses every batch of a script and returns how many statements there were at the top level.
fn check(name: &str, script: &str) -> usize {
    let mut statements = 0;
    for batch in split_batches(script) {
        let parsed = match parse(batch.text) {
            Ok(parsed) => parsed,
            Err(error) => {
                panic!("{name}, batch at line {}: {error}\n{}", batch.first_line, batch.text)
            }
        };
        assert!(!parsed.is_empty(), "{name}: a batch without statements: {}", batch.text);
        let mut last_end = 0;
        for statement in &parsed {
            let span = statement.span;
            assert!(
                span.start >= last_end && span.end > span.start,
                "{name}: {span:?} after {last_end}"
            );
            let before = &batch.text[..span.start as usize];
            let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
            assert_eq!(span.line as usize, line, "{name}: {}", span.text(batch.text));
            last_end = span.end;
        }
        statements += parsed.len();
    }
    statements
}

#[test]
fn database() {
    assert_eq!(check("database.sql", include_str!("../data/database.sql")), 75);
}

#[test]
fn flow() {
    assert_eq!(check("flow.sql", include_str!("../data/flow.sql")), 126);
}

#[test]
fn modify() {
    assert_eq!(check("modify.sql", include_str!("../data/modify.sql")), 30);
}

#[test]
fn module() {
    assert_eq!(check("module.sql", include_str!("../data/module.sql")), 45);
}

#[test]
fn query() {
    assert_eq!(check("query.sql", include_str!("../data/query.sql")), 70);
}

#[test]
fn study_log_block_size_workload() {
    assert_eq!(
        check(
            "study-log-block-size-workload.sql",
            include_str!("../data/study-log-block-size-workload.sql")
        ),
        8
    );
}

#[test]
fn study_log_growth_backups() {
    assert_eq!(
        check("study-log-growth-backups.sql", include_str!("../data/study-log-growth-backups.sql")),
        4
    );
}

#[test]
fn study_log_growth_databases() {
    assert_eq!(
        check(
            "study-log-growth-databases.sql",
            include_str!("../data/study-log-growth-databases.sql")
        ),
        2
    );
}

#[test]
fn study_log_growth_table() {
    assert_eq!(
        check("study-log-growth-table.sql", include_str!("../data/study-log-growth-table.sql")),
        2
    );
}

#[test]
fn study_log_growth_workload() {
    assert_eq!(
        check(
            "study-log-growth-workload.sql",
            include_str!("../data/study-log-growth-workload.sql")
        ),
        8
    );
}

#[test]
fn study_vlf_count_schema() {
    assert_eq!(
        check("study-vlf-count-schema.sql", include_str!("../data/study-vlf-count-schema.sql")),
        2
    );
}

#[test]
fn study_vlf_count_workload() {
    assert_eq!(
        check("study-vlf-count-workload.sql", include_str!("../data/study-vlf-count-workload.sql")),
        4
    );
}

#[test]
fn table() {
    assert_eq!(check("table.sql", include_str!("../data/table.sql")), 76);
}
