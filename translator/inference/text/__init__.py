"""From text to segments and back: sentences, their joints, what is copied or left, loops."""
