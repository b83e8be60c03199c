//! The scenario engine of MLPerf LoadGen (pure), and behind feature `node` the LoadGen node.
pub mod world;
#[cfg(feature = "node")]
pub mod node;
