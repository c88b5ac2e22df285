"""pymssql (FreeTDS inside): parameters are written into the text by the client; transactions by BEGIN TRAN batches."""

import os
import sys

import pymssql

import checks


class Adapter:
    name = "pymssql"
    Error = (pymssql.Error, pymssql.exceptions.OperationalError)
    # What the settings of FreeTDS call `encryption`.
    modes = [{"encryption": "off"}, {"encryption": "request"}, {"encryption": "require"}]
    # Of a failed login it has the last error only.
    unknown_database = 18456
    without_types = {
        "datetime2(6)": "the client writes milliseconds into its texts",
        "time(6)": "the client writes milliseconds into its texts",
    }
    cannot = {}

    def connect(self, **given):
        settings = dict(
            server=os.environ["RINGWOOD_HOST"],
            port=os.environ["RINGWOOD_PORT"],
            user=os.environ["RINGWOOD_USER"],
            password=os.environ["RINGWOOD_PASSWORD"],
            database="tempdb",
            charset="UTF-8",
        )
        settings.update(given)
        return pymssql.connect(**settings)

    def run(self, c, text, params=None, types=None):
        cur = c.cursor()
        if params is None:
            cur.execute(text)
        else:
            cur.execute(text.replace("?", "%s"), tuple(self.given(p, types) for p in params))
        return cur

    def given(self, value, ty):
        # bytes would become a literal of text.
        if isinstance(value, bytes):
            return bytearray(value)
        # A text literal of pymssql is N'...'; uniqueidentifier takes it.
        return str(value) if ty == "uniqueidentifier" and value is not None and not isinstance(value, int) else value

    def rows(self, c, text, params=None):
        return self.run(c, text, params).fetchall()

    def many(self, c, text, rows):
        c.cursor().executemany(text.replace("?", "%s"), rows)

    def autocommit(self, c, on):
        c.autocommit(on)

    def as_read(self, ty, value):
        return value

    def numbers(self, e):
        return [a for a in self.flat(e.args)]

    def flat(self, args):
        for a in args:
            if isinstance(a, (tuple, list)):
                yield from self.flat(a)
            else:
                yield a
                text = a.decode("utf-8", "replace") if isinstance(a, bytes) else str(a)
                # A failed connection has all messages in one text.
                for number in (18456, 4060):
                    if str(number) in text:
                        yield number
                if "Login failed for user" in text:
                    yield 18456
                if "Cannot open database" in text:
                    yield 4060

    def says(self, e, part):
        assert part in str(e), str(e)

    def cancel_after(self, c, seconds, text):
        # pymssql has no cancel of its own: a query timeout sends the attention.
        import pymssql as p

        with p.connect(
            server=os.environ["RINGWOOD_HOST"],
            port=os.environ["RINGWOOD_PORT"],
            user=os.environ["RINGWOOD_USER"],
            password=os.environ["RINGWOOD_PASSWORD"],
            timeout=1,
        ) as t:
            try:
                self.run(t, text)
            except p.Error:
                return
            raise checks.Failed("the query was not cancelled")

    def bulk(self, c, table, columns, rows):
        c.bulk_copy(table, rows)

    def pool(self, equal):
        # pymssql has no pool; closing a cursor with unread rows sends an attention, which is what
        # its frameworks do.
        with self.connect() as c:
            cur = self.run(c, "select value from generate_series(1, 100000)")
            cur.fetchone()
            cur.close()
            equal(self.rows(c, "select 7")[0][0], 7)


sys.exit(1 if checks.run(Adapter()) else 0)
