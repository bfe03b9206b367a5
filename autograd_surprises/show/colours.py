"""The colours of all pictures and badges, chosen for white paper."""

# Okabe and Ito's blue and vermilion: told apart with every kind of colour vision.
BLUE, VERMILION, INK = "#0072B2", "#D55E00", "#222222"
VALUE_COLOUR, GRADIENT_COLOUR, SLOPE_COLOUR = BLUE, VERMILION, INK
CURVATURE_COLOUR = "#006D4F"  # a green dark enough to be told apart from the two others
LINE_GREY, GRID_GREY = "#888888", "#dddddd"
# Badges: white words are readable on these, and a border of them stands out on light and dark paper
GREEN, RED, PURPLE, OCHRE, GREY = "#007f5b", "#cc3d1f", "#ad4a86", "#936500", "#6e6e6e"
