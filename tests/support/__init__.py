"""What several tests share: small corpora and runs, stand-ins, and processes that play a part."""
