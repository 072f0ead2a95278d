"""One spelling for text: what differs only in form becomes the same characters."""
