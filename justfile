# Common work, by name. `just` alone lists it; each recipe is one command that can be typed by hand as well.

# List the recipes
default:
    @just --list

# Install what the tests need and run all of them (what CI runs)
test:
    ./test

# The tests alone, by name if one is given
unit *name:
    cargo test --workspace {{ name }}

# See Prony work
demo:
    cargo run --release -- demo

# Start a reference server: just serve rudy --port 3000
serve *args:
    cargo run --release -- serve {{ args }}

# Format, then fix what clippy can fix
fix:
    cargo fmt --all
    cargo clippy --fix --allow-dirty --workspace --all-targets

# Format and lints
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Kill the lab ROUNDS times on each database, and look at what is left
faults rounds="200":
    PRONY_LAB_FAULT_ROUNDS={{ rounds }} cargo test -p prony-lab-store -- faults

# The code's documentation, private items as well
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items

# Look at changed snapshots (needs cargo-insta)
review:
    cargo insta test --workspace --review

# Write the schemas in docs/schema anew
schema:
    PRONY_WRITE_SCHEMA=1 cargo test -p prony-model schema

# Fuzz a parser, http_response or request, for SECONDS (needs cargo-fuzz; see fuzz/README.md)
fuzz seconds="60" target="http_response":
    mkdir -p fuzz/corpus/{{ target }}
    RUSTC_BOOTSTRAP=1 cargo fuzz run {{ target }} fuzz/corpus/{{ target }} fuzz/seeds/{{ target }} -- -max_total_time={{ seconds }} -max_len=1024 -dict=fuzz/seeds/http.dict

# Fuzz the reader and the renderers of stored results for SECONDS
fuzz-results seconds="60":
    mkdir -p fuzz/corpus/stored_result
    RUSTC_BOOTSTRAP=1 cargo fuzz run stored_result fuzz/corpus/stored_result fuzz/seeds/stored_result -- -max_total_time={{ seconds }} -max_len=16384

# Licences, sources and known vulnerabilities (needs cargo-deny and the network)
deny:
    cargo deny check
