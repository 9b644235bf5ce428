"""The labelling page and the judge API. Needs the extra `server`."""
