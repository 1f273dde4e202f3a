//! Status codes as people say them.

/// `404 Not Found`; the number alone where RFC 9110 names no phrase.
pub fn status_name(status: u16) -> String {
    let phrase = match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => return status.to_string(),
    };
    format!("{status} {phrase}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_with_and_without_a_phrase() {
        assert_eq!(status_name(404), "404 Not Found");
        assert_eq!(status_name(599), "599");
    }
}
