#pragma once
inline const char *rmw_get_implementation_identifier() { return "nothing"; }
