"""The bare codec between protobuf messages and graphs; files and safety are the front end's."""
