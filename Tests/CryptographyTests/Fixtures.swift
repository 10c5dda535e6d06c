/// What swift-crypto 4.5 wrote, for who has keys and signatures of that time.
enum Fixtures {
    /// `pemRepresentation` of a key made for this file.
    static let pkcs8 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjEI+rGO5hkWjZ707
        zIJedK28udrW4ksiz8RzOJt2GXyhRANCAAS/IKRkSxO6CK0QDBD9C8eTVacPuIWR
        EOKmAj6I6YXfklTkIw6PJHNcuZbsZSrcJjDofUedp/Te1svdpMSqq2eM
        -----END PRIVATE KEY-----
        """
    /// The same key, as `openssl ec` writes it.
    static let sec1 = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIIxCPqxjuYZFo2e9O8yCXnStvLna1uJLIs/Eczibdhl8oAoGCCqGSM49
        AwEHoUQDQgAEvyCkZEsTugitEAwQ/QvHk1WnD7iFkRDipgI+iOmF35JU5CMOjyRz
        XLmW7GUq3CYw6H1Hnaf03tbL3aTEqqtnjA==
        -----END EC PRIVATE KEY-----
        """
    /// Its public point.
    static let point =
        "bf20a4644b13ba08ad100c10fd0bc79355a70fb8859110e2a6023e88e985df9254e4230e8f24735cb996ec652adc2630e87d479da7f4ded6cbdda4c4"
        + "aaab678c"
    /// What it signed "hello" with.
    static let signature =
        "21c474f35466c3b4a493f8faa2cb700165ee42a7c5229d4dd1aab7ba48a535436dd58eeaae75605923eb08cea07377739bb1618efbcfc9d182746fa4"
        + "1aa94db9"
    static let rsaModulus =
        "cc27724b87ab27b776c96978d67971eff481ba4f86ae060cce85bc220579c3a8e2ebbe1932a156ac1f5f9391921ac6210e4fbcb116ef748075c78cdc"
        + "943a58719d75879832cd668ee1e37692c228ef21cacd158ddd1f58ad517e825640283268f62b369528589e6034a36cf47de54a1571edd1c9c4dc7e2a"
        + "665873f1d8f7b5a48c5739d0bd3ff93a6ed3eee90e8caebac2dcd408914ae545fa706b2ff9f1c0a79c0777a7fce8a4b265bd3752b629ce6cb8bf1a76"
        + "85553bd6163bf9197b55be254c2748a8ff4bba07e5323c71e6405eaaaec27b5d2e476b8c8788a14dac0125125cc2f742cca948901b5e66d6fbee0383"
        + "53554eadb4a887662a22715f0e0b8313"
    /// What a key with this modulus, and the exponent 65,537, signed "hello" with.
    static let rsaSignature =
        "3aae742d807ac76d7e10263212a81a4e0dc12fd23d1cac20b113eb0e1fc24cd35afc34fadb5f770335fc08e1d8814c42bb3756cfc0152e733b8751e1"
        + "ba77bef56342a76b48783873547ca788562744dcb016a683a78d45ac754c8972e48c3ceab8e1b51c7ce167ee6acd07e5bc0a675fd7d819c3f016c879"
        + "19f3833caf001f5a7d10cccf4c61ffd21f3bb99800b337f331b70c93172ad36da53da56d421035fa10f9b4776898c3f0feaf88b19b1e317f9ecdbd55"
        + "2f16c657a8b3e815333d42c1adaab9ea24176026c5e91400c8b20bd5a9490af3315bf74341b846e453138196626b996c1a5e793328cc4fb2a278e203"
        + "fcf6ce25898475a8ae67d4847d9ee741"
}
