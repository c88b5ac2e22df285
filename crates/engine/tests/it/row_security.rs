//! Row-level security: what filter and block predicates of security policies do to each kind of
//! statement, and the ways around them that must not be there.

use std::sync::Arc;

use crate::support::text::{Text, run, try_open};
use engine::{ClientInfo, Instance, Session};
use sim::SimDisk;

const PASSWORD: &str = "Some-l0ng-one";

/// A database `d` with rows of three tenants; whoever reads `t` sees those of the tenant in the
/// session's context.
fn new(disk: &SimDisk) -> Arc<Instance> {
    let instance = try_open(disk, 32 << 20).unwrap();
    run(&instance, "CREATE DATABASE d");
    let mut own = owner(&instance);
    for sql in [
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, tenant int NOT NULL, v int NULL, secret varchar(20) NULL)",
        "CREATE INDEX by_tenant ON t (tenant)",
        "INSERT t VALUES (1, 1, 10, 'a'), (2, 1, 20, 'b'), (3, 2, 30, 'c'), (4, 2, 0, 'd'), (5, 3, 50, 'e')",
        "CREATE FUNCTION mine (@tenant int) RETURNS TABLE WITH SCHEMABINDING AS
           RETURN SELECT 1 AS ok WHERE @tenant = CAST(SESSION_CONTEXT(N'tenant') AS int)",
        "CREATE VIEW v AS SELECT id, tenant, v FROM t",
        "CREATE PROCEDURE p AS SELECT COUNT(*) FROM t",
        "CREATE FUNCTION total () RETURNS int AS BEGIN RETURN (SELECT SUM(v) FROM dbo.t) END",
    ] {
        allowed(&mut own, sql);
    }
    instance
}

fn owner(instance: &Arc<Instance>) -> Session {
    let mut own = instance.session().unwrap();
    own.use_database("d").unwrap();
    own
}

fn filtered(instance: &Arc<Instance>) -> Session {
    let mut own = owner(instance);
    allowed(&mut own, "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.t");
    own
}

fn tenant(session: &mut Session, n: i32) {
    allowed(session, &format!("EXEC sp_set_session_context N'tenant', {n}"));
}

fn said(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

#[track_caller]
fn refused(session: &mut Session, sql: &str, number: i32) {
    let said = said(session, sql);
    assert!(said.starts_with(&format!("Msg {number}: ")), "{sql}\n{said}");
    assert!(said.lines().all(|line| line.starts_with("Msg ")), "{sql} shows something\n{said}");
}

#[track_caller]
fn allowed(session: &mut Session, sql: &str) -> String {
    let said = said(session, sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
    said
}

#[track_caller]
fn says(session: &mut Session, sql: &str, wanted: &str) {
    assert_eq!(said(session, sql), wanted, "{sql}");
}

#[test]
fn every_read_is_filtered() {
    let instance = new(&SimDisk::new(5));
    let mut s = owner(&instance);
    // Compiled before there is a policy.
    for sql in [
        "SELECT COUNT(*) FROM t",
        "SELECT v FROM t WHERE id = 3",
        "EXEC p",
        "SELECT COUNT(*) FROM v",
    ] {
        allowed(&mut s, sql);
    }
    filtered(&instance);
    says(&mut s, "SELECT COUNT(*) FROM t", "0");
    tenant(&mut s, 1);
    for (sql, wanted) in [
        ("SELECT COUNT(*) FROM t", "2"),
        ("SELECT id FROM t ORDER BY id", "1\n2"),
        ("SELECT v FROM t WHERE id = 1", "10"),
        ("SELECT v FROM t WHERE id = 3", ""),
        ("SELECT v FROM d.dbo.t AS x WHERE x.id = 3", ""),
        ("SELECT id FROM t WHERE tenant = 2", ""),
        ("SELECT MIN(id), MAX(id) FROM t", "1|2"),
        ("SELECT MAX(tenant) FROM t", "1"),
        ("EXEC p", "2"),
        ("SELECT COUNT(*) FROM v", "2"),
        ("SELECT dbo.total()", "30"),
        ("EXEC ('SELECT COUNT(*) FROM dbo.t')", "2"),
        ("WITH c AS (SELECT id FROM t) SELECT COUNT(*) FROM c", "2"),
        (
            "SELECT COUNT(*) FROM (VALUES (1), (3)) AS x (n) WHERE EXISTS (SELECT * FROM t WHERE id = n)",
            "1",
        ),
        (
            "SELECT COUNT(*) FROM (VALUES (1), (3)) AS x (n) LEFT JOIN t ON id = n WHERE id IS NULL",
            "1",
        ),
        ("SELECT COUNT(*) FROM t AS a CROSS JOIN t AS b", "4"),
        ("SELECT COUNT(*) FROM t WITH (NOLOCK)", "2"),
        ("SELECT COUNT(*) FROM t WITH (INDEX (by_tenant))", "2"),
        ("SELECT id FROM t UNION ALL SELECT id FROM t WHERE id > 2 ORDER BY id", "1\n2"),
        ("SELECT TOP (10) id INTO #x FROM t; SELECT COUNT(*) FROM #x; DROP TABLE #x", "(2)\n2"),
        ("SELECT COUNT(*) FROM t TABLESAMPLE (100 PERCENT)", "2"),
        (
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT COUNT(*) FROM t; SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "2",
        ),
        (
            "DECLARE c CURSOR FOR SELECT id FROM t WHERE id > 2; OPEN c; FETCH c; CLOSE c; DEALLOCATE c",
            "",
        ),
        (
            "DECLARE c CURSOR DYNAMIC FOR SELECT id FROM t; OPEN c; FETCH c; CLOSE c; DEALLOCATE c",
            "1",
        ),
        // What would fail on rows that are not seen.
        ("SELECT id FROM t WHERE 1 / v > 5", ""),
        ("SELECT id FROM t WHERE 1 / (v - 30) > 5 AND id > 0", ""),
        ("SELECT id FROM v WHERE 1 / v > 5", ""),
    ] {
        says(&mut s, sql, wanted);
    }
    // The plans are everybody's, what is seen is not.
    tenant(&mut s, 2);
    says(&mut s, "SELECT COUNT(*) FROM t", "2");
    says(&mut s, "SELECT v FROM t WHERE id = 3", "30");
    says(&mut s, "SELECT v FROM t WHERE id = 1", "");
    tenant(&mut s, 3);
    says(&mut s, "SELECT COUNT(*) FROM t", "1");
    says(&mut s, "EXEC p", "1");
    let mut other = owner(&instance);
    says(&mut other, "SELECT COUNT(*) FROM t", "0");
}

#[test]
fn changes_reach_what_is_seen() {
    let instance = new(&SimDisk::new(5));
    let mut s = filtered(&instance);
    tenant(&mut s, 1);
    for (sql, wanted) in [
        ("UPDATE t SET v = v + 1", "(2)"),
        ("UPDATE t SET v = 0 WHERE id = 3", "(0)"),
        ("UPDATE t SET v = v + 1 WHERE id = 1", "(1)"),
        ("UPDATE x SET v = 0 FROM t AS x WHERE x.id > 2", "(0)"),
        ("UPDATE x SET v = x.v FROM t AS x JOIN t AS y ON y.id = x.id", "(2)"),
        ("UPDATE v SET v = 0 WHERE id = 4", "(0)"),
        ("DELETE t WHERE id = 3", "(0)"),
        ("DELETE FROM v WHERE id = 3", "(0)"),
        ("DELETE x FROM t AS x WHERE x.tenant = 2", "(0)"),
        ("UPDATE t SET v = v OUTPUT deleted.id, deleted.secret", "1|a\n2|b"),
        ("WITH c AS (SELECT * FROM t WHERE id > 2) DELETE c", "(0)"),
        ("MERGE t USING (VALUES (3), (4)) AS s (n) ON t.id = s.n WHEN MATCHED THEN DELETE;", "(0)"),
        (
            "MERGE t USING (VALUES (2)) AS s (n) ON t.id = s.n WHEN MATCHED THEN UPDATE SET v = 7
          WHEN NOT MATCHED BY SOURCE THEN DELETE;",
            "(2)",
        ),
        ("DELETE t", "(1)"),
        ("SELECT COUNT(*) FROM t", "0"),
    ] {
        says(&mut s, sql, wanted);
    }
    // A row that is not seen is in the way of one with its key.
    refused(&mut s, "INSERT t VALUES (3, 1, 0, NULL)", 2627);
    // Without a block predicate a row may go out of sight.
    says(&mut s, "INSERT t VALUES (9, 2, 0, NULL); SELECT COUNT(*) FROM t", "(1)\n0");
    allowed(&mut s, "ALTER SECURITY POLICY pol WITH (STATE = OFF)");
    says(&mut s, "SELECT id, v FROM t ORDER BY id", "3|30\n4|0\n5|50\n9|0");
}

#[test]
fn block_predicates_keep_rows_out() {
    let instance = new(&SimDisk::new(5));
    let mut s = owner(&instance);
    allowed(
        &mut s,
        "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.t,
           ADD BLOCK PREDICATE dbo.mine(tenant) ON dbo.t AFTER INSERT, ADD BLOCK PREDICATE dbo.mine(tenant) ON dbo.t AFTER UPDATE",
    );
    tenant(&mut s, 1);
    let text = "Msg 33504: The attempted operation failed because the target object 'd.dbo.t' has a block predicate that conflicts with \
                this operation. If the operation is performed on a view, the block predicate might be enforced on the underlying \
                table. Modify the operation to target only the rows that are allowed by the block predicate.";
    says(&mut s, "INSERT t VALUES (10, 2, 0, NULL)", text);
    for sql in [
        "INSERT v VALUES (10, 2, 0)",
        "INSERT t SELECT id + 100, 3 - tenant, v, secret FROM t",
        "UPDATE t SET tenant = 2 WHERE id = 1",
        "UPDATE v SET tenant = tenant + 1",
        "MERGE t USING (VALUES (11, 2)) AS s (n, m) ON t.id = s.n WHEN NOT MATCHED THEN INSERT (id, tenant) VALUES (n, m);",
        "MERGE t USING (VALUES (1, 2)) AS s (n, m) ON t.id = s.n WHEN MATCHED THEN UPDATE SET tenant = m;",
        "INSERT t OUTPUT inserted.id INTO #o VALUES (12, 2, 0, NULL)",
        "INSERT t VALUES (12, 1, 0, NULL), (13, 2, 0, NULL)",
    ] {
        allowed(&mut s, "CREATE TABLE #o (id int)");
        refused(&mut s, sql, 33_504);
        allowed(&mut s, "DROP TABLE #o");
    }
    says(
        &mut s,
        "INSERT t VALUES (12, 1, 0, NULL); UPDATE t SET v = 1, tenant = 1; SELECT COUNT(*) FROM t",
        "(1)\n(3)\n3",
    );
    // Before: what may be seen and not changed.
    allowed(
        &mut s,
        "ALTER SECURITY POLICY pol DROP FILTER PREDICATE ON dbo.t, ADD BLOCK PREDICATE dbo.mine(tenant) ON dbo.t BEFORE UPDATE,
           ADD BLOCK PREDICATE dbo.mine(tenant) ON dbo.t BEFORE DELETE",
    );
    refused(&mut s, "UPDATE t SET v = 1 WHERE id = 3", 33_504);
    refused(&mut s, "DELETE t WHERE id = 3", 33_504);
    refused(&mut s, "DELETE t", 33_504);
    says(&mut s, "DELETE t WHERE id = 12; UPDATE t SET v = 1 WHERE id = 1", "(1)\n(1)");
    // An update that sets nothing of what the predicate is given is not asked about AFTER it.
    allowed(
        &mut s,
        "ALTER SECURITY POLICY pol DROP BLOCK PREDICATE ON dbo.t BEFORE UPDATE, ALTER BLOCK PREDICATE dbo.mine(tenant) ON dbo.t AFTER UPDATE",
    );
    says(&mut s, "UPDATE t SET v = 2 WHERE id = 3", "(1)");
    refused(&mut s, "UPDATE t SET v = 2, tenant = 2 WHERE id = 3", 33_504);
}

#[test]
fn a_block_predicate_of_all_operations_and_cascades() {
    let instance = new(&SimDisk::new(5));
    let mut s = owner(&instance);
    allowed(
        &mut s,
        "CREATE TABLE child (id int PRIMARY KEY, parent int NOT NULL REFERENCES t ON DELETE CASCADE, tenant int NOT NULL)",
    );
    allowed(&mut s, "INSERT child VALUES (1, 1, 1), (2, 3, 2)");
    allowed(
        &mut s,
        "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.child, ADD BLOCK PREDICATE dbo.mine(tenant) ON dbo.child",
    );
    tenant(&mut s, 1);
    // Keys are tested against all rows, and cascades reach all rows: a block predicate holds for
    // them.
    refused(&mut s, "INSERT child VALUES (9, 99, 1)", 547);
    refused(&mut s, "INSERT child VALUES (9, 1, 2)", 33_504);
    refused(&mut s, "DELETE t WHERE id = 3", 33_504);
    says(&mut s, "DELETE t WHERE id = 1; SELECT COUNT(*) FROM child", "(1)\n0");
    allowed(&mut s, "ALTER SECURITY POLICY pol DROP BLOCK PREDICATE ON dbo.child");
    says(&mut s, "DELETE t WHERE id = 3", "(1)");
    allowed(&mut s, "DROP SECURITY POLICY pol");
    says(&mut s, "SELECT COUNT(*) FROM child", "0");
}

#[test]
fn predicates_that_read_tables() {
    let instance = new(&SimDisk::new(5));
    let mut s = owner(&instance);
    for sql in [
        "CREATE TABLE grants (who sysname, tenant int)",
        "INSERT grants VALUES ('ann', 1), ('ann', 2), ('bob', 3)",
        "CREATE FUNCTION granted (@tenant int) RETURNS TABLE WITH SCHEMABINDING AS
           RETURN SELECT 1 AS ok FROM dbo.grants AS g WHERE g.tenant = @tenant AND g.who = USER_NAME()",
        "CREATE USER ann WITHOUT LOGIN; CREATE USER bob WITHOUT LOGIN; GRANT SELECT, UPDATE, INSERT ON t TO ann, bob",
        "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.granted(tenant) ON dbo.t, ADD BLOCK PREDICATE dbo.granted(tenant) ON dbo.t AFTER INSERT",
    ] {
        allowed(&mut s, sql);
    }
    says(&mut s, "SELECT COUNT(*) FROM t", "0");
    // Nobody needs a right to the function or to what it reads.
    says(&mut s, "EXECUTE AS USER = 'ann'; SELECT id FROM t ORDER BY id; REVERT", "1\n2\n3\n4");
    says(&mut s, "EXECUTE AS USER = 'bob'; SELECT id FROM t ORDER BY id; REVERT", "5");
    says(&mut s, "EXECUTE AS USER = 'bob'; UPDATE t SET v = 1; REVERT", "(1)");
    says(&mut s, "EXECUTE AS USER = 'bob'; UPDATE t SET v = 1 WHERE id = 1; REVERT", "(0)");
    says(&mut s, "EXECUTE AS USER = 'ann'; INSERT t (id, tenant) VALUES (6, 2); REVERT", "(1)");
    refused(&mut s, "EXECUTE AS USER = 'ann'; INSERT t (id, tenant) VALUES (7, 3)", 33_504);
    allowed(&mut s, "REVERT");
    refused(&mut s, "EXECUTE AS USER = 'ann'; SELECT * FROM grants", 229);
    allowed(&mut s, "REVERT");
    // What the function reads has its policy, too.
    for sql in [
        "CREATE FUNCTION own (@who sysname) RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT 1 AS ok WHERE @who = 'bob'",
        "CREATE SECURITY POLICY pol2 ADD FILTER PREDICATE dbo.own(who) ON dbo.grants",
    ] {
        allowed(&mut s, sql);
    }
    says(&mut s, "EXECUTE AS USER = 'ann'; SELECT COUNT(*) FROM t; REVERT", "0");
    refused(&mut s, "EXECUTE AS USER = 'ann'; INSERT t (id, tenant) VALUES (7, 2)", 33_504);
    allowed(&mut s, "REVERT; DROP SECURITY POLICY pol2");
    says(&mut s, "EXECUTE AS USER = 'ann'; SELECT COUNT(*) FROM t; REVERT", "5");
    // A predicate that reads its own table sees all of it.
    for sql in [
        "DROP SECURITY POLICY pol",
        "CREATE FUNCTION largest (@v int) RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT 1 AS ok FROM dbo.t HAVING MAX(v) = @v",
        "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.largest(v) ON dbo.t",
    ] {
        allowed(&mut s, sql);
    }
    says(&mut s, "SELECT id FROM t", "3");
}

#[test]
fn what_a_policy_names_stays() {
    let instance = new(&SimDisk::new(5));
    let mut s = filtered(&instance);
    refused(&mut s, "DROP FUNCTION mine", 3729);
    refused(
        &mut s,
        "ALTER FUNCTION mine (@tenant int) RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT 1 AS ok",
        3729,
    );
    refused(&mut s, "DROP TABLE t", 3729);
    refused(&mut s, "ALTER TABLE t DROP COLUMN tenant", 5074);
    refused(&mut s, "ALTER TABLE t ALTER COLUMN tenant bigint", 5074);
    refused(&mut s, "EXEC sp_rename 'dbo.t.tenant', 'x', 'COLUMN'", 15_336);
    allowed(&mut s, "ALTER TABLE t DROP COLUMN secret; ALTER TABLE t ADD w int NULL");
    says(&mut s, "SELECT COUNT(*) FROM t", "0");
    tenant(&mut s, 2);
    says(&mut s, "SELECT id, w FROM t", "3|NULL\n4|NULL");
    for (sql, number) in [
        ("CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.t", 2714),
        ("CREATE SECURITY POLICY q ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.t", 33_264),
        ("CREATE SECURITY POLICY q ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.nowhere", 33_268),
        ("CREATE SECURITY POLICY q ADD FILTER PREDICATE dbo.nothing(tenant) ON dbo.t", 33_270),
        ("CREATE SECURITY POLICY q ADD FILTER PREDICATE dbo.total(tenant) ON dbo.t", 33_270),
        ("CREATE SECURITY POLICY q ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.v", 33_263),
        ("CREATE SECURITY POLICY q ADD FILTER PREDICATE dbo.mine(tenant) ON #t", 33_269),
        ("CREATE SECURITY POLICY q ADD FILTER PREDICATE mine(tenant) ON dbo.t", 4512),
        ("ALTER SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(id) ON dbo.t", 33_262),
        ("ALTER SECURITY POLICY pol DROP BLOCK PREDICATE ON dbo.t", 33_261),
        ("ALTER SECURITY POLICY pol ALTER FILTER PREDICATE dbo.mine(nothing) ON dbo.t", 207),
        ("ALTER SECURITY POLICY pol ALTER FILTER PREDICATE dbo.mine() ON dbo.t", 313),
        ("ALTER SECURITY POLICY t WITH (STATE = ON)", 33_271),
        ("ALTER SECURITY POLICY nothing WITH (STATE = ON)", 33_268),
        ("DROP SECURITY POLICY nothing", 3701),
        ("CREATE SECURITY POLICY q", 102),
    ] {
        refused(&mut s, sql, number);
    }
    allowed(&mut s, "DROP SECURITY POLICY IF EXISTS nothing");
    // Off, another may be on.
    allowed(
        &mut s,
        "ALTER SECURITY POLICY pol WITH (STATE = OFF); CREATE SECURITY POLICY q ADD PREDICATE dbo.mine(id) ON dbo.t",
    );
    refused(&mut s, "ALTER SECURITY POLICY pol WITH (STATE = ON)", 33_264);
    says(&mut s, "SELECT COUNT(*) FROM t", "1");
    says(
        &mut s,
        "SELECT p.name, p.type, p.is_enabled, p.is_schema_bound, o.type_desc, OBJECT_NAME(x.target_object_id), x.predicate_definition,
           x.predicate_type_desc, x.operation FROM sys.security_policies p JOIN sys.security_predicates x ON x.object_id = p.object_id
           JOIN sys.objects o ON o.object_id = p.object_id ORDER BY p.name",
        "pol|SP|0|1|SECURITY_POLICY|t|([dbo].[mine](tenant))|FILTER|NULL\nq|SP|1|1|SECURITY_POLICY|t|([dbo].[mine](id))|FILTER|NULL",
    );
    allowed(
        &mut s,
        "DROP SECURITY POLICY q; DROP SECURITY POLICY pol; DROP TABLE t; DROP FUNCTION mine",
    );
}

#[test]
fn indexed_views_and_policies_exclude_each_other() {
    let instance = new(&SimDisk::new(5));
    let mut s = owner(&instance);
    allowed(&mut s, "CREATE VIEW kept WITH SCHEMABINDING AS SELECT id, tenant FROM dbo.t");
    allowed(&mut s, "CREATE UNIQUE CLUSTERED INDEX i ON kept (id)");
    refused(
        &mut s,
        "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.t",
        33_265,
    );
    allowed(&mut s, "DROP INDEX i ON kept");
    allowed(
        &mut s,
        "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.t WITH (STATE = OFF)",
    );
    refused(&mut s, "CREATE UNIQUE CLUSTERED INDEX i ON kept (id)", 33_266);
}

#[test]
fn views_have_filters_too() {
    let instance = new(&SimDisk::new(5));
    let mut s = owner(&instance);
    allowed(
        &mut s,
        "CREATE VIEW few WITH SCHEMABINDING AS SELECT id, tenant AS whose, v FROM dbo.t WHERE v > 0",
    );
    says(&mut s, "SELECT COUNT(*) FROM few", "4");
    allowed(&mut s, "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(whose) ON dbo.few");
    says(&mut s, "SELECT COUNT(*) FROM few; SELECT COUNT(*) FROM t", "0\n5");
    tenant(&mut s, 2);
    says(
        &mut s,
        "SELECT id FROM few; UPDATE few SET v = 31; DELETE few WHERE id = 1",
        "3\n(1)\n(0)",
    );
    refused(
        &mut s,
        "ALTER SECURITY POLICY pol ADD BLOCK PREDICATE dbo.mine(whose) ON dbo.few",
        33_503,
    );
    refused(
        &mut s,
        "CREATE SECURITY POLICY q ADD FILTER PREDICATE dbo.mine(whose) ON dbo.few",
        33_264,
    );
    refused(&mut s, "DROP VIEW few", 3729);
    refused(
        &mut s,
        "ALTER VIEW few WITH SCHEMABINDING AS SELECT id, tenant AS whose, v FROM dbo.t",
        3729,
    );
    // Its rows, where it keeps them.
    allowed(&mut s, "CREATE UNIQUE CLUSTERED INDEX i ON few (id)");
    says(&mut s, "SELECT id FROM few WITH (NOEXPAND)", "3");
    allowed(&mut s, "DROP SECURITY POLICY pol");
    says(&mut s, "SELECT COUNT(*) FROM few; SELECT COUNT(*) FROM few WITH (NOEXPAND)", "4\n4");
}

#[test]
fn without_schema_binding_the_caller_needs_the_function() {
    let instance = new(&SimDisk::new(5));
    let mut s = owner(&instance);
    allowed(&mut s, "CREATE USER ann WITHOUT LOGIN; GRANT SELECT ON t TO ann");
    allowed(
        &mut s,
        "CREATE FUNCTION loose (@t int) RETURNS TABLE AS RETURN SELECT 1 AS ok WHERE @t = 1",
    );
    refused(
        &mut s,
        "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.loose(tenant) ON dbo.t",
        4513,
    );
    allowed(
        &mut s,
        "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.loose(tenant) ON dbo.t WITH (STATE = ON, SCHEMABINDING = OFF)",
    );
    says(&mut s, "SELECT COUNT(*) FROM t", "2");
    refused(&mut s, "EXECUTE AS USER = 'ann'; SELECT COUNT(*) FROM t", 229);
    allowed(&mut s, "REVERT; GRANT SELECT ON loose TO ann");
    says(&mut s, "EXECUTE AS USER = 'ann'; SELECT COUNT(*) FROM t; REVERT", "2");
    // The function can change, and go: then nobody sees anything.
    allowed(
        &mut s,
        "ALTER FUNCTION loose (@t int) RETURNS TABLE AS RETURN SELECT 1 AS ok WHERE @t = 3",
    );
    says(&mut s, "SELECT COUNT(*) FROM t", "1");
    allowed(&mut s, "DROP FUNCTION loose");
    refused(&mut s, "SELECT COUNT(*) FROM t", 33_512);
    allowed(&mut s, "DROP TABLE t");
    says(&mut s, "SELECT COUNT(*) FROM sys.security_predicates", "0");
}

#[test]
fn rights_to_policies() {
    let instance = new(&SimDisk::new(5));
    let mut own = owner(&instance);
    run(&instance, &format!("CREATE LOGIN ann WITH PASSWORD = '{PASSWORD}'"));
    allowed(&mut own, "CREATE USER ann; GRANT SELECT ON t TO ann");
    let token = instance.authenticate("ann", PASSWORD, &ClientInfo::default()).unwrap();
    let mut ann = instance.session_for(&token, Some("d")).unwrap();
    let create = "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.t";
    refused(&mut ann, create, 262);
    allowed(&mut own, "GRANT ALTER ANY SECURITY POLICY TO ann");
    refused(&mut ann, create, 2760);
    allowed(&mut own, "CREATE SCHEMA sec");
    allowed(&mut own, "GRANT ALTER ON SCHEMA::sec TO ann");
    let create = "CREATE SECURITY POLICY sec.pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.t";
    refused(&mut ann, create, 33_268);
    allowed(&mut own, "GRANT REFERENCES ON t TO ann; GRANT SELECT, REFERENCES ON mine TO ann");
    allowed(&mut ann, create);
    says(&mut ann, "SELECT COUNT(*) FROM t", "0");
    // The steps of a histogram have values of rows that are not seen.
    allowed(&mut own, "UPDATE STATISTICS t");
    refused(&mut ann, "DBCC SHOW_STATISTICS ('dbo.t', by_tenant)", 7983);
    refused(&mut ann, "ALTER SECURITY POLICY nothing WITH (STATE = OFF)", 2760);
    allowed(&mut ann, "ALTER SECURITY POLICY sec.pol WITH (STATE = OFF)");
    says(&mut ann, "SELECT COUNT(*) FROM t", "5");
    allowed(&mut own, "REVOKE ALTER ANY SECURITY POLICY FROM ann");
    refused(&mut ann, "DROP SECURITY POLICY sec.pol", 262);
    refused(&mut ann, "ALTER SECURITY POLICY sec.pol WITH (STATE = OFF)", 262);
}

#[test]
fn a_policy_is_part_of_its_transaction_and_survives() {
    let disk = SimDisk::new(5);
    let instance = new(&disk);
    let mut s = owner(&instance);
    allowed(
        &mut s,
        "BEGIN TRAN; CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.t",
    );
    says(&mut s, "SELECT COUNT(*) FROM t; ROLLBACK; SELECT COUNT(*) FROM t", "0\n5");
    filtered(&instance);
    says(
        &mut s,
        "BEGIN TRAN; DROP SECURITY POLICY pol; SELECT COUNT(*) FROM t; ROLLBACK; SELECT COUNT(*) FROM t",
        "5\n0",
    );
    says(
        &mut s,
        "BEGIN TRAN; ALTER SECURITY POLICY pol WITH (STATE = OFF); SELECT COUNT(*) FROM t; ROLLBACK; SELECT COUNT(*) FROM t",
        "5\n0",
    );
    drop(s);
    let again = try_open(&disk.crash(1), 32 << 20).unwrap();
    let mut s = owner(&again);
    says(&mut s, "SELECT COUNT(*) FROM t", "0");
    tenant(&mut s, 2);
    allowed(&mut s, "EXEC sp_rename 'pol', 'other'");
    says(
        &mut s,
        "SELECT COUNT(*) FROM t; DROP SECURITY POLICY other; SELECT COUNT(*) FROM t",
        "2\n5",
    );
}

#[test]
fn histories_have_policies_of_their_own() {
    let instance = new(&SimDisk::new(5));
    let mut s = owner(&instance);
    allowed(
        &mut s,
        "CREATE TABLE kept (id int PRIMARY KEY, tenant int, f datetime2 GENERATED ALWAYS AS ROW START, u datetime2 GENERATED ALWAYS AS ROW END,
           PERIOD FOR SYSTEM_TIME (f, u)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.kept_before))",
    );
    allowed(&mut s, "INSERT kept (id, tenant) VALUES (1, 1), (2, 2)");
    allowed(&mut s, "UPDATE kept SET tenant = tenant");
    allowed(&mut s, "CREATE SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.kept");
    tenant(&mut s, 1);
    says(
        &mut s,
        "SELECT COUNT(*) FROM kept; SELECT COUNT(*) FROM kept FOR SYSTEM_TIME ALL",
        "1\n3",
    );
    refused(
        &mut s,
        "ALTER SECURITY POLICY pol ADD BLOCK PREDICATE dbo.mine(tenant) ON dbo.kept_before",
        33_510,
    );
    allowed(
        &mut s,
        "ALTER SECURITY POLICY pol ADD FILTER PREDICATE dbo.mine(tenant) ON dbo.kept_before",
    );
    says(&mut s, "SELECT COUNT(*) FROM kept FOR SYSTEM_TIME ALL", "2");
    // The engine writes the history of what is changed, whatever is seen of it.
    says(&mut s, "UPDATE kept SET tenant = 2; SELECT COUNT(*) FROM kept_before", "(1)\n2");
}

#[test]
fn triggers_and_bulk_loads() {
    let instance = new(&SimDisk::new(5));
    let mut s = filtered(&instance);
    tenant(&mut s, 1);
    // A trigger's statements see what its session sees, and all of what was changed.
    allowed(
        &mut s,
        "CREATE TRIGGER tr ON t AFTER INSERT AS SELECT (SELECT COUNT(*) FROM inserted), (SELECT COUNT(*) FROM t)",
    );
    says(&mut s, "INSERT t VALUES (20, 1, 0, NULL), (21, 2, 0, NULL)", "2|3\n(2)");
    allowed(
        &mut s,
        "CREATE TRIGGER instead ON t INSTEAD OF DELETE AS DELETE t WHERE id IN (SELECT id FROM deleted)",
    );
    says(&mut s, "DELETE t WHERE id IN (3, 20); SELECT COUNT(*) FROM t", "(1)\n(1)\n2");
    allowed(&mut s, "DROP TRIGGER tr; DROP TRIGGER instead");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.txt");
    std::fs::write(&path, "30\t1\t0\ta\n31\t2\t0\tb\n").unwrap();
    let load = format!("BULK INSERT t FROM '{}' WITH (ROWTERMINATOR = '\\n')", path.display());
    allowed(
        &mut s,
        "ALTER SECURITY POLICY pol ADD BLOCK PREDICATE dbo.mine(tenant) ON dbo.t AFTER INSERT",
    );
    refused(&mut s, &load, 33_504);
    says(&mut s, "SELECT COUNT(*) FROM t", "2");
    std::fs::write(&path, "30\t1\t0\ta\n").unwrap();
    says(&mut s, &load, "(1)");
    says(&mut s, "SELECT COUNT(*) FROM t", "3");
}
