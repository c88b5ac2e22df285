//! TPC-H as far as the lab and the tests need it: the eight tables with primary keys only, rows
//! from a generator, the 22 queries in T-SQL with the validation's parameters, and the published
//! answers for scale factor 1. Source: TPC Benchmark H, standard specification, revision 3. Results
//! here are no TPC results: neither the load, the refreshes nor the streams of the specification
//! are run.

mod answers;
mod queries;
mod rows;

pub use answers::{WrongAnswer, check, same_rows};
pub use queries::{QUERIES, for_postgres, query};
pub use rows::rows;

/// A table: its name and its CREATE TABLE statement, which T-SQL and PostgreSQL both take.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub name: &'static str,
    pub create: &'static str,
}

/// The tables, each after those that it refers to.
pub const TABLES: [Table; 8] = [
    Table {
        name: "region",
        create: "CREATE TABLE region (r_regionkey int NOT NULL PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152))",
    },
    Table {
        name: "nation",
        create: "CREATE TABLE nation (n_nationkey int NOT NULL PRIMARY KEY, n_name char(25) NOT NULL, n_regionkey int NOT NULL, \
                 n_comment varchar(152))",
    },
    Table {
        name: "supplier",
        create: "CREATE TABLE supplier (s_suppkey int NOT NULL PRIMARY KEY, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL, \
                 s_nationkey int NOT NULL, s_phone char(15) NOT NULL, s_acctbal decimal(15,2) NOT NULL, s_comment varchar(101) NOT NULL)",
    },
    Table {
        name: "customer",
        create: "CREATE TABLE customer (c_custkey int NOT NULL PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, \
                 c_nationkey int NOT NULL, c_phone char(15) NOT NULL, c_acctbal decimal(15,2) NOT NULL, c_mktsegment char(10) NOT NULL, \
                 c_comment varchar(117) NOT NULL)",
    },
    Table {
        name: "part",
        create: "CREATE TABLE part (p_partkey int NOT NULL PRIMARY KEY, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, \
                 p_brand char(10) NOT NULL, p_type varchar(25) NOT NULL, p_size int NOT NULL, p_container char(10) NOT NULL, \
                 p_retailprice decimal(15,2) NOT NULL, p_comment varchar(23) NOT NULL)",
    },
    Table {
        name: "partsupp",
        create: "CREATE TABLE partsupp (ps_partkey int NOT NULL, ps_suppkey int NOT NULL, ps_availqty int NOT NULL, \
                 ps_supplycost decimal(15,2) NOT NULL, ps_comment varchar(199) NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey))",
    },
    Table {
        name: "orders",
        create: "CREATE TABLE orders (o_orderkey int NOT NULL PRIMARY KEY, o_custkey int NOT NULL, o_orderstatus char(1) NOT NULL, \
                 o_totalprice decimal(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, \
                 o_clerk char(15) NOT NULL, o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL)",
    },
    Table {
        name: "lineitem",
        create: "CREATE TABLE lineitem (l_orderkey int NOT NULL, l_partkey int NOT NULL, l_suppkey int NOT NULL, l_linenumber int NOT NULL, \
                 l_quantity decimal(15,2) NOT NULL, l_extendedprice decimal(15,2) NOT NULL, l_discount decimal(15,2) NOT NULL, \
                 l_tax decimal(15,2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, \
                 l_commitdate date NOT NULL, l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, \
                 l_comment varchar(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber))",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_rows_of_its_width() {
        for table in TABLES {
            let width = table.create.matches(" NOT NULL").count()
                + table.create.matches("varchar(152)").count();
            let rows: Vec<_> = rows(table.name, 0.001).take(20).collect();
            assert!(rows.len() >= 5, "{}", table.name);
            assert!(rows.iter().all(|row| row.len() == width), "{}: {width}", table.name);
        }
        assert_eq!(rows("lineitem", 0.01).count(), 60_175);
        let first = rows("orders", 0.01).next().expect("an order");
        let day = types::display::format_value(&first[4], types::DataType::Date);
        assert_eq!((day.as_str(), &first[0]), ("1996-01-02", &types::Value::Int(1)));
        assert_eq!(rows("none", 1.0).count(), 0);
    }
}
