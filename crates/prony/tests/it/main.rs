//! The built binary, as people and scripts meet it.

mod edges;
