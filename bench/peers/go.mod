// The peers written in Go, pinned; bench/lib/peers.py builds them into bench/.cache.
module peers

go 1.24.0

require (
	github.com/codesenberg/bombardier v1.2.6
	github.com/rakyll/hey v0.1.5
	github.com/tsenart/vegeta/v12 v12.13.0
)
