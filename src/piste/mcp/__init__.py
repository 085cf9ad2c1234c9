"""Explanations as tools of the Model Context Protocol. `piste.mcp.server` needs the extra mcp."""
