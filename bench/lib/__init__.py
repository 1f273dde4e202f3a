"""What the benchmarks share: children, servers, tools, order, statistics, tables. One idea a file."""
