#ifndef POWERBAND_FOLDER_H
#define POWERBAND_FOLDER_H

#include <stddef.h>

/* Opens <root>/<uid>, making what is missing, and makes sure that it is a folder which this user alone may
 * enter. Returns a descriptor, or -1 with the cause in `reason`. */
int pb_folder_open(const char *root, char *reason, size_t reason_size);

#endif
