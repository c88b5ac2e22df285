//! A transactional database that speaks T-SQL: command line and embedded library
