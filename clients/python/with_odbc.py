"""Microsoft's ODBC driver 18, as the package mssql-python brings it, under pyodbc."""

import glob
import os
import sys
import threading

import mssql_python
import pyodbc

import checks


def driver():
    """The driver's library, which the package mssql-python-odbc of mssql-python brings."""
    site = os.path.dirname(os.path.dirname(mssql_python.__file__))
    found = glob.glob(os.path.join(site, "mssql_python*", "libs", "linux", "debian_ubuntu", "x86_64", "lib", "libmsodbcsql-18*"))
    if not found:
        raise SystemExit("FAILED odbc18: the driver is not in the package mssql-python")
    return sorted(found)[0]


class Adapter:
    name = "odbc18"
    Error = pyodbc.Error
    modes = [
        {"Encrypt": "no"},
        {"Encrypt": "yes", "TrustServerCertificate": "yes"},
        {"Encrypt": "strict", "ServerCertificate": os.environ["RINGWOOD_CERTIFICATE"]},
    ]
    unknown_database = 4060
    without_types = {"time(6)": "pyodbc sends whole seconds"}
    cannot = {"check_bulk_load": "pyodbc has no bulk load"}

    def connect(self, password=None, database=None, **given):
        settings = {
            "DRIVER": driver(),
            "SERVER": f"{os.environ['RINGWOOD_HOST']},{os.environ['RINGWOOD_PORT']}",
            "UID": os.environ["RINGWOOD_USER"],
            "PWD": password or os.environ["RINGWOOD_PASSWORD"],
            "DATABASE": database or "tempdb",
            "Encrypt": "yes",
            "TrustServerCertificate": "yes",
        }
        settings.update(given)
        return pyodbc.connect(";".join(f"{k}={v}" for k, v in settings.items()))

    def run(self, c, text, params=None, types=None):
        cur = c.cursor()
        if params is None:
            return cur.execute(text)
        if types and "binary" in types and None in params:
            # pyodbc sends an untyped NULL as varchar, which does not convert to binary.
            cur.setinputsizes([None, (pyodbc.SQL_VARBINARY, 20, 0)])
        return cur.execute(text, params)

    def rows(self, c, text, params=None):
        return self.run(c, text, params).fetchall()

    def many(self, c, text, rows):
        cur = c.cursor()
        cur.fast_executemany = True
        cur.executemany(text, rows)

    def autocommit(self, c, on):
        c.autocommit = on

    def as_read(self, ty, value):
        return str(value).upper() if ty == "uniqueidentifier" else value

    def numbers(self, e):
        import re

        return [int(n) for n in re.findall(r"\((\d+)\)", str(e))]

    def says(self, e, part):
        assert part in str(e), str(e)

    def cancel_after(self, c, seconds, text):
        cur = c.cursor()
        timer = threading.Timer(seconds, cur.cancel)
        timer.start()
        try:
            cur.execute(text)
        except pyodbc.Error:
            return
        raise checks.Failed("the query was not cancelled")

    def pool(self, equal):
        # The driver manager's pool gives the same connection again, reset.
        pyodbc.pooling = True
        with self.connect() as c:
            self.run(c, "create table #left (id int); set datefirst 3")
            c.commit()
        c.close()
        with self.connect() as c:
            equal(self.rows(c, "select object_id('tempdb..#left')")[0][0], None)
            equal(self.rows(c, "select @@datefirst")[0][0], 7)


sys.exit(1 if checks.run(Adapter()) else 0)
