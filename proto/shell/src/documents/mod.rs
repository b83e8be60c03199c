//! JSON documents that one program writes and the other reads: one struct each, with which it is written and read.
