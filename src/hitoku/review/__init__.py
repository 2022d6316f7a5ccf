"""The review application: where output checkers work, in a browser, inside an enclave without internet."""
