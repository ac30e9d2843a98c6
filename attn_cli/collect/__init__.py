"""What is kept of the stream: each collector takes blocks and holds only its result."""
