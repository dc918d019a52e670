/* Stands in for libollama-ggml-sycl.so, which needs a graphics card of Intel's: there is none. */
#include <stddef.h>
#include <string.h>

void *ggml_backend_sycl_reg(void) { return NULL; }
void *ggml_backend_sycl_init(int device) { return NULL; }
int ggml_backend_is_sycl(void *backend) { return 0; }
void *ggml_backend_sycl_buffer_type(int device) { return NULL; }
void *ggml_backend_sycl_split_buffer_type(const float *split) { return NULL; }
void *ggml_backend_sycl_host_buffer_type(void) { return NULL; }
int ggml_backend_sycl_get_device_count(void) { return 0; }
void ggml_backend_sycl_get_gpu_list(int *ids, int length) {}
void ggml_backend_sycl_print_sycl_devices(void) {}

void ggml_backend_sycl_get_device_description(int device, char *text, size_t size) {
    if (size) memset(text, 0, 1);
}

void ggml_backend_sycl_get_device_name(int device, char *text, size_t size) {
    if (size) memset(text, 0, 1);
}

void ggml_backend_sycl_get_device_memory(int device, size_t *unused, size_t *total) {
    *unused = *total = 0;
}
