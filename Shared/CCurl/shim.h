#include <curl/curl.h>

// Swift does not import functions with variable arguments.
static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_writer(CURL *handle, size_t (*writer)(char *, size_t, size_t, void *), void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, writer);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_WRITEDATA, context) : code;
}
static inline CURLcode ccurl_set_header_writer(CURL *handle, size_t (*writer)(char *, size_t, size_t, void *), void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, writer);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_HEADERDATA, context) : code;
}
static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}
static inline CURLcode ccurl_set_size(CURL *handle, CURLoption option, long long value) {
    return curl_easy_setopt(handle, option, (curl_off_t)value);
}
static inline CURLcode ccurl_set_reader(CURL *handle, size_t (*reader)(char *, size_t, size_t, void *), void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, reader);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_READDATA, context) : code;
}
// For a body that has to be sent again from its beginning: a connection that was kept turned out to be closed.
static inline CURLcode ccurl_set_seeker(CURL *handle, int (*seeker)(void *, curl_off_t, int), void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seeker);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_SEEKDATA, context) : code;
}
// What is sent and received besides bodies.
static inline CURLcode ccurl_set_observer(CURL *handle, int (*observer)(CURL *, curl_infotype, char *, size_t, void *), void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, observer);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_DEBUGDATA, context);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_VERBOSE, 1L) : code;
}
