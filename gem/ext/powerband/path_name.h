/* A path without what identifies a record or a user: contract/endpoint-names.md has the rule. */
#ifndef POWERBAND_PATH_NAME_H
#define POWERBAND_PATH_NAME_H

#include <stddef.h>
#include "name.h"

void pb_path_name(struct pb_name *name, const char *path, size_t length);

#endif
