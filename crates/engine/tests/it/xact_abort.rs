//! XACT_ABORT and the errors of inner scopes that a CATCH of a calling scope takes: what they do to
//! the transaction is decided where they arise.

use crate::support::text::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    for sql in [
        "SET NOCOUNT ON; CREATE TABLE t (a int PRIMARY KEY); INSERT t VALUES (1)",
        "CREATE TABLE u (a int)",
        "CREATE PROCEDURE raises AS RAISERROR ('no', 16, 1)",
        "CREATE PROCEDURE throws AS THROW 50001, 'no', 1",
        "CREATE PROCEDURE doubles AS INSERT t VALUES (1)",
        "CREATE PROCEDURE converts AS SELECT CAST('x' AS int)",
        "CREATE PROCEDURE reads AS SELECT a FROM nowhere",
        "CREATE PROCEDURE raises_below AS EXEC raises",
        "CREATE PROCEDURE throws_below AS EXEC throws",
        "CREATE PROCEDURE doubles_below AS EXEC doubles",
        "CREATE PROCEDURE reads_below AS EXEC reads",
        "CREATE PROCEDURE rethrows AS BEGIN TRY EXEC raises END TRY BEGIN CATCH THROW END CATCH",
        "CREATE PROCEDURE raises_again AS
         BEGIN TRY EXEC raises END TRY BEGIN CATCH RAISERROR ('again', 16, 1) END CATCH",
        "CREATE PROCEDURE strict AS SET XACT_ABORT ON; INSERT t VALUES (1)",
        "CREATE PROCEDURE lax AS SET XACT_ABORT OFF; INSERT t VALUES (1)",
        "CREATE PROCEDURE lax_throws AS SET XACT_ABORT OFF; THROW 50001, 'no', 1",
        "CREATE FUNCTION divides () RETURNS int AS BEGIN DECLARE @no int = 0; RETURN 1 / @no END",
        "CREATE FUNCTION casts () RETURNS int AS BEGIN DECLARE @x char = 'x'; RETURN @x END",
        "CREATE TABLE warned (a int)",
        "CREATE TRIGGER warns ON warned FOR INSERT AS RAISERROR ('no', 16, 1)",
        "CREATE TABLE guarded (a int)",
        "CREATE TRIGGER guards ON guarded INSTEAD OF INSERT AS EXEC raises_below",
        "CREATE TABLE stopped (a int)",
        "CREATE TRIGGER stops ON stopped FOR INSERT AS THROW 50001, 'no', 1",
    ] {
        b.check(sql, "");
    }
    b
}

/// The error that the CATCH around a call takes, and XACT_STATE() in it.
#[track_caller]
fn caught(b: &mut Bench, option: &str, call: &str, expected: &str) {
    b.check(
        &format!(
            "SET XACT_ABORT {option}
             BEGIN TRAN
             BEGIN TRY {call} END TRY
             BEGIN CATCH PRINT CONCAT(ERROR_NUMBER(), ' ', XACT_STATE()) END CATCH
             IF @@TRANCOUNT > 0 ROLLBACK"
        ),
        expected,
    );
}

#[test]
fn an_error_dooms_by_what_it_is_where_it_arises() {
    let b = &mut bench();
    for (call, off, on) in [
        ("EXEC raises", "50000 1", "50000 1"),
        ("EXEC throws", "50001 1", "50001 -1"),
        ("EXEC doubles", "2627 1", "2627 -1"),
        ("EXEC converts", "245 -1", "245 -1"),
        ("EXEC reads", "208 1", "208 -1"),
        ("EXEC raises_below", "50000 1", "50000 1"),
        ("EXEC throws_below", "50001 1", "50001 -1"),
        ("EXEC doubles_below", "2627 1", "2627 -1"),
        ("EXEC reads_below", "208 1", "208 -1"),
        ("EXEC rethrows", "50000 1", "50000 -1"),
        ("EXEC raises_again", "50000 1", "50000 1"),
        // The option that counts is the one in the scope of the error.
        ("EXEC strict", "2627 -1", "2627 -1"),
        ("EXEC lax", "2627 1", "2627 1"),
        ("EXEC lax_throws", "50001 1", "50001 1"),
        ("EXEC ('RAISERROR (''no'', 16, 1)')", "50000 1", "50000 1"),
        ("EXEC ('EXEC raises_below')", "50000 1", "50000 1"),
        ("EXEC ('THROW 50001, ''no'', 1')", "50001 1", "50001 -1"),
        ("EXEC sp_executesql N'RAISERROR (''no'', 16, 1)'", "50000 1", "50000 1"),
        ("EXEC sp_executesql N'INSERT t VALUES (1)'", "2627 1", "2627 -1"),
        ("INSERT u EXEC raises", "50000 1", "50000 1"),
        ("INSERT u EXEC ('EXEC raises_below')", "50000 1", "50000 1"),
        ("INSERT u EXEC throws", "50001 1", "50001 -1"),
        ("INSERT u EXEC doubles", "2627 1", "2627 -1"),
        ("DECLARE @i int = dbo.divides()", "8134 1", "8134 -1"),
        ("DECLARE @i int = dbo.casts()", "245 -1", "245 -1"),
        // XACT_ABORT is on in a trigger, and no error that leaves it spares the transaction.
        ("INSERT warned VALUES (1)", "50000 -1", "50000 -1"),
        ("INSERT guarded VALUES (1)", "50000 -1", "50000 -1"),
        ("INSERT stopped VALUES (1)", "50001 -1", "50001 -1"),
    ] {
        caught(b, "OFF", call, off);
        caught(b, "ON", call, on);
    }
}

#[test]
fn a_transaction_goes_on_after_raiserror() {
    let b = &mut bench();
    b.check(
        "SET XACT_ABORT ON
         BEGIN TRAN
         INSERT t VALUES (2)
         BEGIN TRY INSERT u EXEC raises_below END TRY BEGIN CATCH INSERT t VALUES (3) END CATCH
         BEGIN TRY EXEC raises_again END TRY BEGIN CATCH INSERT t VALUES (4) END CATCH
         COMMIT
         SELECT COUNT(*), @@TRANCOUNT FROM t",
        "4|0",
    );
    // A CATCH in between takes it: nothing arrives at the outer one.
    b.check(
        "CREATE PROCEDURE takes AS
         BEGIN TRY EXEC raises_below END TRY BEGIN CATCH PRINT XACT_STATE() END CATCH",
        "",
    );
    caught(b, "ON", "EXEC takes", "1");
}

#[test]
fn outside_of_a_transaction_there_is_none_to_doom() {
    let b = &mut bench();
    for option in ["OFF", "ON"] {
        for call in ["INSERT warned VALUES (1)", "INSERT guarded VALUES (1)", "EXEC raises_below"] {
            b.check(
                &format!(
                    "SET XACT_ABORT {option}
                     BEGIN TRY {call} END TRY
                     BEGIN CATCH PRINT CONCAT(ERROR_NUMBER(), ' ', XACT_STATE()) END CATCH
                     SELECT COUNT(*), @@TRANCOUNT FROM warned"
                ),
                "50000 0\n0|0",
            );
        }
    }
}
