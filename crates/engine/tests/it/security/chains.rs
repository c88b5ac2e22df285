//! Rights that come with an owner: views, procedures and triggers reach what their owner owns,
//! foreign keys ask once.

use super::{allowed, login, new, owner, refused, say};

#[test]
fn chains_of_ownership() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    owner(
        &instance,
        &[
            "GRANT SELECT ON v TO ann",
            "GRANT EXECUTE ON p TO ann",
            "GRANT EXECUTE ON dynamic TO ann",
            "GRANT EXECUTE ON put TO ann",
        ],
    );
    assert_eq!(allowed(&mut ann, "SELECT a FROM v"), "10\n20");
    assert_eq!(allowed(&mut ann, "EXEC p"), "2");
    allowed(&mut ann, "EXEC put 3");
    assert_eq!(allowed(&mut ann, "EXEC p"), "3");
    // A text is the caller's own, wherever it is run.
    refused(&mut ann, "EXEC dynamic", &[229]);
    refused(&mut ann, "SELECT v.a FROM v JOIN t ON t.id = v.id", &[229]);
    // A change through a view needs the right to the view, and none to its table.
    refused(&mut ann, "UPDATE v SET a = 1", &[229]);
    owner(&instance, &["GRANT UPDATE ON v TO ann"]);
    allowed(&mut ann, "UPDATE v SET a = a");
    refused(&mut ann, "UPDATE t SET a = a", &[229]);
    owner(&instance, &["REVOKE UPDATE ON v FROM ann"]);
    // Another owner's view or procedure breaks the chain.
    owner(
        &instance,
        &[
            "CREATE USER carl WITHOUT LOGIN",
            "CREATE SCHEMA carls AUTHORIZATION carl",
            "CREATE VIEW carls.cv AS SELECT secret FROM dbo.t",
            "CREATE PROCEDURE carls.cp AS SELECT secret FROM dbo.t",
            "CREATE VIEW over_carls AS SELECT * FROM carls.cv",
            "CREATE PROCEDURE calls_carls AS EXEC carls.cp",
            "GRANT SELECT ON carls.cv TO ann",
            "GRANT EXECUTE ON carls.cp TO ann",
            "GRANT SELECT ON over_carls TO ann",
            "GRANT EXECUTE ON calls_carls TO ann",
        ],
    );
    refused(&mut ann, "SELECT * FROM carls.cv", &[229]);
    refused(&mut ann, "EXEC carls.cp", &[229]);
    refused(&mut ann, "SELECT * FROM over_carls", &[229]);
    refused(&mut ann, "EXEC calls_carls", &[229]);
    // A schema's owner cannot be slipped in where a transaction hides it.
    owner(&instance, &["GRANT CREATE SCHEMA, CREATE VIEW TO ann"]);
    refused(&mut ann, "BEGIN TRAN; EXEC ('CREATE SCHEMA anns')", &[226]);
    allowed(&mut ann, "IF @@TRANCOUNT > 0 ROLLBACK");
    allowed(&mut ann, "CREATE SCHEMA anns");
    allowed(&mut ann, "CREATE VIEW anns.av AS SELECT * FROM dbo.t");
    refused(&mut ann, "SELECT * FROM anns.av", &[229]);
    refused(&mut ann, "CREATE VIEW dbo.mine AS SELECT * FROM dbo.t", &[2760]);
}

#[test]
fn triggers_run_in_the_chain_of_their_table() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    owner(
        &instance,
        &[
            "CREATE TABLE log (what varchar(20))",
            "CREATE TRIGGER tr ON t AFTER INSERT AS INSERT log SELECT 'row' FROM inserted",
            "GRANT INSERT ON t TO ann",
        ],
    );
    allowed(&mut ann, "INSERT t (id) VALUES (3)");
    refused(&mut ann, "INSERT log VALUES ('x')", &[229]);
    refused(&mut ann, "DISABLE TRIGGER tr ON t", &[1088]);
    refused(&mut ann, "ALTER TABLE t DISABLE TRIGGER tr", &[1088]);
    refused(&mut ann, "CREATE TRIGGER mine ON t AFTER INSERT AS SELECT 1", &[1088]);
    refused(&mut ann, "DROP TRIGGER tr", &[3701]);
    owner(&instance, &["ALTER TRIGGER tr ON t AFTER INSERT AS EXEC ('INSERT log VALUES (''x'')')"]);
    refused(&mut ann, "INSERT t (id) VALUES (4)", &[229]);
    assert_eq!(
        say(&instance, "SELECT COUNT(*) FROM d.dbo.t; SELECT COUNT(*) FROM d.dbo.log"),
        "3\n1"
    );
}

#[test]
fn foreign_keys_need_references_and_cascades_nothing() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    owner(&instance, &["ALTER ROLE db_ddladmin ADD MEMBER ann", "DENY REFERENCES ON t TO ann"]);
    refused(&mut ann, "CREATE TABLE child (id int REFERENCES t (id))", &[229]);
    owner(&instance, &["REVOKE REFERENCES ON t FROM ann"]);
    allowed(&mut ann, "CREATE TABLE child (id int REFERENCES t (id) ON DELETE CASCADE)");
    owner(
        &instance,
        &[
            "ALTER ROLE db_ddladmin DROP MEMBER ann",
            "INSERT child VALUES (1)",
            "GRANT DELETE, SELECT ON t TO ann",
            "GRANT INSERT ON child TO ann",
        ],
    );
    refused(&mut ann, "DELETE child", &[229]);
    allowed(&mut ann, "DELETE t WHERE id = 1");
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM d.dbo.child"), "0");
    owner(&instance, &["REVOKE SELECT ON t FROM ann"]);
    allowed(&mut ann, "INSERT child VALUES (2)");
    refused(&mut ann, "INSERT child VALUES (9)", &[547]);
}

#[test]
fn temporary_procedures_are_everybodys_and_lend_no_rights() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    allowed(&mut ann, "CREATE PROCEDURE #p AS SELECT COUNT(*) FROM t");
    refused(&mut ann, "EXEC #p", &[229]);
    let mine =
        "SELECT COUNT(*) FROM tempdb.sys.procedures WHERE object_id = OBJECT_ID('tempdb..#p')";
    assert_eq!(allowed(&mut ann, mine), "1");
    allowed(&mut ann, "CREATE OR ALTER PROCEDURE #p AS SELECT 1");
    assert_eq!(allowed(&mut ann, "EXEC #p"), "1");
    allowed(&mut ann, "DROP PROCEDURE #p");
    // What the program itself makes for everybody lends nothing of its own either.
    let mut owner = instance.session().unwrap();
    owner.use_database("d").unwrap();
    assert_eq!(super::said(&mut owner, "CREATE PROCEDURE ##g AS SELECT COUNT(*) FROM t"), "");
    refused(&mut ann, "EXEC ##g", &[229]);
    assert_eq!(super::said(&mut owner, "EXEC ##g"), "2");
    // It runs with the rights of whoever calls it: others do not choose what it does.
    refused(&mut ann, "ALTER PROCEDURE ##g AS ALTER SERVER ROLE sysadmin ADD MEMBER ann", &[1088]);
    refused(&mut ann, "CREATE OR ALTER PROCEDURE ##g AS SELECT 1", &[1088]);
    refused(&mut ann, "DROP PROCEDURE ##g", &[3701]);
    refused(&mut ann, "DROP PROCEDURE IF EXISTS tempdb..##g", &[3701]);
    assert_eq!(super::said(&mut owner, "EXEC ##g"), "2");
    // One's own, and everybody's who may do all.
    allowed(&mut ann, "CREATE OR ALTER PROCEDURE ##a AS SELECT 1");
    allowed(&mut ann, "CREATE OR ALTER PROCEDURE ##a AS SELECT 2");
    assert_eq!(super::said(&mut owner, "ALTER PROCEDURE ##a AS SELECT 3"), "");
    assert_eq!(allowed(&mut ann, "EXEC ##a"), "3");
    allowed(&mut ann, "DROP PROCEDURE ##a");
}
