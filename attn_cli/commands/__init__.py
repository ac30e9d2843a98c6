"""One file per question: each takes a model and a request and returns a Report. None of them touches a stream."""
