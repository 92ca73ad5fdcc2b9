import fc from 'fast-check'

/** Each run of the tests tries the same values, so that none fails by luck. Another seed tries others. */
fc.configureGlobal({ seed: Number(process.env['WAXWING_TEST_PROPERTY_SEED'] ?? 1) })

export default fc
