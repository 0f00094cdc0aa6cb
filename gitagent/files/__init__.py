"""The formats that people read and edit: text to values and back, without I/O."""
