"""What the server does with its time in requests of a Python driver (`clients/phases`).

Its arguments are DRIVER SELECTS INSERTS. For each statement and phase it prints a line, separated by tabs:
driver, statement, executions, their seconds, phase, requests that were in it, their microseconds in it, those
of the processor.
`Phases.java` does the same with JDBC.
"""

import glob
import os
import sys
import time

# Rows of the table that is selected from.
ROWS = 10_000
PHASES = "select phase, request_count, total_us, total_cpu_us from sys.dm_ringwood_request_phases"


def connect_odbc(database):
    import mssql_python
    import pyodbc

    # The package mssql-python-odbc of mssql-python brings the driver.
    site = os.path.dirname(os.path.dirname(mssql_python.__file__))
    folder = os.path.join(site, "mssql_python*", "libs", "linux", "debian_ubuntu", "x86_64", "lib")
    found = glob.glob(os.path.join(folder, "libmsodbcsql-18*"))
    if not found:
        raise SystemExit("the ODBC driver is not in the package mssql-python")
    settings = {
        "DRIVER": sorted(found)[0],
        "SERVER": f"{os.environ['RINGWOOD_HOST']},{os.environ['RINGWOOD_PORT']}",
        "UID": os.environ["RINGWOOD_USER"],
        "PWD": os.environ["RINGWOOD_PASSWORD"],
        "DATABASE": database,
        "Encrypt": "yes",
        "TrustServerCertificate": "yes",
    }
    return pyodbc.connect(";".join(f"{k}={v}" for k, v in settings.items()), autocommit=True)


def connect_pymssql(database):
    import pymssql

    return pymssql.connect(
        server=os.environ["RINGWOOD_HOST"],
        port=os.environ["RINGWOOD_PORT"],
        user=os.environ["RINGWOOD_USER"],
        password=os.environ["RINGWOOD_PASSWORD"],
        database=database,
        charset="UTF-8",
        encryption="require",
        autocommit=True,
    )


# How each connects, its mark for a parameter, and how its statements get to the server.
DRIVERS = {
    "odbc": (connect_odbc, "?", "prepared"),
    "pymssql": (connect_pymssql, "%s", "text"),
}


def run(connection, *statements):
    cursor = connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()


def read(connection):
    """What the server has counted of each phase: requests, microseconds, those of the processor."""
    cursor = connection.cursor()
    cursor.execute(PHASES)
    phases = {phase: counted for phase, *counted in cursor.fetchall()}
    cursor.close()
    return phases


def measure(connection, driver, statement, count, execute):
    warm_up = max(500, count // 10)
    for n in range(warm_up):
        execute(n)
    # The reading before counts as a request of the measurement: its plan is found by the one before
    # it.
    read(connection)
    before = read(connection)
    begun = time.perf_counter()
    for n in range(warm_up, warm_up + count):
        execute(n)
    seconds = time.perf_counter() - begun
    for phase, now in read(connection).items():
        counted = (after - earlier for after, earlier in zip(now, before[phase]))
        print(driver, statement, count, seconds, phase, *counted, sep="\t")


def main():
    driver, selects, inserts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    connect, mark, way = DRIVERS[driver]
    database = f"phases_{driver}"
    # tempdb, where the checks of clients work, makes no commit durable.
    connection = connect("tempdb")
    run(connection, f"create database {database}")
    connection.close()
    connection = connect(database)
    run(
        connection,
        "create table item (id int primary key, name varchar(40) not null, price int not null)",
        f"insert item select value, concat('item ', value), value * 7 from generate_series(1, {ROWS})",
        "create table entry (id int primary key, name varchar(40) not null)",
        "dbcc traceon (15001, -1) with no_infomsgs",
    )

    cursor = connection.cursor()
    select = f"select name, price from item where id = {mark}"

    def select_one(n):
        key = 1 + n * 7919 % ROWS
        cursor.execute(select, (key,))
        rows = cursor.fetchall()
        if len(rows) != 1 or rows[0][1] != key * 7:
            raise SystemExit(f"the row of key {key} is {rows}")

    measure(connection, driver, f"SELECT by key, {way}", selects, select_one)
    cursor.close()

    cursor = connection.cursor()
    insert = f"insert entry values ({mark}, {mark})"

    def insert_one(n):
        # All texts have one length: the ODBC driver declares a parameter by it, and would prepare
        # again.
        cursor.execute(insert, (n, f"entry {n:09}"))

    measure(connection, driver, f"INSERT, {way}", inserts, insert_one)
    cursor.close()
    connection.close()


main()
