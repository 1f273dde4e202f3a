-- Checksums over what is not changed any more, for `prony lab check`: rows of builds that are over, files, and pieces of
-- outputs. Older ones have none.
ALTER TABLE builds ADD COLUMN checksum {int};
ALTER TABLE files ADD COLUMN checksum {int};
ALTER TABLE outputs ADD COLUMN checksum {int};
-- The status of a commit, on its way to the forge of its project; `subject` is the commit and which of its statuses.
ALTER TABLE deliveries ADD COLUMN project_id {int};
ALTER TABLE deliveries ADD COLUMN subject TEXT;
CREATE INDEX deliveries_project ON deliveries (project_id, id) WHERE project_id IS NOT NULL;
