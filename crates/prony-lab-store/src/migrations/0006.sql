-- The builds of a user that are not over, by their end and not by their state: an index of what is open fits a question for
-- what is queued, too, and PostgreSQL took it for that, small as it is, and sorted the whole queue.
DROP INDEX builds_open_by;
CREATE INDEX builds_open_by ON builds (requested_by) WHERE ended_at IS NULL;
