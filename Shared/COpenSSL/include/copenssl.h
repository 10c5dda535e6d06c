#pragma once
// What OpenSSL 3 calls deprecated is hidden.
#define OPENSSL_API_COMPAT 30000
#define OPENSSL_NO_DEPRECATED
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

// Keys, NULL when a call of the library failed: what Swift does not import, or cannot call safely.

// New private keys.
EVP_PKEY *copenssl_make_p256(void);
EVP_PKEY *copenssl_make_rsa(unsigned bits);
// Public keys from an encoded point, and from two numbers.
EVP_PKEY *copenssl_p256_public_key(const void *point, size_t length);
EVP_PKEY *copenssl_rsa_public_key(const BIGNUM *modulus, const BIGNUM *exponent);
