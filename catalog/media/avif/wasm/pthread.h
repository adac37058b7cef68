/* WebAssembly has one thread: locks do nothing, and a thread cannot be created. */
#pragma once
#include <stddef.h>
typedef int pthread_t, pthread_attr_t, pthread_mutex_t, pthread_cond_t, pthread_once_t;
#define PTHREAD_ONCE_INIT 0
#define PTHREAD_MUTEX_INITIALIZER 0
static inline int pthread_attr_init(pthread_attr_t *a) { return 0; }
static inline int pthread_attr_destroy(pthread_attr_t *a) { return 0; }
static inline int pthread_attr_setstacksize(pthread_attr_t *a, size_t n) { return 0; }
static inline int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x) { return 1; }
static inline int pthread_join(pthread_t t, void **x) { return 1; }
static inline int pthread_mutex_init(pthread_mutex_t *m, const void *a) { return 0; }
static inline int pthread_mutex_destroy(pthread_mutex_t *m) { return 0; }
static inline int pthread_mutex_lock(pthread_mutex_t *m) { return 0; }
static inline int pthread_mutex_unlock(pthread_mutex_t *m) { return 0; }
static inline int pthread_cond_init(pthread_cond_t *c, const void *a) { return 0; }
static inline int pthread_cond_destroy(pthread_cond_t *c) { return 0; }
static inline int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) { return 0; }
static inline int pthread_cond_signal(pthread_cond_t *c) { return 0; }
static inline int pthread_cond_broadcast(pthread_cond_t *c) { return 0; }
static inline int pthread_once(pthread_once_t *o, void (*f)(void)) { if (!*o) { *o = 1; f(); } return 0; }
