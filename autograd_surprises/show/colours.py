"""The colours of values, gradients and slopes in every picture."""

# Okabe and Ito's blue and vermilion: told apart with every kind of colour vision.
BLUE, VERMILION, INK = "#0072B2", "#D55E00", "#222222"
VALUE_COLOUR, GRADIENT_COLOUR, SLOPE_COLOUR = BLUE, VERMILION, INK
