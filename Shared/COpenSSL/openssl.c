#include "copenssl.h"
#include <openssl/param_build.h>

// The library would free what it uses in exit(), while other threads still use it, and one exit in ten of a busy process would be a crash. Who calls
// it first decides that, and libcurl and libpq call it too: so it is called before main.
__attribute__((constructor)) static void start(void) { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }

EVP_PKEY *copenssl_make_p256(void) { return EVP_EC_gen("P-256"); }
EVP_PKEY *copenssl_make_rsa(unsigned bits) { return EVP_RSA_gen(bits); }

// A list of parts keeps the addresses of names and bytes, so it is made here: those of a Swift string end with the call.
static EVP_PKEY *public_key(const char *algorithm, OSSL_PARAM *parts) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, algorithm, NULL);
    if (context && parts && EVP_PKEY_fromdata_init(context) == 1) {
        if (EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parts) != 1) key = NULL;
    }
    EVP_PKEY_CTX_free(context);
    return key;
}

EVP_PKEY *copenssl_p256_public_key(const void *point, size_t length) {
    OSSL_PARAM parts[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)SN_X9_62_prime256v1, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, length),
        OSSL_PARAM_construct_end(),
    };
    return public_key("EC", parts);
}

EVP_PKEY *copenssl_rsa_public_key(const BIGNUM *modulus, const BIGNUM *exponent) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder && modulus && exponent && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1) {
        OSSL_PARAM *parts = OSSL_PARAM_BLD_to_param(builder);
        key = public_key("RSA", parts);
        OSSL_PARAM_free(parts);
    }
    OSSL_PARAM_BLD_free(builder);
    return key;
}
