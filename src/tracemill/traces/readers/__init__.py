"""One module for each raw format; `sniff` tells which one reads a line."""
