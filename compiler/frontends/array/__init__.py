"""The array front end."""
from isomorph.frontends.array.trace import trace_array
