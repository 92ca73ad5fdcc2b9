import { defineConfig } from 'vitest/config'

/** Tests that are red on purpose, or never end. Only the tests beside this folder run them. */
export default defineConfig({
  test: {
    include: ['*.planted.ts'],
    root: import.meta.dirname,
    globalSetup: process.env['PLANTED_SETUP'] ? ['../../global-setup.ts'] : [],
    testTimeout: 600_000,
  },
})
