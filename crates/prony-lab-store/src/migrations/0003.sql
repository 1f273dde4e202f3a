-- Where a session was begun, so that people know their own again. Older ones don't say.
ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN agent TEXT NOT NULL DEFAULT '';

-- As what a webhook tells: this lab's own JSON, or a message for a chat.
ALTER TABLE hooks ADD COLUMN format TEXT NOT NULL DEFAULT 'prony';
