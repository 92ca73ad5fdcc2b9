import { defineConfig } from 'vitest/config'

const globalSetup = process.env['PLANTED_SETUP'] ? ['../../global-setup.ts'] : []

/** Tests that are red on purpose, or never end. Only the tests beside this folder run them. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    testTimeout: 600_000,
    projects: [
      { test: { name: 'first', include: ['*.planted.ts'], globalSetup } },
      { test: { name: 'second', include: ['red-once.planted.ts'], env: { WAXWING_TEST_PG: '16' } } },
    ],
  },
})
