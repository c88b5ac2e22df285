"""SQLAlchemy over pymssql: the schema of a small shop made, filled, queried, reflected and dropped."""

import decimal
import os
import sys
import urllib.parse

import sqlalchemy as sa
from sqlalchemy import orm

import checks
from checks import equal

password = urllib.parse.quote(os.environ["RINGWOOD_PASSWORD"], safe="")
URL = f"mssql+pymssql://{os.environ['RINGWOOD_USER']}:{password}@{os.environ['RINGWOOD_HOST']}:{os.environ['RINGWOOD_PORT']}/shop_sqlalchemy"


class Base(orm.DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customer"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.Unicode(40), index=True)
    orders: orm.Mapped[list["Order"]] = orm.relationship(back_populates="customer", cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "order"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    customer_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("customer.id"))
    amount: orm.Mapped[decimal.Decimal] = orm.mapped_column(sa.Numeric(12, 2))
    customer: orm.Mapped[Customer] = orm.relationship(back_populates="orders")


def make_database():
    master = sa.create_engine(URL.rsplit("/", 1)[0] + "/master", isolation_level="AUTOCOMMIT")
    with master.connect() as c:
        c.execute(sa.text("drop database if exists shop_sqlalchemy"))
        c.execute(sa.text("create database shop_sqlalchemy"))
    master.dispose()


def check_schema(engine):
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)
    found = sa.inspect(engine)
    equal(sorted(found.get_table_names()), ["customer", "order"])
    equal([c["name"] for c in found.get_columns("order")], ["id", "customer_id", "amount"])
    equal(str(found.get_columns("order")[2]["type"]), "NUMERIC(12, 2)")
    equal(found.get_pk_constraint("order")["constrained_columns"], ["id"])
    equal([(f["constrained_columns"], f["referred_table"]) for f in found.get_foreign_keys("order")], [(["customer_id"], "customer")])
    equal([i["column_names"] for i in found.get_indexes("customer")], [["name"]])


def check_orm(engine):
    with orm.Session(engine) as s:
        for n in range(20):
            s.add(Customer(name=f"n\u00e4me {n}", orders=[Order(amount=decimal.Decimal(n) + k) for k in range(3)]))
        s.commit()
    with orm.Session(engine) as s:
        total = s.scalar(sa.select(sa.func.sum(Order.amount)).join(Customer).where(Customer.name == "n\u00e4me 7"))
        equal(total, decimal.Decimal("24.00"))
        page = s.scalars(sa.select(Customer).order_by(Customer.id).offset(5).limit(10)).all()
        equal([c.name for c in page], [f"n\u00e4me {n}" for n in range(5, 15)])
        page[0].name = "renamed"
        s.delete(page[1])
        s.commit()
        equal(s.scalar(sa.select(sa.func.count()).select_from(Order)), 57)


def check_rollback(engine):
    with orm.Session(engine) as s:
        s.add(Customer(name="gone"))
        s.flush()
        s.rollback()
        equal(s.scalar(sa.select(sa.func.count()).where(Customer.name == "gone")), 0)


def check_isolation(engine):
    with engine.connect().execution_options(isolation_level="SERIALIZABLE") as c:
        equal(c.get_isolation_level(), "SERIALIZABLE")


def check_reflection_and_drop(engine):
    again = sa.MetaData()
    again.reflect(engine)
    equal(sorted(again.tables), ["customer", "order"])
    again.drop_all(engine)
    equal(sa.inspect(engine).get_table_names(), [])


def main():
    failed = 0
    make_database()
    engine = sa.create_engine(URL)
    for check in (check_schema, check_orm, check_rollback, check_isolation, check_reflection_and_drop):
        title = check.__name__.removeprefix("check_").replace("_", " ")
        try:
            check(engine)
            print(f"ok sqlalchemy: {title}", flush=True)
        except Exception as e:
            failed += 1
            print(f"FAILED sqlalchemy: {title}: {str(e)[:500]}", flush=True)
    return 1 if failed else 0


sys.exit(main())
