//! Tests of what is meant.
