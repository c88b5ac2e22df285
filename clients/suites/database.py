"""Makes the database of a suite and its schemas, as SQLAlchemy's own provisioning makes one. Its name is the argument."""

import os
import sys

import pymssql

name = sys.argv[1]
connection = pymssql.connect(
    server=os.environ["RINGWOOD_HOST"],
    port=os.environ["RINGWOOD_PORT"],
    user=os.environ["RINGWOOD_USER"],
    password=os.environ["RINGWOOD_PASSWORD"],
    autocommit=True,
)
cursor = connection.cursor()
for statement in [
    f"create database {name}",
    f"alter database {name} set allow_snapshot_isolation on",
    f"alter database {name} set read_committed_snapshot on",
    f"use {name}",
    "create schema test_schema",
    "create schema test_schema_2",
]:
    cursor.execute(statement)
