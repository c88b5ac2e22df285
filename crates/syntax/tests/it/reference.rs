//! The grammar of SQL Server 2022's reference: each line of `tests/data/reference` is a batch that
//! parses, whether Ringwood runs its statements or not. What is not there fails where it runs, not
//! in the parser.

use ringwood_syntax::parse;

/// Parses each line, names all that do not parse, and returns how many there were.
fn check(name: &str, lines: &str) -> usize {
    let mut refused = Vec::new();
    for (at, line) in lines.lines().enumerate() {
        match parse(line) {
            Ok(statements) => assert!(!statements.is_empty(), "{name}:{}: nothing in it", at + 1),
            Err(error) => refused.push(format!("{name}:{}: {error}: {line}", at + 1)),
        }
    }
    assert!(refused.is_empty(), "{} lines:\n{}", refused.len(), refused.join("\n"));
    lines.lines().count()
}

macro_rules! chapters {
    ($($chapter:ident: $count:literal,)*) => {$(
        #[test]
        fn $chapter() {
            let name = concat!(stringify!($chapter), ".sql");
            let lines = include_str!(concat!("../data/reference/", stringify!($chapter), ".sql"));
            assert_eq!(check(name, lines), $count);
        }
    )*};
}

chapters! {
    changes: 30,
    databases: 159,
    indexes: 47,
    modules: 159,
    queries: 75,
    security: 142,
    tables: 138,
}
