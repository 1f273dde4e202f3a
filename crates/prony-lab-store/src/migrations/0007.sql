-- How a monitor's https server is reached, where that is not the usual way.
ALTER TABLE monitors ADD COLUMN tls_cacert TEXT;
ALTER TABLE monitors ADD COLUMN tls_insecure {int} NOT NULL DEFAULT 0;
ALTER TABLE monitors ADD COLUMN tls_sni TEXT;
