//! Data files, 8 KB pages, allocation maps, the buffer pool, checkpoint writes
