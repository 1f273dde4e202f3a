-- Checksums over what is not changed any more, for `prony lab check`: rows of builds that are over, files, and pieces of
-- outputs. Older ones have none.
ALTER TABLE builds ADD COLUMN checksum {int};
ALTER TABLE files ADD COLUMN checksum {int};
ALTER TABLE outputs ADD COLUMN checksum {int};
