"""An explanation made visible: terminal, HTML page, figure. Each is loaded only when asked for."""
