/* Marks what the shared libraries of Octet export. */
#ifndef OCTET_EXPORT_H
#define OCTET_EXPORT_H

#if defined(OCTET_BUILDING)
#define OCTET_API __attribute__((visibility("default")))
#else
#define OCTET_API
#endif

#endif
