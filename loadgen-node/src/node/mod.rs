//! The LoadGen node.
