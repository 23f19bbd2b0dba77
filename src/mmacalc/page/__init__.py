"""The data of the interactive page, from the catalog, and the page itself, which is made from page/src."""
