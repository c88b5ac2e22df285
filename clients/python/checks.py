"""The shared list of checks for Python's DB-API drivers: each driver's file gives an adapter, this file has the checks.

A check is a function; it passes when it returns. What a driver cannot do at all is left out by its adapter with the reason
(`cannot`), which is printed and is not counted as passed.
"""

import datetime
import decimal
import threading
import time
import traceback
import uuid

# What goes there and back: column type, values as this language has them, and a T-SQL literal that
# equals the first value.
D = decimal.Decimal
TYPES = [
    ("bit", [True, False], "1"),
    ("tinyint", [255, 0], "255"),
    ("smallint", [-32768, 32767], "-32768"),
    ("int", [-2147483648, 2147483647], "-2147483648"),
    ("bigint", [-9223372036854775808, 9223372036854775807], "-9223372036854775808"),
    ("decimal(18,4)", [D("12345678901234.5678"), D("-0.0001")], "12345678901234.5678"),
    ("numeric(38,10)", [D("1234567890123456789012345678.0123456789"), D("0E-10")], "1234567890123456789012345678.0123456789"),
    ("money", [D("-922337203685477.5808"), D("922337203685477.5807")], "-922337203685477.5808"),
    ("smallmoney", [D("214748.3647"), D("-214748.3648")], "214748.3647"),
    ("float", [1.7976931348623157e308, -2.25], "1.7976931348623157e308"),
    ("real", [2.25, -0.5], "2.25"),
    ("date", [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)], "'0001-01-01'"),
    ("datetime2(6)", [datetime.datetime(2024, 2, 29, 23, 59, 59, 999999), datetime.datetime(1, 1, 1)], "'2024-02-29T23:59:59.999999'"),
    ("datetime", [datetime.datetime(2024, 2, 29, 12, 30, 15, 250000), datetime.datetime(1753, 1, 1)], "'2024-02-29T12:30:15.250'"),
    ("smalldatetime", [datetime.datetime(2079, 6, 6, 23, 59), datetime.datetime(1900, 1, 1)], "'2079-06-06T23:59:00'"),
    ("time(6)", [datetime.time(23, 59, 59, 999999), datetime.time(0, 0)], "'23:59:59.999999'"),
    ("varchar(50)", ["caf\u00e9", ""], "'caf\u00e9'"),
    ("char(5)", ["ab   ", "abcde"], "'ab'"),
    ("nvarchar(50)", ["\u0416\u4e2d\U0001f600", "o'clock"], "N'\u0416\u4e2d\U0001f600'"),
    ("nchar(4)", ["\u20ac\u20ac\u20ac\u20ac", "a   "], "N'\u20ac\u20ac\u20ac\u20ac'"),
    ("varchar(max)", ["x" * 100_000, ""], "replicate(cast('x' as varchar(max)), 100000)"),
    ("nvarchar(max)", ["\u4e2d" * 100_000, ""], "replicate(cast(N'\u4e2d' as nvarchar(max)), 100000)"),
    ("varbinary(20)", [b"\x00\xca\xfe\xff", b""], "0x00cafeff"),
    ("binary(4)", [b"\x01\x02\x03\x04", b"\x00\x00\x00\x00"], "0x01020304"),
    ("varbinary(max)", [bytes(range(256)) * 400, b""], None),
    ("uniqueidentifier", [uuid.UUID("6f9619ff-8b86-d011-b42d-00c04fc964ff"), uuid.UUID(int=0)], "'6F9619FF-8B86-D011-B42D-00C04FC964FF'"),
]


class Failed(Exception):
    pass


def equal(got, want, what=""):
    if got != want:
        raise Failed(f"{what}: got {str(got)[:200]!r}, want {str(want)[:200]!r}")


def raises(adapter, number, work):
    """Runs `work` and wants the server's error `number`; gives the error."""
    try:
        work()
    except adapter.Error as e:
        if number not in adapter.numbers(e):
            raise Failed(f"wanted error {number}, got {e!r}")
        return e
    raise Failed(f"wanted error {number}, there was none")


class Checks:
    def __init__(self, adapter):
        self.a = adapter

    def names(self):
        return [name for name in dir(self) if name.startswith("check_")]

    # -- connecting

    def check_connect_in_every_mode(self):
        for mode in self.a.modes:
            with self.a.connect(**mode) as c:
                equal(self.a.rows(c, "select 1 + 1")[0][0], 2, str(mode))

    def check_wrong_password(self):
        raises(self.a, 18456, lambda: self.a.connect(password="wrong-password-1"))

    def check_unknown_database(self):
        raises(self.a, self.a.unknown_database, lambda: self.a.connect(database="no_such_database"))

    # -- values

    def check_types_there_and_back(self):
        with self.a.connect() as c:
            wrong = []
            for ty, values, literal in TYPES:
                if ty in self.a.without_types:
                    print(f"skip {self.a.name}: {ty}: {self.a.without_types[ty]}", flush=True)
                    continue
                try:
                    self.round_trip(c, ty, values, literal)
                except Exception as e:  # every type is tried
                    wrong.append(f"{ty}: {str(e)[:300]}")
                    c.rollback()
            if wrong:
                raise Failed("; ".join(wrong))

    def round_trip(self, c, ty, values, literal):
        self.a.run(c, f"create table #there (id int primary key, v {ty} null)")
        for at, value in enumerate(values + [None]):
            self.a.run(c, "insert #there values (?, ?)", (at, value), types=ty)
        got = [row[0] for row in self.a.rows(c, "select v from #there order by id")]
        want = [self.a.as_read(ty, v) for v in values] + [None]
        equal(got, want, "read back")
        if literal is not None:
            same = self.a.rows(c, f"select count(*) from #there where id = 0 and v = {literal}")
            equal(same[0][0], 1, f"equal to {literal[:40]} at the server")
        self.a.run(c, "drop table #there")

    def check_unicode_and_names(self):
        with self.a.connect() as c:
            self.a.run(c, "create table #n ([se\u00f1or \u4e2d] nvarchar(40), [b]]c] int)")
            self.a.run(c, "insert #n values (N'\u00e4\U0001f600', 1)")
            cur = self.a.run(c, "select * from #n")
            equal([d[0] for d in cur.description], ["se\u00f1or \u4e2d", "b]c"])
            equal(tuple(cur.fetchall()[0]), ("\u00e4\U0001f600", 1))

    def check_big_values(self):
        with self.a.connect() as c:
            text = "\u00e9" * 3_000_000
            data = bytes(range(256)) * 12_000
            self.a.run(c, "create table #big (t nvarchar(max), b varbinary(max))")
            self.a.run(c, "insert #big values (?, ?)", (text, data), types="varbinary(max)")
            row = self.a.rows(c, "select t, b, datalength(t), datalength(b) from #big")[0]
            equal(row[0], text)
            equal(bytes(row[1]), data)
            equal((row[2], row[3]), (6_000_000, 3_072_000))

    def check_many_rows(self):
        with self.a.connect() as c:
            cur = self.a.run(c, "select value, replicate('x', value % 100) from generate_series(1, 200000)")
            n = total = 0
            for row in cur:
                n += 1
                total += len(row[1])
            equal((n, total), (200_000, 200_000 // 100 * 4950))

    # -- statements

    def check_parameters(self):
        with self.a.connect() as c:
            rows = self.a.rows(c, "select ? + ?, ? + N'!', coalesce(?, 5)", (2, 3, "it''s", None))
            equal(tuple(rows[0]), (5, "it''s!", 5))

    def check_prepared(self):
        with self.a.connect() as c:
            self.a.run(c, "create table #p (id int primary key, v varchar(20))")
            self.a.many(c, "insert #p values (?, ?)", [(i, f"v{i}") for i in range(500)])
            for i in range(0, 500, 7):
                equal(self.a.rows(c, "select v from #p where id = ?", (i,))[0][0], f"v{i}")

    def check_row_counts(self):
        with self.a.connect() as c:
            self.a.run(c, "create table #r (id int)")
            equal(self.a.run(c, "insert #r select value from generate_series(1, 40)").rowcount, 40)
            equal(self.a.run(c, "update #r set id = id + 1 where id <= 10").rowcount, 10)
            equal(self.a.run(c, "delete #r").rowcount, 40)

    def check_several_result_sets(self):
        with self.a.connect() as c:
            cur = self.a.run(c, "select 1 a; select 'x' b, 2 c union all select 'y', 3; select 4 where 1 = 0")
            sets = [[tuple(r) for r in cur.fetchall()]]
            while cur.nextset():
                sets.append([tuple(r) for r in cur.fetchall()])
            equal(sets, [[(1,)], [("x", 2), ("y", 3)], []])

    def check_procedure(self):
        with self.a.connect() as c:
            self.a.run(c, "create or alter procedure dbo.twice @n int, @out int output as begin select @n as given; set @out = @n * 2; return 7 end")
            c.commit()
            cur = self.a.run(c, "set nocount on; declare @o int, @s int; exec @s = dbo.twice 21, @o output; select @o, @s")
            equal(cur.fetchall()[0][0], 21)
            cur.nextset()
            equal(tuple(cur.fetchall()[0]), (42, 7))
            self.a.run(c, "drop procedure dbo.twice")
            c.commit()

    # -- transactions

    def check_transactions(self):
        with self.a.connect() as c, self.a.connect() as other:
            self.a.run(c, "drop table if exists tx_check; create table tx_check (id int)")
            c.commit()
            self.a.run(c, "insert tx_check values (1)")
            c.rollback()
            equal(self.a.rows(c, "select count(*) from tx_check")[0][0], 0, "after rollback")
            self.a.run(c, "insert tx_check values (2)")
            c.commit()
            equal(self.a.rows(other, "select id from tx_check")[0][0], 2, "another connection, after commit")
            # T-SQL's own statements, in one batch.
            c.commit()
            self.a.autocommit(c, True)
            self.a.run(c, "begin tran; insert tx_check values (3); rollback")
            self.a.run(c, "begin tran; insert tx_check values (4); commit")
            equal([r[0] for r in self.a.rows(c, "select id from tx_check order by id")], [2, 4])
            self.a.run(c, "insert tx_check values (5)")
            equal(self.a.rows(other, "select count(*) from tx_check")[0][0], 3, "autocommit")
            self.a.run(c, "set implicit_transactions on")
            self.a.run(c, "insert tx_check values (6)")
            equal(self.a.rows(c, "select @@trancount")[0][0], 1, "implicit transaction")
            self.a.run(c, "rollback")
            self.a.run(c, "set implicit_transactions off")
            equal(self.a.rows(c, "select count(*), @@trancount from tx_check")[0][0], 3)
            other.rollback()
            self.a.run(c, "drop table tx_check")

    def check_errors(self):
        with self.a.connect() as c:
            e = raises(self.a, 208, lambda: self.a.run(c, "-- not here\nselect * from no_such_table"))
            self.a.says(e, "no_such_table")
            c.rollback()
            self.a.run(c, "create table #k (id int primary key)")
            raises(self.a, 2627, lambda: self.a.run(c, "insert #k values (1), (1)"))
            raises(self.a, 8134, lambda: self.a.rows(c, "select 1 / 0"))
            raises(self.a, 50000, lambda: self.a.run(c, "raiserror('of ours', 16, 1)"))
            raises(self.a, 51000, lambda: self.a.run(c, "throw 51000, 'thrown', 1"))
            raises(self.a, 102, lambda: self.a.run(c, "select 1 +"))
            c.rollback()
            equal(self.a.rows(c, "select 5")[0][0], 5, "the connection goes on")

    # -- the connection's life

    def check_cancel(self):
        with self.a.connect() as c:
            began = time.monotonic()
            self.a.cancel_after(c, 0.5, "waitfor delay '00:00:30'")
            took = time.monotonic() - began
            if took > 5:
                raise Failed(f"the cancel took {took:.1f} s")
            c.rollback()
            equal(self.a.rows(c, "select 6")[0][0], 6, "the connection goes on")

    def check_bulk_load(self):
        with self.a.connect() as c:
            self.a.run(c, "drop table if exists bulk_check; create table bulk_check (id int not null, name nvarchar(40), amount decimal(10,2))")
            c.commit()
            rows = [(i, f"n\u00e4me {i}" if i % 3 else None, D(i) / 4) for i in range(5000)]
            self.a.bulk(c, "bulk_check", ["id", "name", "amount"], rows)
            c.commit()
            got = self.a.rows(c, "select count(*), count(name), sum(amount), max(name) from bulk_check")[0]
            equal(tuple(got), (5000, 3333, D("3124375.00"), "n\u00e4me 998"))
            self.a.run(c, "drop table bulk_check")
            c.commit()

    def check_pool_with_reset(self):
        self.a.pool(equal)

    def check_32_connections(self):
        wrong = []

        def work(n):
            try:
                with self.a.connect() as c:
                    for i in range(20):
                        equal(self.a.rows(c, "select ? * 2, @@spid", (n * i,))[0][0], n * i * 2)
            except Exception as e:
                wrong.append(repr(e))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(32)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if wrong:
            raise Failed(f"{len(wrong)} of 32: {wrong[0]}")


def run(adapter):
    """Runs all checks; prints a line each; gives the number that failed."""
    checks = Checks(adapter)
    failed = 0
    for name in checks.names():
        title = name.removeprefix("check_").replace("_", " ")
        if name in adapter.cannot:
            print(f"skip {adapter.name}: {title}: {adapter.cannot[name]}", flush=True)
            continue
        try:
            getattr(checks, name)()
            print(f"ok {adapter.name}: {title}", flush=True)
        except Exception as e:
            failed += 1
            text = str(e) if isinstance(e, Failed) else "".join(traceback.format_exception_only(e)).strip()
            print(f"FAILED {adapter.name}: {title}: {text}", flush=True)
    return failed
